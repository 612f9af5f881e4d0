package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// tap reads the results of one session as they came off the wire. The SDK decodes numbers
// into float64, drops what it doesn't know, and takes an empty cursor for none; here a
// result keeps its digits, its blocks and its cursor (M2, M3).
//
// A caller puts a reply into the context of an SDK call; the transport shows the tap every
// message on its way, and before the SDK returns the reply holds the raw result.
//
// It hears of progress too: the SDK handles notifications beside the answers that follow them, and here none comes after
// the answer to its call (P2).
type tap struct {
	// progress, unless it is nil, is called with each notification of progress, in the order of the wire. It never blocks.
	progress func(params json.RawMessage)

	mu      sync.Mutex
	waiting map[string]*reply
}

// reply is one raw result to come.
type reply struct {
	// cursor, when set, replaces the params' cursor: the SDK can't send an empty one.
	cursor *string
	// stub, when set, is what the SDK is given to decode instead of the result.
	stub json.RawMessage

	id     string
	result json.RawMessage
	// refused: the server answered with an error. The SDK has errors of its own that look alike.
	refused bool
}

type replyKey struct{}

// methodProgress is the notification of a server that says how far a call is.
const methodProgress = "notifications/progress"

// expect gives a context under which the next SDK call fills r.
func (t *tap) expect(ctx context.Context, r *reply) context.Context {
	return context.WithValue(ctx, replyKey{}, r)
}

// forget ends the wait for r. What comes later is ignored.
func (t *tap) forget(r *reply) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting[r.id] == r {
		delete(t.waiting, r.id)
	}
}

// taken gives the raw result, or nil when none came.
func (t *tap) taken(r *reply) json.RawMessage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return r.result
}

// refusal tells whether the server itself answered with an error.
func (t *tap) refusal(r *reply) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return r.refused
}

// unsent takes back what outgoing noted: not one byte of the message has left.
func (t *tap) unsent(ctx context.Context) {
	if r, ok := ctx.Value(replyKey{}).(*reply); ok {
		t.forget(r)
		t.mu.Lock()
		r.id = ""
		t.mu.Unlock()
	}
}

// sent tells whether the request of r may have reached the server.
func (t *tap) sent(r *reply) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return r.id != ""
}

// outgoing sees a message before it is sent, and gives the one to send.
func (t *tap) outgoing(ctx context.Context, msg jsonrpc.Message) jsonrpc.Message {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		return msg
	}
	r, ok := ctx.Value(replyKey{}).(*reply)
	if !ok {
		return msg
	}
	id := fmt.Sprint(req.ID.Raw())
	t.mu.Lock()
	if t.waiting == nil {
		t.waiting = map[string]*reply{}
	}
	delete(t.waiting, r.id)
	r.id, r.result, r.refused = id, nil, false
	t.waiting[id] = r
	t.mu.Unlock()
	if r.cursor == nil {
		return msg
	}
	params := map[string]json.RawMessage{}
	if len(req.Params) > 0 && json.Unmarshal(req.Params, &params) != nil {
		return msg
	}
	params = maps.Clone(params)
	params["cursor"], _ = json.Marshal(*r.cursor)
	changed := *req
	changed.Params, _ = json.Marshal(params)
	return &changed
}

// incoming sees a message before the SDK does, and gives the one for the SDK: what the tap
// has taken needn't be decoded twice.
func (t *tap) incoming(msg jsonrpc.Message) jsonrpc.Message {
	if req, ok := msg.(*jsonrpc.Request); ok && req.Method == methodProgress && t.progress != nil {
		t.progress(req.Params)
	}
	resp, ok := msg.(*jsonrpc.Response)
	if !ok {
		return msg
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.waiting[fmt.Sprint(resp.ID.Raw())]
	switch {
	case r == nil, r.result != nil, r.refused: // a second answer to one request is none
		return msg
	case resp.Error != nil:
		r.refused = true
		return msg
	}
	r.result = resp.Result
	if r.stub == nil {
		return msg
	}
	return &jsonrpc.Response{ID: resp.ID, Result: r.stub}
}
