package wasm

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero/api"
)

// maxRejections bounds the unhandled rejections that are tracked at a time. A program that has more is wrong in any case.
const maxRejections = 1024

// rejections are the promises that are rejected and have no handler, in the order of their rejection. A handler may still
// come, in this leg or in a later one, so they live as long as the guest and are part of its snapshot.
type rejections struct {
	list []rejection
	// lost counts those beyond maxRejections. Whether they were handled later is unknown, so they count as unhandled.
	lost uint32
}

// rejection holds two values of the guest's heap, owned by the table, and the address that identifies the promise.
type rejection struct{ identity, promise, reason uint32 }

// hostRejection is told of each rejection without a handler, and of each such promise that got one after all. The two
// values become ours.
func hostRejection(ctx context.Context, _ api.Module, s []uint64) {
	e := envOf(ctx)
	m := e.machine
	if m.nested {
		panic(errNestedCall)
	}
	m.nested = true
	defer func() { m.nested = false }()
	promise, reason, handled := uint32(s[0]), uint32(s[1]), uint32(s[2]) != 0
	id := m.call32(ctx, xValuePtr, uint64(promise))
	t := &e.reject
	switch {
	case handled:
		for i, r := range t.list {
			if r.identity == id {
				t.list = append(t.list[:i], t.list[i+1:]...)
				m.freeValue(ctx, r.promise)
				m.freeValue(ctx, r.reason)
				break
			}
		}
	case len(t.list) < maxRejections:
		t.list = append(t.list, rejection{id, promise, reason})
		return
	default:
		t.lost++
	}
	m.freeValue(ctx, promise)
	m.freeValue(ctx, reason)
}

func (t *rejections) lostError() *GuestError {
	return &GuestError{Name: "Error", Message: fmt.Sprintf("more than %d promise rejections were unhandled at a time", maxRejections)}
}
