package tool

import (
	"context"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/codecell/codecell/schemas"
)

// entry is one thing in a folder.
type entry struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Bytes int64  `json:"bytes,omitempty"`
}

type lsArgs struct {
	Path   string `json:"path"`
	Offset int    `json:"offset"`
	Limit  int    `json:"limit"`
}

func (w *workspace) lsTool() Func {
	return pageTool("ls",
		"List a folder of the workspace, sorted by name. content has one name a line, folders with a final slash; entries has the same with type and size.",
		pathProperty+","+hitsProperty, "",
		`,"entries":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"type":{"enum":["file","folder","link","other"]},"bytes":{"type":"integer"}},"required":["name","type"]}}`,
		w.ls)
}

func (w *workspace) ls(ctx context.Context, in lsArgs) (*page, error) {
	entries, err := w.list(in.Path)
	if err != nil {
		return nil, err
	}
	pager := pager{offset: in.Offset, limit: hitLimit(in.Limit)}
	p := &page{Entries: []entry{}}
	var lines []string
	for _, d := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e := entry{Name: d.Name(), Type: typeName(d)}
		text := oneLine(e.Name)
		if d.IsDir() {
			text += "/"
		}
		if !pager.take(len(text)) {
			if pager.more {
				break
			}
			continue
		}
		if d.Type().IsRegular() {
			if info, err := w.root.Lstat(path.Join(".", in.Path, d.Name())); err == nil {
				e.Bytes = info.Size()
			}
		}
		e.Name = strings.ToValidUTF8(e.Name, "\uFFFD")
		p.Entries, lines = append(p.Entries, e), append(lines, text)
	}
	p.Content, p.Continuation = strings.Join(lines, "\n"), pager.next(len(lines))
	return p, nil
}

type findArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Offset  int    `json:"offset"`
	Limit   int    `json:"limit"`
}

func (w *workspace) findTool() Func {
	return pageTool("find",
		"Find files and folders of the workspace by a glob such as \"*.go\" (any depth) or \"src/**/*.{ts,tsx}\" (relative to path). Links aren't followed and .git isn't entered. content has one path a line, relative to the workspace, folders with a final slash.",
		`"pattern":{"type":"string","minLength":1,"maxLength":1024,"description":"glob: *, **, ?, [a-z], {a,b}"},`+pathProperty+","+hitsProperty,
		`"pattern"`,
		`,"paths":{"type":"array","items":{"type":"string"}},"skipped":{"type":"integer","description":"folders that could not be read"}`,
		w.find)
}

func (w *workspace) find(ctx context.Context, in findArgs) (*page, error) {
	g, err := parseGlob(in.Pattern)
	if err != nil {
		return nil, refused(schemas.CallInputContract, atInput, "pattern: %v", err)
	}
	base := path.Clean("./" + in.Path)
	pager := pager{offset: in.Offset, limit: hitLimit(in.Limit)}
	p := &page{Paths: []string{}}
	var lines []string
	p.Skipped, err = w.walk(ctx, in.Path, func(rel string, d fs.DirEntry) error {
		if !g.match(below(base, rel)) {
			return nil
		}
		text := oneLine(rel)
		if d.IsDir() {
			text += "/"
		}
		if pager.take(len(text)) {
			p.Paths, lines = append(p.Paths, strings.ToValidUTF8(rel, "\uFFFD")), append(lines, text)
		} else if pager.more {
			return errStop
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	p.Content, p.Continuation = strings.Join(lines, "\n"), pager.next(len(lines))
	return p, nil
}

// below gives a path relative to the folder that a search began in.
func below(base, rel string) string {
	if base == "." {
		return rel
	}
	if rest, ok := strings.CutPrefix(path.Clean(rel), base+"/"); ok {
		return rest
	}
	return path.Base(rel)
}

func typeName(d fs.DirEntry) string {
	switch mode := d.Type(); {
	case mode.IsRegular():
		return "file"
	case mode.IsDir():
		return "folder"
	case mode&fs.ModeSymlink != 0:
		return "link"
	default:
		return "other"
	}
}

// oneLine gives a file name as one line of a listing: a name that would break the listing
// is quoted as a Go string.
func oneLine(name string) string {
	if utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return name
	}
	return strconv.Quote(name)
}
