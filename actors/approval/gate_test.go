package approval_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/codecell/codecell/actors/approval"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// refusal is an error's message, if it is an invalid_input.
func refusal(t *testing.T, err error) string {
	t.Helper()
	var e *schemas.Error
	if !errors.As(err, &e) || e.Code != schemas.InvalidInput {
		t.Errorf("%v is no invalid_input", err)
		return ""
	}
	return e.Message
}

func TestSpec_P3_AnApprovalIsDecidedOnce(t *testing.T) {
	b := newBed(t)
	g := b.gate("x1", time.Hour)
	yes, no := b.ask(g, write(`{"path":"a"}`)), b.ask(g, write(`{"path":"b"}`))
	list, err := b.client.Approvals(t.Context(), false)
	if err != nil || len(list) != 2 || list[0].ID != yes.id || list[1].ID != no.id || list[0].Reason != "the tool asks" ||
		string(list[0].Input) != `{"path":"a"}` || list[0].Identity.Agent != "main" || list[0].ParentID != "toolu_1" {
		t.Fatalf("%+v %v", list, err)
	}
	kinds := b.told(2) // a call is told of a moment after it is said to wait
	if err := b.decide(schemas.Decision{Approval: yes.id, Approve: true, Note: "fine"}); err != nil {
		t.Fatal(err)
	}
	if a := b.find(yes.id); a.State != schemas.ApprovalApproved || a.By != "ada" || a.Note != "fine" || a.DecidedAt == 0 {
		t.Errorf("the record says %+v when the decider is told", a)
	}
	if err := <-yes.verdict; err != nil {
		t.Error(err)
	}
	if err := b.decide(schemas.Decision{Approval: no.id, By: "bob", Note: "not today"}); err != nil {
		t.Fatal(err)
	}
	if err := <-no.verdict; err == nil || err.Error() != "denied by bob: not today" {
		t.Error(err)
	}
	for id, want := range map[string]string{yes.id: "was approved by ada at ", no.id: "was denied by bob at "} {
		for range 2 {
			if said := refusal(t, b.decide(schemas.Decision{Approval: id, Approve: true, By: "eve"})); !strings.Contains(said, want) {
				t.Errorf("%s, want %q", said, want)
			}
		}
		if a := b.find(id); a.By == "eve" {
			t.Error("the second decision is on record")
		}
	}
	if list, err := b.client.Approvals(t.Context(), true); err != nil || len(list) != 2 {
		t.Errorf("%+v %v", list, err)
	}
	if list, err := b.client.Approvals(t.Context(), false); err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
	kinds = append(kinds, b.told(2)...)
	if got := strings.Join(kinds, ", "); got != "opened write, opened write, closed approved ada, closed denied bob" {
		t.Error(got)
	}
}

// Of many who decide at once one is told that it was them, and the record agrees.
func TestSpec_P3_TwoDecideAtOnce(t *testing.T) {
	b := newBed(t)
	g := b.gate("x1", time.Hour)
	for range 5 {
		a := b.ask(g, write(`{}`))
		results := make(chan error, 8)
		for i := range cap(results) {
			go func() {
				results <- b.client.Decide(context.Background(), schemas.Decision{Approval: a.id, Approve: i%2 == 0, By: fmt.Sprint("p", i)})
			}()
		}
		won := 0
		for range cap(results) {
			if err := <-results; err == nil {
				won++
			} else {
				refusal(t, err)
			}
		}
		verdict, record := <-a.verdict, b.find(a.id)
		if won != 1 || (verdict == nil) != (record.State == schemas.ApprovalApproved) || (record.By[1]-'0')%2 == 0 != (verdict == nil) {
			t.Errorf("%d won, the call was told %v, the record says %s by %s", won, verdict, record.State, record.By)
		}
	}
}

func TestSpec_P3_Case68_NobodyDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		g := b.gate("x1", 5*time.Minute)
		begun := time.Now()
		a := b.ask(g, write(`{}`))
		err := <-a.verdict
		if err == nil || !strings.Contains(err.Error(), "timed out: nobody decided within 5m0s, and it was not run") {
			t.Error(err)
		}
		if took := time.Since(begun); took != 5*time.Minute {
			t.Errorf("after %v", took)
		}
		if said := refusal(t, b.decide(schemas.Decision{Approval: a.id, Approve: true})); !strings.Contains(said, "expired, since nobody decided in time") {
			t.Error(said)
		}
		synctest.Wait() // the call doesn't wait for the record of its end
		if a := b.find(a.id); a.State != schemas.ApprovalExpired {
			t.Errorf("%+v", a)
		}
	})
}

func TestSpec_S8_AStoppedCallLeavesItsApproval(t *testing.T) {
	b := newBed(t)
	g := b.gate("x1", time.Hour)
	a := b.ask(g, write(`{}`))
	a.stop()
	if err := <-a.verdict; err == nil || !strings.Contains(err.Error(), "cancelled while it waited") {
		t.Error(err)
	}
	if said := refusal(t, b.decide(schemas.Decision{Approval: a.id, Approve: true})); !strings.Contains(said, "nobody waits for the call any more") {
		t.Error(said)
	}
	if g.Waiting() != 0 {
		t.Error("it waits")
	}
}

