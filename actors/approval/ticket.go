package approval

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

type decideRequest = bus.Request[schemas.Decision, schemas.Ack]

// ticket is one call that waits. All but the channels belongs to the goroutine that waits.
type ticket struct {
	g      *Gate
	call   *schemas.Call
	opened time.Time
	due    *time.Timer
	// now is the approval as it is on record, at a revision of it.
	now      schemas.Approval
	revision uint64
	// tried are ends whose writing failed in a way that leaves open whether they are on record.
	tried []schemas.Approval
	// deserted: it has ended since its host is gone.
	deserted bool

	decisions chan *decideRequest // room for one
	recheck   chan struct{}       // room for one
}

// look has the ticket look at the grants again. It doesn't block.
func (t *ticket) look() {
	select {
	case t.recheck <- struct{}{}:
	default:
	}
}

// wait returns when the approval has ended, with its verdict.
func (t *ticket) wait(ctx context.Context) error {
	defer t.leave()
	for t.now.State == schemas.ApprovalPending {
		select {
		case req := <-t.decisions:
			_ = req.Respond(&schemas.Ack{Err: t.decide(ctx, &req.Body)})
		case <-t.recheck:
			t.reconsider(ctx)
		case <-t.due.C:
			t.expire(ctx)
		case <-ctx.Done():
			t.end(schemas.ApprovalCancelled)
		case <-t.g.closing:
			t.end(schemas.ApprovalCancelled)
		}
	}
	return t.verdict(ctx)
}

// verdict is the state in words for a program; nil is an approval.
func (t *ticket) verdict(ctx context.Context) error {
	switch t.now.State {
	case schemas.ApprovalApproved:
		return nil
	case schemas.ApprovalDenied:
		if t.now.Note == "" {
			return fmt.Errorf("denied by %s", t.now.By)
		}
		return fmt.Errorf("denied by %s: %s", t.now.By, t.now.Note)
	case schemas.ApprovalExpired:
		return fmt.Errorf("the approval timed out: nobody decided within %v, and it was not run", t.g.Timeout)
	case schemas.ApprovalPending, schemas.ApprovalCancelled:
	}
	if ctx.Err() != nil {
		return errors.New("it was cancelled while it waited for an approval, and was not run")
	}
	if t.deserted {
		return errors.New("its host is gone, so it was not run")
	}
	return errClosing
}

// decide takes a decision, or says what is wrong with it; then the approval is pending as before.
func (t *ticket) decide(ctx context.Context, d *schemas.Decision) *schemas.Error {
	ctx = context.WithoutCancel(ctx) // what is decided is put on record, even if nobody wants the call any more
	if time.Since(t.opened) >= t.g.Timeout {
		t.expire(ctx)
		return t.now.Settled()
	}
	grant, bad := t.g.check(d, t.call)
	if bad != nil {
		return bad
	}
	if d.Approve && !t.wanted(ctx) {
		return t.now.Settled()
	}
	next := t.now
	next.State, next.By, next.Note, next.DecidedAt = schemas.ApprovalDenied, d.By, d.Note, time.Now().UnixNano()
	if d.Approve {
		next.State, next.Grant = schemas.ApprovalApproved, grant
	}
	if err := t.record(ctx, next); err != nil {
		return &schemas.Error{Code: schemas.RuntimeUnavailable, Field: "approval", Message: "the decision could not be put on record, so " +
			"nothing is decided yet: " + err.Error() + "; decide again"}
	}
	if t.now.DecidedAt != next.DecidedAt { // an earlier one has reached the record after all
		return t.now.Settled()
	}
	var lost *schemas.Error
	if next.Grant != nil {
		if err := t.g.give(ctx, t.call, *grant); err != nil {
			lost = &schemas.Error{Code: schemas.RuntimeUnavailable, Field: "grant", Message: "the call is approved, and further calls are not: " +
				"the grant could not be put on record: " + err.Error()}
			t.now.Grant = nil
			t.late(t.now)
		}
	}
	t.tell()
	if lost == nil && next.Grant != nil {
		t.g.reconsider()
	}
	return lost
}

// wanted tells whether anybody still waits for the call, and ends the approval if nobody does: what is approved then
// would act for nobody.
func (t *ticket) wanted(ctx context.Context) bool {
	if t.g.Wanted == nil || t.g.Wanted(ctx, t.call) {
		return true
	}
	t.deserted = true
	t.end(schemas.ApprovalCancelled)
	return false
}

