package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/codecell/codecell/schemas"
)

// errNotSent is a request that was not sent because the connection was gone.
var errNotSent = errors.New("not sent")

// tooSlowError is the cause of a context that ended because a server took longer than this.
type tooSlowError time.Duration

func (t tooSlowError) Error() string { return fmt.Sprintf("no answer within %v", time.Duration(t)) }

// within bounds what a server may take for one call, all of its requests together.
func within(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, timeout, tooSlowError(timeout))
}

// ask sends one request through the SDK, and gives the result as it came off the wire into r. It
// returns soon after ctx (see [within]) or the session ends, whatever the server and the SDK do. what names
// the request in errors.
func (s *mcpSession) ask(ctx context.Context, what string, r *reply, send func(context.Context) error) (json.RawMessage, error) {
	defer s.tap.forget(r)
	sending, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	done := make(chan error, 1)
	go func() { done <- send(s.tap.expect(sending, r)) }()
	var err error
	select {
	case err = <-done:
	case <-sending.Done():
		err = sending.Err()
	}
	if raw := s.tap.taken(r); raw != nil && (err == nil || sending.Err() == nil) {
		return raw, nil
	}
	var slow tooSlowError
	late := errors.As(context.Cause(ctx), &slow)
	var wire *jsonrpc.Error
	switch {
	case err == nil:
		return nil, lost("%s: the MCP server's answer could not be read", what)
	case ctx.Err() != nil && !late:
		return nil, ctx.Err()
	case s.tap.refusal(r) && errors.As(err, &wire) && wire.Code == codeOversize:
		return nil, &schemas.CallError{Code: schemas.CallToolError, Location: atTransport, Effect: schemas.Done, Message: what + ": " + wire.Message}
	case s.tap.refusal(r) && errors.As(err, &wire):
		return nil, fmt.Errorf("the MCP server refused: %s", wire.Message)
	case !s.tap.sent(r):
		return nil, errNotSent
	case late:
		return nil, lost("%s didn't answer within %v; whether it acted is unknown", what, time.Duration(slow))
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, s.unreachable()
	default:
		// The reason may hold a URL with a secret in it, so it isn't for the guest.
		s.log.Warn("mcp call lost", "server", s.server, "call", what, "err", schemas.VeilURLs(err.Error()))
		return nil, lost("the connection to the MCP server broke while %s ran; whether it acted is unknown", what)
	}
}
