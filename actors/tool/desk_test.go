package tool

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/codecell/codecell/schemas"
)

func deskCall(run, id string, sequential bool) *held {
	ctx, cancel := context.WithCancel(context.Background())
	return &held{
		key: run + "." + id, ctx: ctx, cancel: cancel,
		call:   &schemas.Call{ID: id, Address: schemas.Address{Run: run, Cell: run}},
		target: &contract{tool: schemas.Tool{Name: "t", Sequential: sequential}},
	}
}

// Random orders of calls, ends and stops: never more than the limits, a sequential call alone
// in its run, order kept within a run, every call started at most once, a stopped one that
// waits never, and nothing left in the end (S7, P4, U2).
func TestSpec_P4_DeskOnRandomOrders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit, queue := rapid.IntRange(1, 4).Draw(t, "limit"), rapid.IntRange(0, 6).Draw(t, "queue")
		started := make(chan *held, 1000)
		d := newDesk(limit, queue, func(h *held) { started <- h })
		defer d.close()
		var running, waiting []*held
		everStarted := map[string]bool{}
		settle := func() {
			for {
				n, queued := d.counts()
				if n > limit || queued > queue {
					t.Fatalf("%d run, %d wait", n, queued)
				}
				if len(running) == n {
					if queued != len(waiting) {
						t.Fatalf("%d wait, want %d", queued, len(waiting))
					}
					break
				}
				h := <-started
				if everStarted[h.key] {
					t.Fatalf("%s started twice", h.key)
				}
				everStarted[h.key] = true
				running = append(running, h)
				waiting = slices.DeleteFunc(waiting, func(w *held) bool { return w == h })
			}
			for _, h := range running {
				for _, other := range running {
					if other != h && h.target.tool.Sequential && other.call.Address.Run == h.call.Address.Run {
						t.Fatalf("%s is not alone", h.key)
					}
				}
			}
			if len(waiting) > 0 && len(running) == 0 {
				t.Fatal("calls wait and none runs")
			}
		}
		end := func(i int) {
			h := running[i]
			running = slices.Delete(running, i, i+1)
			d.done(h, &schemas.Answer{ID: h.call.ID})
		}
		next := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0, 1:
				next++
				h := deskCall(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "run"), fmt.Sprint(next), rapid.Bool().Draw(t, "sequential"))
				if v, _ := d.take(h); v == taken {
					waiting = append(waiting, h)
				} else if v != full || len(waiting) < queue {
					t.Fatalf("verdict %d with %d waiting", v, len(waiting))
				}
				twin := deskCall(h.call.Address.Run, h.call.ID, false)
				if v, _ := d.take(twin); len(waiting) > 0 && waiting[len(waiting)-1] == h && v != again {
					t.Fatalf("a repetition was given %d", v)
				}
			case 2:
				if len(running) > 0 {
					end(rapid.IntRange(0, len(running)-1).Draw(t, "which"))
				}
			case 3:
				all := append(slices.Clone(running), waiting...)
				if len(all) > 0 {
					h := all[rapid.IntRange(0, len(all)-1).Draw(t, "which")]
					d.stop(h.key)
					waiting = slices.DeleteFunc(waiting, func(w *held) bool { return w == h })
					if h.ctx.Err() == nil || d.wanted(h) {
						t.Fatalf("%s goes on", h.key)
					}
				}
			}
			settle()
		}
		d.close()
		if v, _ := d.take(deskCall("a", "late", false)); v != shut {
			t.Fatalf("a closed desk says %d", v)
		}
		for len(running) > 0 || len(waiting) > 0 {
			end(0)
			settle()
		}
		<-d.idle
		if len(d.calls) > 0 || len(d.runs) > 0 || len(d.queue) > 0 {
			t.Fatalf("left: %v %v %v", d.calls, d.runs, d.queue)
		}
	})
}

func TestSpec_P4_ASequentialCallKeepsItsPlace(t *testing.T) {
	started := make(chan *held, 10)
	d := newDesk(10, 10, func(h *held) { started <- h })
	defer d.close()
	p1, s, p2, other := deskCall("a", "1", false), deskCall("a", "2", true), deskCall("a", "3", false), deskCall("b", "4", false)
	for _, h := range []*held{p1, s, p2, other} {
		d.take(h)
	}
	if a, b := <-started, <-started; !(a == p1 && b == other || a == other && b == p1) {
		t.Errorf("%s and %s started", a.key, b.key)
	}
	d.done(p1, nil)
	if h := <-started; h != s {
		t.Errorf("%s started", h.key)
	}
	if running, queued := d.counts(); running != 2 || queued != 1 {
		t.Errorf("%d run, %d wait", running, queued)
	}
	d.done(s, nil)
	if h := <-started; h != p2 {
		t.Errorf("%s started", h.key)
	}
}

func TestSpec_S8_AStopThatComesBeforeItsCall(t *testing.T) {
	d := newDesk(1, 1, func(*held) { t.Error("it ran") })
	d.stop("a.1")
	if v, _ := d.take(deskCall("a", "1", false)); v != unwanted {
		t.Errorf("%d", v)
	}
}

func TestDesk_RecentIsBounded(t *testing.T) {
	var r recent
	for i := range 3 * recentCalls {
		r.add(fmt.Sprint(i), &schemas.Answer{}, false)
		r.add("same", nil, true)
	}
	if len(r.byKey) > recentCalls || len(r.ring) != recentCalls {
		t.Errorf("%d keys, %d in the ring", len(r.byKey), len(r.ring))
	}
	if r.find("0") != nil || r.find(fmt.Sprint(3*recentCalls-1)) == nil || r.find("same") == nil {
		t.Error("the wrong ones are forgotten")
	}
}

// A goroutine that has run a call takes another one.
func TestDesk_GoroutinesAreUsedAgain(t *testing.T) {
	var d *desk
	ran := make(chan *held)
	d = newDesk(2, 2, func(h *held) {
		d.done(h, nil)
		ran <- h
	})
	defer d.close()
	d.take(deskCall("a", "1", false))
	<-ran
	second := deskCall("a", "2", false)
	d.mu.Lock() // as launch does it
	d.calls[second.key], d.runs["a"] = second, &runGate{running: 1}
	d.running++
	d.mu.Unlock()
	d.next <- second // nobody else receives
	if h := <-ran; h != second {
		t.Errorf("%s ran", h.key)
	}
}

func TestDesk_Hammer(t *testing.T) {
	var d *desk
	var wg sync.WaitGroup
	d = newDesk(8, 64, func(h *held) {
		if h.ctx.Err() != nil && d.wanted(h) { // in this order: a stop may come in between
			t.Error("a wanted call is cancelled")
		}
		d.done(h, nil)
		wg.Done()
	})
	for w := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				h := deskCall(fmt.Sprint("r", rand.IntN(3)), fmt.Sprint(w, "-", i), i%7 == 0)
				h.ack.after(0, func() {})
				wg.Add(1)
				if v, _ := d.take(h); v != taken {
					wg.Done()
					continue
				}
				if i%5 == 0 {
					d.mu.Lock()
					running := h.running
					d.mu.Unlock()
					if running {
						d.stop(h.key)
					}
				}
				d.missing([]string{h.key})
			}
		})
	}
	wg.Wait()
	d.close()
	<-d.idle
	if running, queued := d.counts(); running != 0 || queued != 0 {
		t.Errorf("%d run, %d wait", running, queued)
	}
}
