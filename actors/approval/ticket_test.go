package approval

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// waitingTicket is a ticket on record whose goroutine is the test.
func waitingTicket(t *testing.T) (*ticket, *bus.ApprovalBook) {
	t.Helper()
	conn := bustest.Conn(t)
	g := New(conn, Options{Executor: "x1", Timeout: time.Hour, Tell: func(any) {}, Logger: slog.New(slog.DiscardHandler)})
	w, err := g.ask(t.Context(), &schemas.Call{ID: "1", Tool: "write", Args: schemas.JSON(`{}`)}, "it asks")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.leave()
		g.Close(context.Background())
	})
	return w, bus.NewApprovalBook(conn)
}

// A decision whose write seemed to fail, and is on record all the same, counts: what is tried later doesn't (P3).
func TestSpec_P3_AWriteThatArrivedAfterAll(t *testing.T) {
	for name, later := range map[string]func(w *ticket){
		"then the opposite is decided": func(w *ticket) {
			refused := w.decide(t.Context(), &schemas.Decision{Approval: w.now.ID, By: "bob"})
			if refused == nil || refused.Code != schemas.InvalidInput {
				t.Errorf("%+v", refused)
			}
		},
		"then it expires": func(w *ticket) { w.expire(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			w, book := waitingTicket(t)
			first := w.now
			first.State, first.By, first.DecidedAt = schemas.ApprovalApproved, "ada", 7
			if _, err := book.Replace(t.Context(), &first, w.revision); err != nil {
				t.Fatal(err)
			}
			w.tried = append(w.tried, first) // its answer was lost
			later(w)
			if err := w.verdict(t.Context()); err != nil || w.now.By != "ada" {
				t.Errorf("%v %+v", err, w.now)
			}
		})
	}
}

// Nobody else's write decides: the record isn't a way around the permission to decide.
func TestSpec_P3_AForeignWriteDecidesNothing(t *testing.T) {
	w, book := waitingTicket(t)
	forged := w.now
	forged.State, forged.By, forged.DecidedAt = schemas.ApprovalApproved, "eve", 7
	if _, err := book.Replace(t.Context(), &forged, w.revision); err != nil {
		t.Fatal(err)
	}
	refused := w.decide(t.Context(), &schemas.Decision{Approval: w.now.ID, Approve: true, By: "ada"})
	if refused == nil || refused.Code != schemas.RuntimeUnavailable || w.now.State != schemas.ApprovalPending {
		t.Errorf("%+v, %s", refused, w.now.State)
	}
	w.expire(t.Context())
	if w.now.State != schemas.ApprovalExpired || w.verdict(t.Context()) == nil {
		t.Errorf("%+v", w.now)
	}
}

// A server that kept its buckets in memory has started anew: what is decided then is on record again.
func TestSpec_P3_ARecordThatIsLost(t *testing.T) {
	w, book := waitingTicket(t)
	if err := w.g.conn.JetStream().DeleteKeyValue(t.Context(), "codecell_approvals"); err != nil {
		t.Fatal(err)
	}
	if refused := w.decide(t.Context(), &schemas.Decision{Approval: w.now.ID, Approve: true, By: "ada"}); refused != nil {
		t.Error(refused)
	}
	if found, _, err := book.Find(t.Context(), w.now.ID); err != nil || found.State != schemas.ApprovalApproved {
		t.Errorf("%+v %v", found, err)
	}
}

// A gate takes so many and no more, and whoever is too many is told so.
func TestSpec_P3_WaitingCallsAreBounded(t *testing.T) {
	w, _ := waitingTicket(t)
	w.g.mu.Lock()
	for len(w.g.waiting) < MaxWaiting {
		w.g.waiting[bus.NewApprovalID("x1")] = w
	}
	w.g.mu.Unlock()
	if _, err := w.g.ask(t.Context(), &schemas.Call{ID: "2", Tool: "write"}, "it asks"); err == nil {
		t.Error("one more waits")
	}
}

func TestMemory_IsBounded(t *testing.T) {
	var m memory
	first := schemas.Approval{ID: bus.NewApprovalID("x1"), State: schemas.ApprovalDenied, Input: schemas.JSON("{}")}
	m.add(first)
	if a := m.find(first.ID); a == nil || a.State != schemas.ApprovalDenied || a.Input != nil {
		t.Errorf("%+v", a)
	}
	for range 3 * remembered {
		m.add(schemas.Approval{ID: bus.NewApprovalID("x1")})
	}
	if len(m.byID) != remembered || len(m.ring) != remembered || m.find(first.ID) != nil {
		t.Errorf("%d are known", len(m.byID))
	}
}

func TestVerdict_OfACloseIsNoCancellation(t *testing.T) {
	w, _ := waitingTicket(t)
	w.end(schemas.ApprovalCancelled)
	if err := w.verdict(t.Context()); !errors.Is(err, errClosing) {
		t.Error(err)
	}
}
