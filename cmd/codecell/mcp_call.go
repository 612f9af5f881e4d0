package main

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const (
	// progressEvery is how often a client that asked for it hears that a call goes on.
	progressEvery = 5 * time.Second
	// cancelReason is what the feed says of what a client has cancelled.
	cancelReason = "cancelled by the client"
)

// exec runs a program, of Code Mode or of Tool Search. If the client cancels the call, the cell is cancelled.
func (s *mcpSession) exec(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return s.call(ctx, req, func(input schemas.JSON) (*mcp.CallToolResult, error) {
		s.service.awaitTools(ctx, execPatience)
		run, err := s.opened(ctx)
		if err != nil {
			return modelResult(failure(err)), ctx.Err()
		}
		callID := newCallID("mcp")
		result, err := run.Exec(ctx, schemas.Exec{CallID: callID, Input: input})
		switch {
		case ctx.Err() != nil:
			s.abort(ctx, func(late context.Context) error { return run.Abort(late, callID, cancelReason) })
			return nil, ctx.Err()
		case err != nil:
			return modelResult(failure(err)), nil
		case result.Code == schemas.RuntimeUnavailable:
			s.lost(run) // the next call finds another host
		}
		return modelResult(result), nil
	})
}

// wait continues a program. If the client cancels the call, the cell is cancelled.
func (s *mcpSession) wait(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return s.call(ctx, req, func(input schemas.JSON) (*mcp.CallToolResult, error) {
		in, refused := schemas.ParseWaitInput(input)
		if refused != nil {
			return modelResult(failure(refused)), nil
		}
		client, identity := s.service.client, s.identity()
		result, err := s.waitFor(ctx, schemas.Wait{CallID: newCallID("mcp"), Identity: identity, RunID: in.RunID})
		switch {
		case ctx.Err() != nil:
			s.abort(ctx, func(late context.Context) error {
				return client.Cancel(late, in.RunID, schemas.Cancel{Identity: identity, Reason: cancelReason})
			})
			return nil, ctx.Err()
		case err != nil:
			return modelResult(failure(err)), nil
		case result.Code == schemas.RuntimeUnavailable:
			s.lostWith(in.RunID)
		}
		return modelResult(result), nil
	})
}

// waitFor asks the host that the runId names, whatever has become of the session's run. If it names none, the session's run
// answers.
func (s *mcpSession) waitFor(ctx context.Context, wait schemas.Wait) (*schemas.Result, error) {
	if _, err := bus.HostOf(wait.RunID); err == nil {
		return s.service.client.Wait(ctx, wait)
	}
	run, err := s.opened(ctx)
	if err != nil {
		return nil, err
	}
	result, err := run.WaitAs(ctx, wait.CallID, wait.RunID)
	if err == nil && result.Code == schemas.RuntimeUnavailable {
		s.lost(run)
	}
	return result, err
}

// call does what all tools have in common. The error of do is for a call whose answer nobody wants.
func (s *mcpSession) call(
	ctx context.Context, req *mcp.CallToolRequest, do func(schemas.JSON) (*mcp.CallToolResult, error),
) (*mcp.CallToolResult, error) {
	if s.service.refuses() {
		return modelResult(failure(errDraining)), nil
	}
	s.service.begin()
	defer s.service.end()
	defer s.progress(ctx, req)()
	input := schemas.JSON(req.Params.Arguments)
	if len(input) == 0 || string(input) == "null" {
		input = schemas.JSON("{}") // so that the answer names the first missing field
	}
	return do(input)
}

// abort ends what a cancelled call has come to.
func (s *mcpSession) abort(ctx context.Context, do func(context.Context) error) {
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := do(late); err != nil {
		s.service.log.Warn("what a cancelled call has started could not be ended", "error", err)
	}
}

// progress tells a client that asked for it, from time to time, that the call goes on: many give up on
// calls that are silent. The returned function ends it.
func (s *mcpSession) progress(ctx context.Context, req *mcp.CallToolRequest) (stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		start := time.Now()
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				elapsed := time.Since(start).Seconds()
				_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ // a lost one is of no matter
					ProgressToken: token, Progress: elapsed, Message: fmt.Sprintf("running for %.0f s", elapsed),
				})
			}
		}
	}()
	return func() {
		cancel()
		<-gone
	}
}
