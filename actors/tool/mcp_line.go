package tool

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxReplyBytes bounds one message of an MCP server. A larger one fails its own call only.
const maxReplyBytes = 16 << 20

// endBytes of an oversize message's head and tail are kept to find its id in.
const endBytes = 1 << 10

// codeOversize is the JSON-RPC code by which we recognise our own answer in place of a
// reply that was too large.
const codeOversize = -31999

// lineReader splits a stream into lines, keeping no more than max bytes of one, which must
// be at least endBytes.
type lineReader struct {
	r   io.Reader
	max int
	buf *bufio.Reader
}

// next gives a line, its newline included, and its true size. Of a line longer than max
// only the first and the last endBytes are given.
func (l *lineReader) next() (line []byte, size int, err error) {
	if l.buf == nil {
		l.buf = bufio.NewReaderSize(l.r, 64<<10)
	}
	var end []byte
	for {
		part, err := l.buf.ReadSlice('\n')
		size += len(part)
		switch {
		case size <= l.max:
			line = append(line, part...)
		case end == nil:
			whole := append(line, part...)
			line, end = bytes.Clone(whole[:endBytes]), lastBytes(whole, endBytes)
		default:
			end = lastBytes(append(end, part...), endBytes)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil, errors.Is(err, io.EOF) && size > 0:
			return append(line, end...), size, nil
		default:
			return nil, 0, err
		}
	}
}

// lastBytes copies the last n bytes of b.
func lastBytes(b []byte, n int) []byte { return bytes.Clone(b[max(0, len(b)-n):]) }

var (
	idAtHead = regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+|"[^"\\]*")\s*,`)
	idAtTail = regexp.MustCompile(`,\s*"id"\s*:\s*(\d+|"[^"\\]*")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
)

// oversize turns the ends of a message that is too large into the failure of its call, or
// gives nil when they don't tell whose it is.
func oversize(ends []byte, size int) jsonrpc.Message {
	m := idAtHead.FindSubmatch(ends[:min(endBytes, len(ends))])
	if m == nil {
		m = idAtTail.FindSubmatch(ends[max(0, len(ends)-endBytes):])
	}
	if m == nil {
		return nil
	}
	msg, err := jsonrpc.DecodeMessage(fmt.Appendf(nil,
		`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"the reply has %d bytes, over the limit of %d: ask for less"}}`,
		m[1], codeOversize, size, maxReplyBytes))
	if err != nil {
		return nil
	}
	return msg
}

// tail keeps the end of what a server wrote to its stderr.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

// tailBytes bounds what is kept.
const tailBytes = 4 << 10

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[max(0, len(p)-tailBytes):]...)
	if extra := len(t.buf) - tailBytes; extra > 0 {
		t.buf = append(t.buf[:0], t.buf[extra:]...)
	}
	return len(p), nil
}

// String gives the kept text on one line, at most 1,000 bytes of it.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := strings.TrimSpace(strings.ToValidUTF8(string(t.buf), "\uFFFD"))
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 1000 {
		s = "… " + strings.ToValidUTF8(s[len(s)-1000:], "")
	}
	return s
}
