package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/codecell/codecell/schemas"
)

const (
	// nodeCallIDLen characters of the id of a node's call are random, 130 bits.
	nodeCallIDLen = 26
	// MaxNodeTimeout bounds a call of a node.
	MaxNodeTimeout = 10 * time.Minute
)

// Reasons why a call ends before its answer comes.
var (
	errUnpaired = errors.New("it isn't paired any more")
	errNodeGone = errors.New("it is gone")
)

// Invoke calls a command of a paired node, and waits for the outcome for timeout at most, [MaxNodeTimeout] if that is
// shorter. Every error is a [*schemas.CallError]: a node that isn't paired or connected is told at once, and so is one
// that dies or is revoked meanwhile; then nobody knows what the command did. When ctx ends first, the node is told.
func (b *NodeBook) Invoke(ctx context.Context, id, command string, params schemas.JSON, timeout time.Duration) (schemas.JSON, error) {
	timeout = max(min(timeout, MaxNodeTimeout), time.Millisecond)
	asking, stop, err := b.whilePaired(ctx, id)
	if err != nil {
		return nil, err
	}
	defer stop(nil)
	timed, cancel := context.WithTimeout(asking, timeout)
	defer cancel()
	probing := time.AfterFunc(probeEvery, func() { b.probe(timed, id, stop) })
	defer probing.Stop()
	call := schemas.NodeCall{ID: randomID(nodeCallIDLen), Command: command, Params: params, TimeoutMs: max(timeout.Milliseconds(), 1)}
	sealed, err := Ask[schemas.Sealed](timed, b.c, NodeSubject(id), &call)
	if err != nil {
		if timed.Err() != nil {
			_ = b.c.Publish(NodeSubject(id), "", &schemas.NodeCall{ID: call.ID, Withdrawn: true}) // if it isn't heard, the command ends by its own limit
		}
		return nil, unanswered(timed, command, timeout, err)
	}
	var outcome schemas.NodeOutcome
	if err := unseal(id, sealOfOutcome, sealed, &outcome); err != nil || outcome.Node != id || outcome.Call != call.ID {
		b.c.stats.malformed.Add(1)
		return nil, nodeFailure(schemas.Unknown, "%s: what came as the node's answer isn't the node's; the command may have run", command)
	}
	if outcome.Err != nil {
		return nil, outcome.Err
	}
	return outcome.Value, nil
}

// unanswered says why there is no answer.
func unanswered(ctx context.Context, command string, timeout time.Duration, err error) error {
	const may = "it may have run, and is not sent again"
	switch cause := context.Cause(ctx); {
	case errors.Is(err, ErrNoResponders):
		return nodeFailure(schemas.NotStarted, "%s was not run: the node isn't connected", command)
	case errors.Is(cause, errUnpaired), errors.Is(cause, errNodeGone):
		return nodeFailure(schemas.Unknown, "%s: the node was lost while the command was under way, since %w; %s", command, cause, may)
	case errors.Is(cause, context.DeadlineExceeded):
		return nodeFailure(schemas.Unknown, "%s: the node has not answered within %v; %s", command, timeout, may)
	case cause != nil:
		return nodeFailure(schemas.Unknown, "%s was cancelled while the node ran it; %s", command, may)
	case errors.Is(err, ErrTooLarge):
		return nodeFailure(schemas.NotStarted, "%s was not run: %s", command, Reason(err))
	}
	return nodeFailure(schemas.Unknown, "%s: %s; %s", command, Reason(err), may)
}

func nodeFailure(effect schemas.Outcome, format string, args ...any) *schemas.CallError {
	return &schemas.CallError{
		Code: schemas.CallToolError, Location: "transport", Effect: effect, Message: fmt.Errorf(format, args...).Error(),
	}
}

// whilePaired gives a context that ends when the node isn't paired any more.
func (b *NodeBook) whilePaired(ctx context.Context, id string) (context.Context, context.CancelCauseFunc, error) {
	asking, stop := context.WithCancelCause(ctx)
	var watcher jetstream.KeyWatcher
	err := b.paired.with(ctx, func(kv jetstream.KeyValue) (err error) {
		watcher, err = kv.Watch(asking, clean(id))
		return err
	})
	if err != nil {
		stop(nil)
		return nil, nil, nodeFailure(schemas.NotStarted, "whether the node is paired can't be looked up: %w", err)
	}
	var first jetstream.KeyValueEntry
	select {
	case first = <-watcher.Updates(): // nil: there is no record
	case <-ctx.Done():
		stop(nil)
		return nil, nil, nodeFailure(schemas.NotStarted, "the call was cancelled before it was sent")
	}
	if !b.holds(first) {
		stop(nil)
		return nil, nil, nodeFailure(schemas.NotStarted, "no node with the id %.80q is paired", id)
	}
	go func() {
		for {
			select {
			case <-asking.Done():
				return
			case e, ok := <-watcher.Updates():
				if !ok {
					return
				}
				if e != nil && !b.holds(e) {
					stop(errUnpaired)
					return
				}
			}
		}
	}()
	return asking, stop, nil
}

// holds tells whether an entry is a pairing that holds.
func (b *NodeBook) holds(e jetstream.KeyValueEntry) bool {
	if e == nil || e.Operation() != jetstream.KeyValuePut {
		return false
	}
	info := b.record(e)
	return info != nil && info.State == NodePaired
}

// probe stops a call when its node has gone.
func (b *NodeBook) probe(ctx context.Context, id string, stop context.CancelCauseFunc) {
	for ctx.Err() == nil {
		probe, cancel := context.WithTimeout(ctx, probeTimeout)
		_, err := Ask[schemas.Pong](probe, b.c, ProbeSubject(id), &schemas.Ping{})
		cancel()
		if errors.Is(err, ErrNoResponders) {
			stop(errNodeGone)
			return
		}
		select {
		case <-ctx.Done():
		case <-b.c.Lost():
			stop(ErrDisconnected)
		case <-time.After(probeEvery):
		}
	}
}
