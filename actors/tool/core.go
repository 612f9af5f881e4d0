package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/codecell/codecell/schemas"
)

// CoreOwner is the owner of the core tools.
const CoreOwner = "core"

// Bounds of one page of the core tools (G8).
const (
	// pageBytes bounds a page's text.
	pageBytes = 50 << 10
	// defaultLines and maxLines bound the lines of one read.
	defaultLines = 2000
	maxLines     = 20_000
	// defaultHits and maxHits bound the entries of one ls, find or grep.
	defaultHits = 1000
	maxHits     = 5000
)

// page is the result of a core tool that reads (G8): a bounded text, and where the next page
// begins when there is one.
type page struct {
	Kind         string        `json:"kind"`
	Content      string        `json:"content"`
	Continuation *continuation `json:"continuation,omitempty"`
	// Entries, Paths and Matches are ls's, find's and grep's content as objects.
	Entries []entry  `json:"entries,omitempty"`
	Paths   []string `json:"paths,omitempty"`
	Matches []match  `json:"matches,omitempty"`
	// Skipped counts files and folders that could not be looked into.
	Skipped int `json:"skipped,omitempty"`
}

// continuation is given back as the arguments of the next call. With a cursor the next
// page's content is appended to this one; without one the two are joined by a newline.
type continuation struct {
	Kind   string `json:"kind"`
	Offset int    `json:"offset"`
	Cursor int64  `json:"cursor,omitempty"`
	Limit  int    `json:"limit,omitempty"`
}

const (
	kindText      = "text"
	kindTruncated = "truncated"
	byLine        = "line"
	byCursor      = "cursor"
)

// CoreOptions say which core tools there are, and what they work on.
type CoreOptions struct {
	// Root is the folder that they work on.
	Root string
	// Tools are names of [CoreNames]; none means those that only read.
	Tools []string
	// Env are names of variables that commands get of this process's environment, besides those in [commandEnv].
	Env []string
}

// Core offers tools on one folder. read, ls, find and grep change nothing, write and edit change files; none of them
// follows a link out of the folder, or blocks on a pipe or device. exec runs commands, which may do whatever this
// process may, and process looks after those that go on in the background. [Provider.Close] ends them and lets the
// folder go.
func Core(o CoreOptions) (Provider, error) {
	w, err := openWorkspace(o.Root)
	if err != nil {
		return nil, err
	}
	shells := newShells(w, o.Env)
	all := []Func{
		w.readTool(), w.lsTool(), w.findTool(), w.grepTool(), w.writeTool(), w.editTool(), shells.execTool(), shells.processTool(),
	}
	names := o.Tools
	if len(names) == 0 {
		names = readers
	}
	set := &FuncSet{owner: CoreOwner, tier: schemas.TierCore, changed: newSignal()}
	for _, name := range names {
		if !slices.Contains(CoreNames, name) {
			err = fmt.Errorf("tool: there is no core tool %q: use %s", name, strings.Join(CoreNames, ", "))
		}
		if name == execName && !shellSupported {
			err = errors.New("tool: exec needs a POSIX shell, which this system doesn't have: switch it off")
		}
	}
	if err == nil {
		err = set.Set(slices.DeleteFunc(all, func(f Func) bool { return !slices.Contains(names, f.tool.Name) })...)
	}
	if err != nil {
		_ = w.close()
		return nil, err
	}
	return &core{FuncSet: set, workspace: w, shells: shells}, nil
}

// core is the provider of the core tools.
type core struct {
	*FuncSet
	workspace *workspace
	shells    *shells
}

// Close ends the commands and lets the folder go. Calls in flight fail.
func (c *core) Close(ctx context.Context) error {
	c.shells.close(ctx)
	return c.workspace.close()
}

// coreTool makes one core tool of a function on its decoded arguments. Unlike [Raw] it needn't look whether the result is JSON.
func coreTool[In, Out any](name, description, parameters, output string, run func(ctx context.Context, in In) (Out, error)) Func {
	t := schemas.Tool{Name: name, Description: description, Parameters: schemas.JSON(parameters), Output: schemas.JSON(output)}
	return Func{tool: t, call: func(ctx context.Context, args schemas.JSON) (schemas.JSON, error) {
		var in In
		if err := json.Unmarshal(args, &in); err != nil {
			return nil, refused(schemas.CallInputContract, atInput, "%s: the arguments don't fit: %v", name, err)
		}
		if err := takeTurn(ctx); err != nil {
			return nil, err
		}
		out, err := run(ctx, in)
		if err != nil {
			return nil, err
		}
		return encode(out)
	}}
}

// pageTool makes a core tool that reads.
func pageTool[In any](name, description, properties, required, extra string, run func(ctx context.Context, in In) (*page, error)) Func {
	f := coreTool(name, description,
		fmt.Sprintf(`{"type":"object","properties":{%s,%s},"required":[%s],"additionalProperties":false}`, properties, kindProperty, required),
		fmt.Sprintf(pageSchema, extra),
		func(ctx context.Context, in In) (*page, error) {
			p, err := run(ctx, in)
			if err != nil {
				return nil, err
			}
			p.Kind = kindText
			if p.Continuation != nil {
				p.Kind = kindTruncated
			}
			return p, nil
		})
	f.tool.ReplaySafe = true
	return f
}

const pageSchema = `{"type":"object","properties":{` +
	`"kind":{"enum":["text","truncated"],"description":"truncated: there is more, see continuation"},` +
	`"content":{"type":"string"},` +
	`"continuation":{"type":"object","description":"arguments of the next page; its content is appended when there is a cursor, else joined with a newline","properties":{` +
	`"kind":{"enum":["line","cursor"]},"offset":{"type":"integer"},"cursor":{"type":"integer"},"limit":{"type":"integer"}},"required":["kind","offset"]}%s},` +
	`"required":["kind","content"]}`

const (
	// kindProperty lets programs pass a continuation as it is, which is what they try first: {path, ...continuation}.
	kindProperty = `"kind":{"enum":["line","cursor"],"description":"from a continuation; not looked at"}`
	pathProperty = `"path":{"type":"string","description":"relative to the workspace; default: the workspace itself"}`
	hitsProperty = `"offset":{"type":"integer","minimum":0,"default":0,"description":"how many entries to skip"},` +
		`"limit":{"type":"integer","minimum":1,"maximum":5000,"default":1000,"description":"most entries in this page"}`
)

// isEOF tells whether a read ended because there was nothing left.
func isEOF(err error) bool { return errors.Is(err, io.EOF) }

// pager collects the entries of one page: those from offset on, up to limit entries and
// pageBytes of text.
type pager struct {
	offset, limit int
	seen, bytes   int
	more          bool
}

// take tells whether the next entry, with a text of n bytes, belongs to the page. After it
// has said false with more set, the page is full.
func (p *pager) take(n int) bool {
	p.seen++
	if p.seen <= p.offset {
		return false
	}
	kept := p.seen - p.offset
	if kept > p.limit || (kept > 1 && p.bytes+n+1 > pageBytes) {
		p.more = true
		return false
	}
	p.bytes += n + 1
	return true
}

// next gives the continuation of a full page that kept n entries.
func (p *pager) next(n int) *continuation {
	if !p.more {
		return nil
	}
	return &continuation{Kind: byLine, Offset: p.offset + n, Limit: p.limit}
}

// hitLimit gives the effective limit of a list.
func hitLimit(limit int) int {
	if limit <= 0 {
		return defaultHits
	}
	return min(limit, maxHits)
}
