package tool

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxRequestBytes bounds a request body that the tap reads back.
const maxRequestBytes = 64 << 20

// tappedHTTP is the HTTP transport of a server: it adds the configured headers, shows every
// message to the tap, and bounds what one answer may hold in memory. The SDK's streamable
// connection can't be wrapped instead: it is told the protocol version by an unexported
// method that a wrapper hides.
type tappedHTTP struct {
	next    http.RoundTripper
	headers map[string]string
	tap     *tap
}

// RoundTrip sends one request.
func (t *tappedHTTP) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, value := range t.headers {
		req.Header.Set(name, value)
	}
	isCall := false
	if req.Method == http.MethodPost && req.Body != nil {
		body, err := io.ReadAll(io.LimitReader(req.Body, maxRequestBytes+1))
		_ = req.Body.Close()
		if err != nil {
			return nil, err
		}
		if len(body) > maxRequestBytes {
			return nil, fmt.Errorf("the request is over the limit of %d bytes", maxRequestBytes)
		}
		if msg, err := jsonrpc.DecodeMessage(body); err == nil {
			call, ok := msg.(*jsonrpc.Request)
			isCall = ok && call.IsCall()
			if sent := t.tap.outgoing(req.Context(), msg); sent != msg {
				if body, err = jsonrpc.EncodeMessage(sent); err != nil {
					return nil, err
				}
			}
		}
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	passTurn(req.Context()) // and not when the headers have come: that may be at the end of the call
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusNotFound && req.Header.Get(sessionHeader) != "" {
		forgotten(resp)
		if isCall {
			t.tap.unsent(req.Context())
		}
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	resp.Body = &tappedBody{ReadCloser: resp.Body, tap: t.tap, events: kind == "text/event-stream"}
	return resp, nil
}

// sessionHeader names the session that a request belongs to.
const sessionHeader = "Mcp-Session-Id"

// forgotten makes an answer of one that says that the server doesn't know the session any more, after it was started anew
// for example. What such an answer says must not count as one to its request, or the session is kept, and refuses every call
// for ever. A call that gets it hasn't reached anybody, and has to wait for another session. One whose stream can't be
// resumed for it was taken before, and is lost: it must not be made again (U2).
func forgotten(resp *http.Response) {
	_ = resp.Body.Close()
	resp.Body, resp.ContentLength = http.NoBody, 0
}

// tappedBody shows messages to the tap before the reader has seen their last byte.
type tappedBody struct {
	io.ReadCloser
	tap    *tap
	events bool
	// held is the unfinished line of an event stream, or the body so far of plain JSON.
	held []byte
	data []byte // the event's data lines so far
}

// Read reads on, and fails once one message is over maxReplyBytes.
func (b *tappedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.held = append(b.held, p[:n]...)
	if b.events {
		b.lines()
	}
	if len(b.held)+len(b.data) > maxReplyBytes {
		return 0, fmt.Errorf("the reply is over the limit of %d bytes: ask for less", maxReplyBytes)
	}
	if err != nil && !b.events {
		b.show(b.held)
		b.held = nil
	}
	return n, err
}

// lines takes the complete lines off held.
func (b *tappedBody) lines() {
	rest := b.held
	for {
		line, after, ok := bytes.Cut(rest, []byte("\n"))
		if !ok {
			break
		}
		rest = after
		text := strings.TrimSuffix(string(line), "\r")
		switch data, isData := strings.CutPrefix(text, "data:"); {
		case text == "":
			b.show(b.data)
			b.data = b.data[:0]
		case isData:
			if len(b.data) > 0 {
				b.data = append(b.data, '\n')
			}
			b.data = append(b.data, strings.TrimPrefix(data, " ")...)
		}
	}
	b.held = append(b.held[:0], rest...)
}

// show hands a message to the tap, which keeps parts of it.
func (b *tappedBody) show(data []byte) {
	if len(data) == 0 {
		return
	}
	if msg, err := jsonrpc.DecodeMessage(bytes.Clone(data)); err == nil {
		b.tap.incoming(msg)
	}
}
