package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/codecell/codecell/schemas"
)

const (
	// decideTimeout bounds a decision whose context has no end.
	decideTimeout = 15 * time.Second
	// maxListed is how many approvals one listing holds: the newest.
	maxListed = 1000
)

// Approvals lists the approvals that can be decided now, oldest first: those whose call is still held by a living
// executor. With all, those of the last day that have ended are there too. At most the newest 1,000 are listed.
func (c *Client) Approvals(ctx context.Context, all bool) ([]schemas.Approval, error) {
	kv, err := c.c.js.KeyValue(ctx, approvalsBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list approvals: %w", bucketError(approvalsBucket, err))
	}
	watcher, err := kv.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, fmt.Errorf("list approvals: %w", err)
	}
	defer watcher.Stop() //nolint:errcheck // fails only if stopped already
	var list []schemas.Approval
	for more := true; more; {
		select {
		case e := <-watcher.Updates():
			if more = e != nil; !more { // that was all
				break
			}
			var a schemas.Approval
			if err := schemas.Decode(e.Value(), &a); err != nil || clean(a.ID) != e.Key() {
				c.c.stats.malformed.Add(1)
			} else if all || a.State == schemas.ApprovalPending {
				list = append(list, a)
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("list approvals: %w", ctx.Err())
		}
	}
	slices.SortFunc(list, func(a, b schemas.Approval) int {
		return cmp.Or(cmp.Compare(a.Opened, b.Opened), cmp.Compare(a.ID, b.ID))
	})
	list = list[max(0, len(list)-maxListed):]
	c.bury(ctx, list)
	if !all {
		list = slices.DeleteFunc(list, func(a schemas.Approval) bool { return a.State != schemas.ApprovalPending })
	}
	return list, nil
}

// Approval gives one approval as it is now. An unknown id is invalid_input.
func (c *Client) Approval(ctx context.Context, id string) (*schemas.Approval, error) {
	if _, err := ExecutorOf(id); err != nil {
		return nil, err
	}
	a, _, err := NewApprovalBook(c.c).Find(ctx, id)
	if errors.Is(err, ErrNoRecord) {
		return nil, schemas.Refuse("approval", "there is no approval "+id+": `codecell approvals ls --all` shows those of the last day")
	}
	if err != nil {
		return nil, fmt.Errorf("look approval %s up: %w", id, err)
	}
	one := []schemas.Approval{*a}
	c.bury(ctx, one)
	return &one[0], nil
}

// Decide decides a pending approval. It returns nil once the decision is on record. One that has ended, or can't be
// decided like this, is invalid_input, and says how it ended.
func (c *Client) Decide(ctx context.Context, d schemas.Decision) error {
	executor, err := ExecutorOf(d.Approval)
	if err != nil {
		return err
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, decideTimeout)
		defer cancel()
	}
	ack, err := Ask[schemas.Ack](ctx, c.c, DecideSubject(executor, d.Approval), &d)
	switch {
	case errors.Is(err, ErrNoResponders):
		return c.tooLate(ctx, d.Approval)
	case err != nil:
		return err
	case ack.Err != nil:
		return ack.Err
	}
	return nil
}

// tooLate says why nobody takes a decision.
func (c *Client) tooLate(ctx context.Context, id string) error {
	a, err := c.Approval(ctx, id)
	if err != nil {
		return err
	}
	if settled := a.Settled(); settled != nil {
		return settled
	}
	return schemas.Refuse("approval", "nobody waits for approval "+id+" at this moment: list the approvals again")
}

// bury corrects what the record says of approvals that nobody can decide any more: those past their deadline, and
// those whose executor has died, or doesn't hold the call.
func (c *Client) bury(ctx context.Context, list []schemas.Approval) {
	now := time.Now().UnixNano()
	pending := map[string][]*schemas.Approval{}
	for i := range list {
		a := &list[i]
		switch {
		case a.State != schemas.ApprovalPending:
		case a.Deadline < now:
			a.State, a.DecidedAt = schemas.ApprovalExpired, a.Deadline
		default:
			pending[a.Executor] = append(pending[a.Executor], a)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var asking sync.WaitGroup
	for executor, held := range pending {
		asking.Go(func() {
			ping := schemas.Ping{}
			for _, a := range held {
				ping.Calls = append(ping.Calls, a.Address.Cell+"."+a.Call)
			}
			pong, err := Ask[schemas.Pong](ctx, c.c, ExecutorSubject(executor), &ping)
			for i, a := range held {
				if errors.Is(err, ErrNoResponders) || err == nil && slices.Contains(pong.Gone, ping.Calls[i]) {
					a.State, a.DecidedAt = schemas.ApprovalCancelled, now
				}
			}
		})
	}
	asking.Wait()
}
