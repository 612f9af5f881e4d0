package tool

import (
	"context"
	"iter"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// toldFacts keeps progress facts with the time at which they were told.
type toldFacts struct {
	facts []*schemas.CallProgressed
	times []time.Time
}

func (l *toldFacts) Publish(fact any) {
	l.facts, l.times = append(l.facts, fact.(*schemas.CallProgressed)), append(l.times, time.Now())
}

// Random reports at random times: facts of a call are in order and 100 ms apart, the last report is told, and nothing after the end.
func TestSpec_P2_ProgressIsThinnedOut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pauses := rapid.SliceOfN(rapid.IntRange(0, 250), 1, 12).Draw(rt, "pauses in ms")
		stopped := rapid.Bool().Draw(rt, "stopped")
		synctest.Test(t, func(*testing.T) {
			var log toldFacts
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			r := &reports{feed: &log, call: &held{ctx: ctx}}
			for i, pause := range pauses {
				time.Sleep(time.Duration(pause) * time.Millisecond) // virtual: between two reports
				r.add(&schemas.CallProgressed{Done: float64(i)})
			}
			synctest.Wait()
			before := len(log.facts)
			if stopped {
				cancel()
			}
			r.end()
			r.add(&schemas.CallProgressed{Done: 99})
			time.Sleep(time.Second) // virtual: whatever is told late
			synctest.Wait()
			last := log.facts[len(log.facts)-1].Done
			switch {
			case stopped && len(log.facts) > before:
				rt.Fatalf("told after the call was stopped: %v", last)
			case !stopped && last != float64(len(pauses)-1):
				rt.Fatalf("the last fact is report %v of %d", last, len(pauses)-1)
			}
			for i := 1; i < len(log.facts); i++ {
				if log.facts[i].Done <= log.facts[i-1].Done {
					rt.Fatalf("report %v is told after report %v", log.facts[i].Done, log.facts[i-1].Done)
				}
				if gap := log.times[i].Sub(log.times[i-1]); gap < progressPause && i < len(log.facts)-1 {
					rt.Fatalf("facts %d and %d are %v apart", i-1, i, gap)
				}
			}
		})
	})
}

func TestSpec_P2_ProgressIsAFactOnTheBus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // whatever time the reports take, they come at once
		conn := bustest.Conn(t)
		events, err := bus.NewClient(conn).Watch(t.Context(), bus.Facts("call", "progressed"))
		if err != nil {
			t.Fatal(err)
		}
		hostile := strings.Repeat("ü", 400) + "\xff"
		start(t, conn, Options{Providers: []Provider{funcs(t, "lab", raw("slow", func(ctx context.Context, _ schemas.JSON) (schemas.JSON, error) {
			Report(ctx, 1, 4, "one")
			Report(ctx, 2, 4, "two") // too soon, and followed by another
			Report(ctx, math.NaN(), math.Inf(1), hostile)
			return schemas.JSON(`1`), nil
		}))}})
		f := newCaller(t, conn).send("lab", "slow", `{}`)
		if a := f.end(); a.State != schemas.AnswerDone {
			t.Fatalf("answer = %+v", a)
		}
		next, stop := iter.Pull(events)
		defer stop()
		fact := func() *schemas.CallProgressed {
			e, ok := next()
			if !ok || e.Err != nil {
				t.Fatal("no fact", e.Err)
			}
			return e.Fact.(*schemas.CallProgressed)
		}
		if got := fact(); got.Done != 1 || got.Total != 4 || got.Message != "one" || got.Call != f.call.ID || got.Address != f.call.Address || got.At == 0 {
			t.Errorf("first = %+v", got)
		}
		if got := fact(); got.Done != 0 || got.Total != 0 || len(got.Message) != 512 || !strings.HasPrefix(hostile, got.Message) {
			t.Errorf("last = %+v", got)
		}
	})
}
