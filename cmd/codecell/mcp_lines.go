package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lines is the input of a session over standard input and output, without what is no message. The SDK ends a session at
// the first such line, and with it end the programs that wait. Here the client is told, as JSON-RPC has it, and the
// session goes on.
type lines struct {
	in   *bufio.Reader
	out  io.Writer
	max  int    // longest line taken, in bytes
	rest []byte // of the line that is being read
}

func newLines(in io.Reader, out io.Writer) *lines {
	return &lines{in: bufio.NewReader(in), out: out, max: mcp.DefaultMaxLineLength - 1}
}

// Read gives the messages.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.line()
		if err != nil {
			return 0, err
		}
		l.rest = line
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// line reads one line. It gives nothing of one that is no message.
func (l *lines) line() ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := l.in.ReadSlice('\n')
		if long = long || len(line)+len(part) > l.max; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && len(line) == 0 && !long {
			return nil, err
		}
		break // without its end, the last line may still be a message
	}
	text := bytes.TrimSpace(line)
	switch {
	case long:
		return nil, l.refuse(jsonrpc.CodeInvalidRequest, fmt.Sprintf("the line is longer than %d bytes", l.max))
	case len(text) == 0:
		return nil, nil
	case !json.Valid(text):
		return nil, l.refuse(jsonrpc.CodeParseError, "the line isn't JSON: send one message a line")
	case !isMessage(text):
		return nil, l.refuse(jsonrpc.CodeInvalidRequest, "the line is no JSON-RPC 2.0 message")
	}
	return append(text, '\n'), nil
}

// isMessage tells whether the SDK can read the JSON text: a message, or a batch of them.
func isMessage(text []byte) bool {
	var batch []json.RawMessage // must be empty: decoding would write into what is in it
	if text[0] != '[' {
		batch = append(batch, text)
	} else if json.Unmarshal(text, &batch) != nil || len(batch) == 0 {
		return false
	}
	for _, one := range batch {
		if _, err := jsonrpc.DecodeMessage(one); err != nil {
			return false
		}
	}
	return true
}

func (l *lines) refuse(code int, why string) error {
	text, err := json.Marshal(why)
	if err == nil {
		_, err = fmt.Fprintf(l.out, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%s}}`+"\n", code, text)
	}
	return err
}

// Close does nothing: standard input is the process's.
func (l *lines) Close() error { return nil }

// locked is a writer for two: the session and who answers what isn't for it. Each writes whole lines.
type locked struct {
	mu sync.Mutex
	w  io.Writer
}

// Write writes.
func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// Close does nothing: standard output is the process's.
func (l *locked) Close() error { return nil }
