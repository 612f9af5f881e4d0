package tool

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/codecell/codecell/schemas"
)

// Random orders of calls that wait for a person in between: never more than the limit run, a sequential call alone in its
// run, what has been approved goes before what came later, and nothing is left in the end (P4, S6).
func TestSpec_S6_DeskPausesOnRandomOrders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 3).Draw(t, "limit")
		started := make(chan *held, 1000)
		d := newDesk(limit, 1000, func(h *held) { started <- h })
		defer d.close()
		var paused []*held
		has := func(h *held) (place, queued bool) {
			d.mu.Lock()
			defer d.mu.Unlock()
			return h.running, slices.Contains(d.queue, h)
		}
		// running takes what runs off the desk, and checks it.
		running := func() (all []*held) {
			d.mu.Lock()
			defer d.mu.Unlock()
			alone := map[string]int{}
			for _, h := range d.calls {
				if h.running {
					all = append(all, h)
					alone[h.call.Address.Run]++
				}
			}
			for _, h := range all {
				if h.target.tool.Sequential && alone[h.call.Address.Run] > 1 {
					t.Fatalf("%s is not alone", h.key)
				}
			}
			if len(all) != d.running || d.running > limit {
				t.Fatalf("%d run, %d have a place, limit %d", d.running, len(all), limit)
			}
			waits := slices.ContainsFunc(d.queue, func(h *held) bool { return h.back == nil })
			for i, h := range d.queue {
				if h.back != nil && i > 0 && d.queue[i-1].back == nil {
					t.Fatalf("%s has to wait for what came later", h.key)
				}
			}
			if d.running == 0 && (waits || len(d.queue) > 0) {
				t.Fatal("calls wait and none runs")
			}
			slices.SortFunc(all, func(a, b *held) int { return strings.Compare(a.key, b.key) })
			return all
		}
		pick := func(from []*held) *held { return from[rapid.IntRange(0, len(from)-1).Draw(t, "which")] }
		without := func(from []*held, h *held) []*held {
			return slices.DeleteFunc(from, func(x *held) bool { return x == h })
		}
		next := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				next++
				d.take(deskCall(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "run"), fmt.Sprint(next), rapid.Bool().Draw(t, "sequential")))
			case 1:
				if all := running(); len(all) > 0 {
					h := pick(all)
					d.pause(h)
					paused = append(paused, h)
				}
			case 2:
				if len(paused) > 0 {
					h := pick(paused)
					paused = without(paused, h)
					go d.resume(h)
					for place, queued := has(h); !place && !queued && h.ctx.Err() == nil; place, queued = has(h) {
						runtime.Gosched()
					}
				}
			case 3:
				if all := running(); len(all) > 0 {
					h := pick(all)
					d.done(h, &schemas.Answer{ID: h.call.ID})
				}
			case 4:
				if len(paused) > 0 { // denied
					h := pick(paused)
					paused = without(paused, h)
					d.done(h, nil)
				}
			}
			running()
		}
		d.close()
		for _, h := range paused { // stopped: they end without a place
			d.stop(h.key)
			d.done(h, nil)
		}
		for all := running(); len(all) > 0; all = running() {
			d.done(all[0], nil)
		}
		<-d.idle
		if len(d.calls) > 0 || len(d.runs) > 0 || len(d.queue) > 0 || d.running != 0 {
			t.Fatalf("left: %v %v %v", d.calls, d.runs, d.queue)
		}
	})
}

// A call that is stopped while it waits for a place again gives up the wait, and its place in the queue.
func TestSpec_S8_AStopEndsTheWaitForAPlace(t *testing.T) {
	started := make(chan *held, 10)
	d := newDesk(1, 10, func(h *held) { started <- h })
	defer d.close()
	first, second := deskCall("a", "1", false), deskCall("b", "2", false)
	d.take(first)
	d.pause(<-started)
	d.take(second)
	<-started
	resumed := make(chan struct{})
	go func() {
		d.resume(first)
		close(resumed)
	}()
	for running, queued := d.counts(); queued != 1; running, queued = d.counts() {
		if running != 1 {
			t.Fatalf("%d run", running)
		}
		runtime.Gosched()
	}
	if gone := d.missing([]string{first.key}); len(gone) > 0 {
		t.Error("a call that waits for a place is said to be gone")
	}
	d.abandon() // cancels both; none of them is queued without a goroutine
	<-resumed
	if _, queued := d.counts(); queued != 0 {
		t.Errorf("%d wait", queued)
	}
	d.done(first, nil)
	d.done(second, nil)
	d.close()
	<-d.idle
}
