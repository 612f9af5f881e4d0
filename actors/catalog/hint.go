package catalog

import "github.com/codecell/codecell/schemas"

// hintLimit bounds a hint, in bytes. A longer one loses, in this order: deep objects, long
// enumerations, optional properties; then everything.
const hintLimit = 320

// hintShapes are the ways to shorten a hint, from none to the shortest. The last one, with
// a share of the limit as its budget, fits unless the type isn't an object.
var hintShapes = [...]struct{ depth, enum, optional, share int }{
	{4, 12, -1, 3}, {3, 6, -1, 3}, {2, 4, -1, 3}, {1, 2, -1, 3}, {1, 2, 6, 3}, {1, 2, 3, 3}, {1, 0, 0, 3}, {1, 0, 0, 1},
}

// hints gives a trusted tool's TypeScript hints. An output that the owner left open has none.
func hints(t *schemas.Tool) (input, output string) {
	input = anyRecord
	if len(t.Parameters) > 0 {
		if hint := hint(parse(t.Parameters), true, hintLimit); hint != unknown {
			input = hint
		}
	}
	if len(t.Output) > 0 {
		if output = hint(parse(t.Output), false, hintLimit); openEnded[output] {
			output = ""
		}
	}
	return input, output
}

// openEnded are the types that say nothing about a result.
var openEnded = map[string]bool{
	unknown: true, "never": true, "unknown[]": true, anyRecord: true, "Record<string, unknown>[]": true,
	"Array<Record<string, unknown>>": true,
}

// hint gives the longest form of a schema's hint that fits into limit bytes, or "unknown".
func hint(schema *node, input bool, limit int) string {
	for _, shape := range hintShapes {
		p := &printer{
			input: input, depth: shape.depth, enum: shape.enum, optional: shape.optional,
			nodes: 4 * limit, bytes: shape.share * limit / 2,
		}
		if text := p.print(schema); len(text) <= limit {
			return text
		}
	}
	return unknown
}
