package approval_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/approval"
	"github.com/codecell/codecell/schemas"
)

// However decisions, stops, deadlines and grants come together: each call has one verdict, the record agrees with it,
// every decider has an answer, and what was granted is never overdrawn (P3, S8).
func TestSpec_P3_GateHammer(t *testing.T) {
	const workers, each = 16, 12
	b := newBed(t)
	gates := []*approval.Gate{b.gate("x1", 30*time.Millisecond), b.gate("an executor with an odd name", time.Hour)}
	var mu sync.Mutex
	decided := map[string]error{} // by whom an approval was decided → what they were told
	ends := map[string]error{}    // verdicts by approval
	uncovered, passed := 0, 0
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range each {
				ctx, stop := context.WithCancel(context.Background())
				id := ""
				var deciding sync.WaitGroup
				mu.Lock()
				call := write(`{"n":1}`)
				mu.Unlock()
				err := gates[rand.IntN(len(gates))].Approve(ctx, call, nil, "it asks", func(approval string) {
					id = approval
					if rand.IntN(3) == 0 {
						time.AfterFunc(rand.N(20*time.Millisecond), stop)
					}
					for _, by := range []string{"ada", "bob"} {
						deciding.Go(func() {
							time.Sleep(rand.N(20 * time.Millisecond)) // real: decisions come at any moment
							d := schemas.Decision{Approval: approval, Approve: rand.IntN(2) == 0, By: by}
							if d.Approve && rand.IntN(4) == 0 {
								d.Grant = &schemas.Grant{Scope: schemas.GrantSession, Calls: 2}
							}
							told := b.client.Decide(context.Background(), d)
							mu.Lock()
							decided[approval+by] = told
							if told == nil && d.Grant != nil {
								uncovered += d.Grant.Calls
							}
							mu.Unlock()
						})
					}
				})
				deciding.Wait()
				stop()
				mu.Lock()
				if id != "" {
					ends[id] = err
				}
				if err == nil {
					passed++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, g := range gates {
		if g.Waiting() != 0 {
			t.Errorf("%d wait", g.Waiting())
		}
		g.Close(t.Context()) // all ends are on record
	}
	approved := 0
	for id, verdict := range ends {
		record := b.find(id)
		if (record.State == schemas.ApprovalApproved) != (verdict == nil) || record.State == schemas.ApprovalPending {
			t.Errorf("the call was told %v, the record says %s", verdict, record.State)
		}
		won := 0
		for _, by := range []string{"ada", "bob"} {
			var e *schemas.Error
			switch told := decided[id+by]; {
			case told == nil:
				won++
				if record.By != by {
					t.Errorf("%s was told that it counts, the record says %q", by, record.By)
				}
			case !errors.As(told, &e) || e.Code != schemas.InvalidInput:
				t.Error(told)
			}
		}
		byHand := record.By != "" && !strings.HasPrefix(record.Note, "by the grant")
		if byHand != (won == 1) || won > 1 {
			t.Errorf("%d of two decisions count, the record says %q", won, record.By)
		}
		if verdict == nil && byHand {
			approved++
		}
	}
	if passed-approved > uncovered {
		t.Errorf("%d calls went on by grants of %d", passed-approved, uncovered)
	}
}
