package catalog

import "github.com/codecell/codecell/schemas"

// findNodes looks for the native tool behind the global nodes (N2): codecell's own, and no other tool of that name.
// Programs of the contract of 2026-07 have no such global.
func (c *Catalog) findNodes() *Entry {
	if c.older() {
		return nil
	}
	return c.coreTool(schemas.NodesTool, schemas.NodesTool)
}

// nodesRef is the ref of that tool, or nil.
func (c *Catalog) nodesRef() *int {
	if c.nodes == nil {
		return nil
	}
	return &c.nodes.Ref
}

// describeNodes says in one line of a model's text how programs reach nodes.
const describeNodes = "`await nodes.list()` gives the paired machines: id, name, platform, connected and the names of their commands; " +
	"`const n = await nodes.get(idOrName)`, then `await n.invoke(command, { … })`, or `await n.listDir(path)` where it is offered"
