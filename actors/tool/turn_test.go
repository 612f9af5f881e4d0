package tool

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// Goroutines start in any order; calls of a run reach their tools in the order in which they were taken. One that is held
// up before its tool by what may take its time lets the others go on, and so does one that ends.
func TestSpec_P1_CallsReachTheirToolsInOrder(t *testing.T) {
	for name, lets := range map[string]func(d *desk, first *held){
		"late goroutine": nil,
		"hooks":          func(d *desk, first *held) { d.pass(first) },
		"a person":       func(d *desk, first *held) { d.pause(first) },
		"over":           func(d *desk, first *held) { d.done(first, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				late := make(chan struct{})
				var mu sync.Mutex
				var began []string
				var d *desk
				d = newDesk(8, 0, func(h *held) {
					if h.key == "r.1" {
						<-late
					}
					if d.await(h) == nil {
						mu.Lock()
						began = append(began, h.key)
						mu.Unlock()
						d.pass(h)
					}
					d.done(h, &schemas.Answer{ID: h.call.ID})
				})
				defer d.close()
				calls := []*held{deskCall("r", "1", false), deskCall("r", "2", false), deskCall("r", "3", false), deskCall("other", "1", false)}
				for _, h := range calls {
					defer h.cancel()
					if verdict, _ := d.take(h); verdict != taken {
						t.Fatalf("%s: verdict %d", h.key, verdict)
					}
				}
				want := []string{"other.1"}
				if lets != nil {
					lets(d, calls[0])
					want = []string{"other.1", "r.2", "r.3"}
				}
				synctest.Wait()
				mu.Lock()
				if got := slices.Sorted(slices.Values(began)); !slices.Equal(got, want) {
					t.Errorf("began: %v, want %v", got, want)
				}
				mu.Unlock()
				close(late)
				synctest.Wait()
				mu.Lock()
				defer mu.Unlock()
				if order := slices.DeleteFunc(slices.Clone(began), func(key string) bool { return key == "other.1" }); lets == nil &&
					!slices.Equal(order, []string{"r.1", "r.2", "r.3"}) {
					t.Errorf("order: %v", order)
				}
				if len(began) != len(calls) {
					t.Errorf("began in the end: %v", began)
				}
			})
		})
	}
}

// A call that is stopped while it waits for its turn never reaches its tool, and holds up nobody.
func TestSpec_S8_StoppedBeforeItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan struct{})
		defer close(late)
		ends := make(chan string, 3)
		var d *desk
		d = newDesk(8, 0, func(h *held) {
			if h.call.ID == "1" {
				<-late
			}
			if err := d.await(h); err != nil {
				ends <- h.call.ID + " " + err.Error()
			} else {
				ends <- h.call.ID
				d.pass(h)
			}
			d.done(h, nil)
		})
		defer d.close()
		for _, id := range []string{"1", "2", "3"} {
			h := deskCall("r", id, false)
			defer h.cancel()
			d.take(h)
		}
		synctest.Wait()
		d.stop("r.2")
		if got := []string{<-ends, <-ends}; !slices.Equal(got, []string{"2 context canceled", "3"}) {
			t.Errorf("ended: %q", got)
		}
	})
}

// What holds a call up before its tool holds up the others for a moment only.
func TestSpec_P1_NobodyWaitsLongForATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		defer close(stuck)
		took := make(chan time.Duration, 1)
		start := time.Now()
		var d *desk
		d = newDesk(8, 0, func(h *held) {
			if h.call.ID == "1" {
				<-stuck
			} else if d.await(h) == nil {
				took <- time.Since(start)
			}
			d.done(h, nil)
		})
		defer d.close()
		for _, id := range []string{"1", "2"} {
			h := deskCall("r", id, false)
			defer h.cancel()
			d.take(h)
		}
		if got := <-took; got != turnPatience {
			t.Errorf("waited for %v, want %v", got, turnPatience)
		}
	})
}

// A call that leaves the order before it could begin, refused for example, leads nobody past the call before it: neither one
// that waits already, nor one that comes later.
func TestSpec_P1_WhoLeavesLetsNobodyOvertake(t *testing.T) {
	for name, leaves := range map[string]func(d *desk, second *held){
		"hooks":    func(d *desk, second *held) { d.leave(second) },
		"a person": func(d *desk, second *held) { d.pause(second) },
		"over":     func(d *desk, second *held) { d.done(second, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				late, stuck := make(chan struct{}), make(chan struct{})
				defer close(stuck)
				began := make(chan string, 4)
				var d *desk
				d = newDesk(8, 0, func(h *held) {
					switch h.call.ID {
					case "1":
						<-late
					case "2":
						<-stuck
						return
					}
					if d.await(h) == nil {
						began <- h.call.ID
						d.pass(h)
					}
					d.done(h, nil)
				})
				defer d.close()
				var second *held
				for _, id := range []string{"1", "2", "3"} {
					h := deskCall("r", id, false)
					defer h.cancel()
					d.take(h)
					if id == "2" {
						second = h
					}
				}
				synctest.Wait()
				leaves(d, second)
				fourth := deskCall("r", "4", false)
				defer fourth.cancel()
				d.take(fourth)
				synctest.Wait()
				if n := len(began); n != 0 {
					t.Errorf("%d overtook", n)
				}
				close(late)
				if got := []string{<-began, <-began, <-began}; !slices.Equal(got, []string{"1", "3", "4"}) {
					t.Errorf("order: %q", got)
				}
			})
		})
	}
}

// Likewise where the one that leaves is the last: what comes then waits for the one before it.
func TestSpec_P1_AfterTheLastHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(8, 0, func(*held) {})
		defer d.close()
		calls := []*held{deskCall("r", "1", false), deskCall("r", "2", false), deskCall("r", "3", false)}
		for i, h := range calls {
			defer h.cancel()
			d.take(h)
			if i == 1 {
				d.done(h, nil)
			}
		}
		if got := calls[2].turn.before; got != &calls[0].turn {
			t.Errorf("waits for %p", got)
		}
		d.pass(calls[0])
		start := time.Now()
		if err := d.await(calls[2]); err != nil || time.Since(start) != 0 {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		d.pass(calls[2])
		if calls[2].turn.before != nil {
			t.Error("a call that has begun keeps those before it")
		}
	})
}

// logged is a provider of somebody who builds upon one of ours.
type logged struct {
	*FuncSet
	seen chan string
}

func (l *logged) Call(ctx context.Context, call *schemas.Call, progress Progress) (schemas.JSON, error) {
	l.seen <- call.Tool
	return l.FuncSet.Call(ctx, call, progress)
}

// An executor passes by no Call of a provider that embeds one of ours.
func TestProvidersThatEmbedOurs(t *testing.T) {
	conn := bustest.Conn(t)
	p := &logged{funcs(t, "math", New("add", "adds", add)), make(chan string, 1)}
	start(t, conn, Options{Providers: []Provider{p}})
	if a := newCaller(t, conn).send("math", "add", `{"a":2,"b":40}`).end(); string(a.Value) != `{"sum":42}` {
		t.Errorf("%+v", a)
	}
	if len(p.seen) != 1 {
		t.Error("its own Call is passed by")
	}
	for name, ours := range map[string]Provider{
		"FuncSet": p.FuncSet, "core": &core{}, "agents": &agents{}, "Server": &Server{}, "Services": &Services{},
	} {
		if holderOf(ours) == nil {
			t.Errorf("%s is passed by", name)
		}
	}
}