func TestSpec_P3_AGateThatClosesCancels(t *testing.T) {
	b := newBed(t)
	g := b.gate("x1", time.Hour)
	a := b.ask(g, write(`{}`))
	g.Close(t.Context())
	if err := <-a.verdict; err == nil || !strings.Contains(err.Error(), "shutting down") {
		t.Error(err)
	}
	if r := b.find(a.id); r.State != schemas.ApprovalCancelled {
		t.Errorf("%+v", r)
	}
	if err := <-b.ask(g, write(`{}`)).verdict; err == nil || !strings.Contains(err.Error(), "shutting down") {
		t.Error(err)
	}
	// Nobody takes decisions any more: the record explains.
	if said := refusal(t, b.decide(schemas.Decision{Approval: a.id, Approve: true})); !strings.Contains(said, "nobody waits for the call any more") {
		t.Error(said)
	}
}

// What a killed executor has left isn't offered for decision, and a decision says why.
func TestSpec_P3_AnExecutorIsKilled(t *testing.T) {
	b := newBed(t)
	gone := b.server
	conn, err := gone.Connect("executor")
	if err != nil {
		t.Fatal(err)
	}
	book := bus.NewApprovalBook(conn)
	now := time.Now()
	left := schemas.Approval{ID: bus.NewApprovalID("dead"), Executor: "dead", State: schemas.ApprovalPending, Tool: "write", Opened: now.UnixNano(), Deadline: now.Add(time.Hour).UnixNano()}
	if _, err := book.Open(t.Context(), &left); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if list, err := b.client.Approvals(t.Context(), false); err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
	if list, err := b.client.Approvals(t.Context(), true); err != nil || len(list) != 1 || list[0].State != schemas.ApprovalCancelled {
		t.Errorf("%+v %v", list, err)
	}
	if said := refusal(t, b.decide(schemas.Decision{Approval: left.ID, Approve: true})); !strings.Contains(said, "nobody waits for the call any more") {
		t.Error(said)
	}
}

func TestSpec_P3_B4_BadDecisions(t *testing.T) {
	b := newBed(t)
	g := b.gate("x1", time.Hour)
	a, other := b.ask(g, write(`{}`)), b.ask(g, write(`{}`))
	for want, d := range map[string]schemas.Decision{
		"not an id":                        {Approval: "nonsense", By: "a"},
		"there is no approval":             {Approval: bus.NewApprovalID("x2"), By: "a"},
		"no call waits for approval":       {Approval: bus.NewApprovalID("x1"), By: "a"},
		"by is empty":                      {Approval: a.id, By: " "},
		"by must be UTF-8":                 {Approval: a.id, By: strings.Repeat("a", 257)},
		"note must be UTF-8":               {Approval: a.id, By: "a", Note: strings.Repeat("a", 3<<10)},
		"a denial can't grant":             {Approval: a.id, By: "a", Grant: &schemas.Grant{Scope: schemas.GrantCell, Calls: 1}},
		"grant.scope must be":              {Approval: a.id, By: "a", Approve: true, Grant: &schemas.Grant{Scope: "world", Calls: 1}},
		"grant.calls must be":              {Approval: a.id, By: "a", Approve: true, Grant: &schemas.Grant{Scope: schemas.GrantCell}},
		"grant.match is no JSON Schema":    {Approval: a.id, By: "a", Approve: true, Grant: &schemas.Grant{Scope: schemas.GrantCell, Calls: 1, Match: schemas.JSON(`{"type":7}`)}},
		"no keyword that checks anything":  {Approval: a.id, By: "a", Approve: true, Grant: &schemas.Grant{Scope: schemas.GrantCell, Calls: 1, Match: schemas.JSON(`{"typ":"object"}`)}},
		"grant.match is 20000 bytes long":  {Approval: a.id, By: "a", Approve: true, Grant: &schemas.Grant{Scope: schemas.GrantCell, Calls: 1, Match: schemas.JSON(strings.Repeat(" ", 20_000))}},
		"grant.expires is over":            {Approval: a.id, By: "a", Approve: true, Grant: &schemas.Grant{Scope: schemas.GrantCell, Calls: 1, Expires: 1}},
		"grant.expires is more than 24h0m": {Approval: a.id, By: "a", Approve: true, Grant: &schemas.Grant{Scope: schemas.GrantCell, Calls: 1, Expires: time.Now().Add(25 * time.Hour).UnixNano()}},
	} {
		if said := refusal(t, b.client.Decide(t.Context(), d)); !strings.Contains(said, want) {
			t.Errorf("%s, want %q", said, want)
		}
	}
	ack, err := bus.Ask[schemas.Ack](t.Context(), b.conn, bus.DecideSubject("x1", a.id), &schemas.Decision{Approval: other.id, Approve: true, By: "a"})
	if err != nil || ack.Err == nil || !strings.Contains(ack.Err.Message, "another approval than its subject") {
		t.Errorf("%+v %v", ack, err)
	}
	bustest.RandomBytes(t, b.conn, bus.DecideSubject("x1", a.id), bus.DecideSubject("x1", "nothing"))
	if g.Waiting() != 2 || b.find(a.id).State != schemas.ApprovalPending {
		t.Error("something was decided")
	}
	if err := b.decide(schemas.Decision{Approval: a.id, Approve: true}); err != nil {
		t.Error(err)
	}
	if err := <-a.verdict; err != nil {
		t.Error(err)
	}
}