// reconsider approves the call if a grant covers it by now.
func (t *ticket) reconsider(ctx context.Context) {
	if !t.wanted(ctx) {
		return
	}
	used, err := t.g.useGrant(ctx, t.call)
	if err != nil || used == nil {
		return // it goes on waiting
	}
	next := t.now
	next.State, next.By, next.DecidedAt = schemas.ApprovalApproved, used.By, time.Now().UnixNano()
	next.Note = "by the grant of approval " + used.Approval
	// The grant is used, so that this goes on record, even if nobody wants the call any more.
	if err := t.record(context.WithoutCancel(ctx), next); err != nil {
		t.g.Logger.Warn("a grant was used, and the approval can't be put on record", "approval", t.now.ID, "error", err)
		return
	}
	t.tell()
}

// record writes an end and makes it the ticket's state, or that of an earlier attempt which has turned out to be on
// record. After an error the approval is pending.
func (t *ticket) record(ctx context.Context, next schemas.Approval) error {
	next.Input = shown(next.Input, keptBytes)
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	revision, err := t.g.book.Replace(ctx, &next, t.revision)
	if err == nil {
		t.now, t.revision = next, revision
		return nil
	}
	t.tried = append(t.tried, next)
	found, revision, readErr := t.g.book.Find(ctx, next.ID)
	switch {
	case errors.Is(readErr, bus.ErrNoRecord): // a server without files has started anew
		if revision, err := t.g.book.Open(ctx, &next); err == nil {
			t.now, t.revision = next, revision
			return nil
		}
	case readErr == nil && found.State != schemas.ApprovalPending:
		for i := range t.tried {
			if t.tried[i].DecidedAt == found.DecidedAt && t.tried[i].State == found.State {
				t.now, t.revision = t.tried[i], revision
				return nil
			}
		}
		return errors.New("the record was changed by somebody else")
	case readErr == nil:
		t.revision = revision
	}
	return err
}

// expire ends an approval at its deadline, unless a decision turns out to be on record that seemed to have failed.
func (t *ticket) expire(ctx context.Context) {
	if len(t.tried) > 0 {
		next := t.now
		next.State, next.DecidedAt = schemas.ApprovalExpired, time.Now().UnixNano()
		if t.record(ctx, next) == nil {
			t.tell()
			return
		}
	}
	t.end(schemas.ApprovalExpired)
}

// end ends an approval that nobody has decided. The call isn't held up by the record.
func (t *ticket) end(state schemas.ApprovalState) {
	t.now.State, t.now.DecidedAt = state, time.Now().UnixNano()
	t.now.Input = shown(t.now.Input, keptBytes)
	t.late(t.now)
	t.tell()
}

// late writes the state when it gets to it.
func (t *ticket) late(state schemas.Approval) {
	revision := t.revision
	t.g.open.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
		defer cancel()
		if _, err := t.g.book.Replace(ctx, &state, revision); err != nil {
			t.g.Logger.Warn("the end of an approval can't be put on record", "approval", state.ID, "state", state.State, "error", err)
		}
	})
}

func (t *ticket) tell() {
	fact := &schemas.ApprovalClosed{
		At: t.now.DecidedAt, Address: t.call.Address, Call: t.call.ID, Approval: t.now.ID, State: t.now.State, By: t.now.By,
	}
	if t.now.Grant != nil {
		fact.Granted, fact.Scope = t.now.Grant.Calls, t.now.Grant.Scope
	}
	t.g.Tell(fact)
}

// leave ends the waiting. A decision that has come meanwhile is answered.
func (t *ticket) leave() {
	t.due.Stop()
	if t.now.State == schemas.ApprovalPending { // it never got on record
		t.now.State, t.now.DecidedAt = schemas.ApprovalCancelled, time.Now().UnixNano()
	}
	t.g.mu.Lock()
	delete(t.g.waiting, t.now.ID)
	t.g.ended.add(t.now)
	t.g.mu.Unlock()
	select {
	case req := <-t.decisions:
		_ = req.Respond(&schemas.Ack{Err: t.now.Settled()})
	default:
	}
	t.g.open.Done()
}
