package tool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"unicode/utf8"
)

type readArgs struct {
	Path   string `json:"path"`
	Offset int    `json:"offset"`
	Cursor int64  `json:"cursor"`
	Limit  int    `json:"limit"`
}

func (w *workspace) readTool() Func {
	return pageTool("read",
		"Read a text file of the workspace. A long file comes in pages: while kind is \"truncated\", call again with the continuation's fields. The text is never changed.",
		`"path":{"type":"string","minLength":1,"description":"file, relative to the workspace"},`+
			`"offset":{"type":"integer","minimum":1,"default":1,"description":"first line, counted from 1"},`+
			`"cursor":{"type":"integer","minimum":0,"description":"from a continuation: the byte of the file to go on from"},`+
			`"limit":{"type":"integer","minimum":1,"maximum":20000,"default":2000,"description":"most lines in this page"}`,
		`"path"`, "", w.read)
}

// pageBuffers hold one byte more than a page: it tells whether the file goes on.
var pageBuffers = sync.Pool{New: func() any {
	b := make([]byte, pageBytes+1)
	return &b
}}

// read gives one page of a file. Pages put together as their continuations say are the
// file, byte for byte: a line page leaves out the newline that the joint puts back, and
// the last page keeps a final one.
func (w *workspace) read(ctx context.Context, in readArgs) (*page, error) {
	f, info, err := w.openFile(in.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	line := max(in.Offset, 1)
	limit := in.Limit
	if limit <= 0 {
		limit = defaultLines
	}
	limit = min(limit, maxLines)
	at := in.Cursor
	if at > 0 {
		if at > info.Size() {
			return nil, refusedPath(in.Path, fmt.Sprintf("has %d bytes: the cursor %d is past its end", info.Size(), at))
		}
	} else if at, err = lineStart(ctx, f, line); err != nil {
		return nil, pathError(in.Path, err)
	}
	if at < 0 {
		return nil, refusedPath(in.Path, fmt.Sprintf("has no line %d", line))
	}
	pooled := pageBuffers.Get().(*[]byte)
	defer pageBuffers.Put(pooled)
	buf := *pooled
	n, err := io.ReadFull(io.NewSectionReader(f, at, int64(len(buf))), buf)
	if err != nil && !isEOF(err) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, pathError(in.Path, err)
	}
	return cutPage(in.Path, buf[:n], at, line, limit)
}

// cutPage makes a page of the bytes that begin at byte at of a file, in the given line. A
// full buffer means that the file may go on.
func cutPage(name string, buf []byte, at int64, line, limit int) (*page, error) {
	whole := len(buf) <= pageBytes
	text := buf[:min(len(buf), pageBytes)]
	end, lines := -1, 0 // end: where the last complete line stops, its newline left out
	for i, c := range text {
		if c != '\n' {
			continue
		}
		end = i
		if lines++; lines == limit {
			break
		}
	}
	p := &page{}
	switch {
	case lines == limit && end+1 < len(buf), !whole && lines > 0:
		// Complete lines, and something after them.
		p.Content = string(text[:end])
		p.Continuation = &continuation{Kind: byLine, Offset: line + lines, Limit: limit}
	case whole:
		p.Content = string(text)
	default:
		// One line that is longer than a page: cut between characters.
		cut := len(text)
		for back := 1; back < utf8.UTFMax && !utf8.RuneStart(buf[cut]); back++ {
			cut--
		}
		p.Content = string(text[:cut])
		p.Continuation = &continuation{Kind: byCursor, Offset: line, Cursor: at + int64(cut), Limit: limit}
	}
	if !utf8.ValidString(p.Content) {
		return nil, refusedPath(name, "is no UTF-8 text (from line "+fmt.Sprint(line)+" on): read shows text files only")
	}
	return p, nil
}

// lineStart finds the byte at which a line begins, or -1 when the file has fewer lines.
func lineStart(ctx context.Context, f *os.File, line int) (int64, error) {
	if line == 1 {
		return 0, nil
	}
	r := bufio.NewReaderSize(f, 64<<10)
	var at int64
	for left := line - 1; ; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		chunk, err := r.ReadSlice('\n')
		at += int64(len(chunk))
		switch {
		case err == nil:
			if left--; left == 0 {
				return at, nil
			}
		case isEOF(err):
			return -1, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return 0, err
		}
	}
}