// A bucket that takes nothing more, or isn't there, allows nothing.
func TestSpec_P3_WithoutARecordNothingIsAllowed(t *testing.T) {
	b := newBed(t)
	g := b.gate("x1", time.Hour)
	a := b.ask(g, write(`{}`))
	limit := func(name string, bytes int64) {
		t.Helper()
		stream, err := b.conn.JetStream().Stream(t.Context(), "KV_"+name)
		if err != nil {
			t.Fatal(err)
		}
		config := stream.CachedInfo().Config
		config.MaxBytes, config.Discard = bytes, jetstream.DiscardNew
		if _, err := b.conn.JetStream().UpdateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
	}
	limit("codecell_approvals", 1)
	if err := <-b.ask(g, write(`{}`)).verdict; err == nil || !strings.Contains(err.Error(), "nobody can be asked for one, so it was not run") {
		t.Error(err)
	}
	err := b.decide(schemas.Decision{Approval: a.id, Approve: true})
	var e *schemas.Error
	if !errors.As(err, &e) || e.Code != schemas.RuntimeUnavailable || !strings.Contains(e.Message, "nothing is decided yet") {
		t.Error(err)
	}
	limit("codecell_approvals", 1<<20)
	if err := b.decide(schemas.Decision{Approval: a.id, Approve: true}); err != nil {
		t.Error(err)
	}
	if err := <-a.verdict; err != nil {
		t.Error(err)
	}
	// The grants can't be kept: the one call is approved, the decider is told, and the next one asks.
	limit("codecell_grants", 1)
	a = b.ask(g, write(`{}`))
	err = b.decide(schemas.Decision{Approval: a.id, Approve: true, Grant: &schemas.Grant{Scope: schemas.GrantRun, Calls: 5}})
	if !errors.As(err, &e) || !strings.Contains(e.Message, "the call is approved, and further calls are not") {
		t.Error(err)
	}
	if err := <-a.verdict; err != nil {
		t.Error(err)
	}
	if next := b.ask(g, write(`{}`)); next.id == "" {
		t.Error("it didn't ask")
	}
}

func TestSpec_P3_LargeAndOddInputs(t *testing.T) {
	b := newBed(t)
	g := b.gate("x1", time.Hour)
	for input, want := range map[string]func(string) bool{
		`{"a":"` + strings.Repeat("x", approval.MaxShownBytes) + `"}`: func(s string) bool {
			return strings.HasPrefix(s, `"{\"a\":\"xxx`) && strings.HasSuffix(s, `… (65544 bytes)"`)
		},
		`{"a":` + "\xff": func(s string) bool { return strings.HasPrefix(s, `"{\"a\":`) },
	} {
		a := b.ask(g, write(input))
		if shown := string(b.find(a.id).Input); !want(shown) {
			t.Errorf("%.60s … %s", shown, shown[max(0, len(shown)-60):])
		}
		if err := b.decide(schemas.Decision{Approval: a.id}); err != nil {
			t.Error(err)
		}
		if kept := len(b.find(a.id).Input); kept > 5<<10 {
			t.Errorf("%d bytes are kept", kept)
		}
	}
	a := b.ask(g, write(`{}`, func(c *schemas.Call) { c.Tool = strings.Repeat("x", 2<<20) }))
	if err := <-a.verdict; err == nil || a.id != "" {
		t.Error("what is too large to be shown was asked for")
	}
}

func TestApprove_NeedsNone(t *testing.T) {
	g := approval.New(nil, approval.Options{}) // without a bus: nothing may be asked
	if err := g.Approve(context.Background(), write(`{}`), nil, "", nil); err != nil {
		t.Error(err)
	}
}

// A gate that was closed takes nothing more, and listens to nobody: a call that was with a hook meanwhile asks too late.
func TestSpec_P3_AClosedGateIsDeaf(t *testing.T) {
	b := newBed(t)
	g := b.gate("x1", time.Minute)
	b.ask(g, write(`{}`)) // it has listened
	g.Close(t.Context())
	if err := g.Approve(t.Context(), write(`{}`), nil, "it asks", func(string) { t.Error("it waits") }); err == nil || !strings.Contains(err.Error(), "shutting down") {
		t.Error(err)
	}
	_, err := bus.Ask[schemas.Ack](t.Context(), b.conn, bus.DecideSubject("x1", bus.NewApprovalID("x1")), &schemas.Decision{})
	if !errors.Is(err, bus.ErrNoResponders) {
		t.Errorf("somebody takes decisions: %v", err)
	}
}
