package tool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/codecell/codecell/schemas"
)

const (
	// maxLineBytes bounds the lines that grep looks at: a file with a longer one is data.
	maxLineBytes = 1 << 20
	// shownLineBytes bounds a line in grep's answer; read shows the whole.
	shownLineBytes = 2 << 10
	// sniffBytes of a file without a NUL make it text.
	sniffBytes = 8 << 10
)

// match is one line that grep found.
type match struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`
	// Cut: the line is longer than it is shown.
	Cut bool `json:"cut,omitempty"`
}

type grepArgs struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path"`
	Glob       string `json:"glob"`
	IgnoreCase bool   `json:"ignoreCase"`
	Literal    bool   `json:"literal"`
	Offset     int    `json:"offset"`
	Limit      int    `json:"limit"`
}

func (w *workspace) grepTool() Func {
	return pageTool("grep",
		"Find lines of the workspace's text files by a regular expression (Go and RE2 syntax, no look-around). content has \"path:line:text\" lines; matches has the same as objects. Links aren't followed, .git isn't entered, and binary files are left out and counted in skipped.",
		`"pattern":{"type":"string","minLength":1,"maxLength":1024,"description":"regular expression, matched within one line"},`+pathProperty+`,`+
			`"glob":{"type":"string","maxLength":1024,"description":"only files that fit this glob, such as \"*.go\""},`+
			`"ignoreCase":{"type":"boolean","default":false},`+
			`"literal":{"type":"boolean","default":false,"description":"the pattern is plain text"},`+hitsProperty,
		`"pattern"`,
		`,"matches":{"type":"array","items":{"type":"object","properties":{"path":{"type":"string"},"line":{"type":"integer"},"text":{"type":"string"},"cut":{"type":"boolean","description":"the line is longer: read it"}},"required":["path","line","text"]}},`+
			`"skipped":{"type":"integer","description":"binary or unreadable files and folders"}`,
		w.grep)
}

func (w *workspace) grep(ctx context.Context, in grepArgs) (*page, error) {
	re, err := in.compile()
	if err != nil {
		return nil, err
	}
	var g *glob
	if in.Glob != "" {
		if g, err = parseGlob(in.Glob); err != nil {
			return nil, refused(schemas.CallInputContract, atInput, "glob: %v", err)
		}
	}
	base := path.Clean("./" + in.Path)
	pager := pager{offset: in.Offset, limit: hitLimit(in.Limit)}
	p := &page{Matches: []match{}}
	var lines []string
	hit := func(m match) error {
		text := fmt.Sprintf("%s:%d:%s", oneLine(m.Path), m.Line, m.Text)
		if pager.take(len(text)) {
			p.Matches, lines = append(p.Matches, m), append(lines, text)
		} else if pager.more {
			return errStop
		}
		return nil
	}
	skipped := 0
	scan := bufio.NewReaderSize(nil, 64<<10)
	unread, err := w.walk(ctx, in.Path, func(rel string, d fs.DirEntry) error {
		if !d.Type().IsRegular() || g != nil && !g.match(below(base, rel)) {
			return nil
		}
		ok, err := w.grepFile(ctx, scan, rel, re, hit)
		if !ok {
			skipped++
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	p.Skipped = skipped + unread
	p.Content, p.Continuation = strings.Join(lines, "\n"), pager.next(len(lines))
	return p, nil
}

func (in *grepArgs) compile() (*regexp.Regexp, error) {
	pattern := in.Pattern
	if len(pattern) > maxPatternBytes {
		return nil, refused(schemas.CallInputContract, atInput, "pattern: it is longer than %d bytes", maxPatternBytes)
	}
	if in.Literal {
		pattern = regexp.QuoteMeta(pattern)
	}
	if in.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, refused(schemas.CallInputContract, atInput,
			"pattern: %v: use Go (RE2) syntax, or literal: true for plain text", err)
	}
	return re, nil
}

// grepFile gives each matching line of one file to hit. ok is false for a file that is no
// text or can't be read.
func (w *workspace) grepFile(ctx context.Context, r *bufio.Reader, rel string, re *regexp.Regexp, hit func(match) error) (ok bool, err error) {
	f, _, err := w.openFile(rel)
	if err != nil {
		return false, nil
	}
	defer f.Close()
	r.Reset(f)
	head, _ := r.Peek(sniffBytes)
	if bytes.IndexByte(head, 0) >= 0 {
		return false, nil
	}
	name := strings.ToValidUTF8(rel, "\uFFFD")
	var long []byte
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return true, err
		}
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long[:0], line...)
			for errors.Is(err, bufio.ErrBufferFull) {
				if len(long) > maxLineBytes {
					return false, nil
				}
				line, err = r.ReadSlice('\n')
				long = append(long, line...)
			}
			line = long
		}
		if err != nil && !isEOF(err) {
			return false, nil
		}
		last := err != nil
		if last && len(line) == 0 {
			return true, nil
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		if re.Match(line) {
			if !utf8.Valid(line) {
				return false, nil
			}
			m := match{Path: name, Line: n}
			m.Text, m.Cut = cutLine(line)
			if err := hit(m); err != nil {
				return true, err
			}
		}
		if last {
			return true, nil
		}
	}
}

// cutLine bounds a shown line, between characters.
func cutLine(line []byte) (text string, cut bool) {
	if len(line) <= shownLineBytes {
		return string(line), false
	}
	end := shownLineBytes
	for end > 0 && !utf8.RuneStart(line[end]) {
		end--
	}
	return string(line[:end]), true
}
