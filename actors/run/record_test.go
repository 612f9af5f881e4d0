package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/codecell/codecell/actors/cell"
	"github.com/codecell/codecell/schemas"
)

// pages is a session of a test that keeps its transcript in memory.
type pages struct {
	values
	mu      sync.Mutex
	entries []schemas.SessionEntry
}

func (p *pages) Append(entries ...schemas.SessionEntry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.entries = append(p.entries, entries...)
}

// lines shows the transcript in short.
func (p *pages) lines() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []string
	for _, e := range p.entries {
		switch e.Kind {
		case schemas.EntryExec:
			lines = append(lines, fmt.Sprintf("exec %s in %q", e.Exec.CallID, e.Exec.Cell))
		case schemas.EntryWait:
			lines = append(lines, fmt.Sprintf("wait %s for %s", e.Wait.CallID, e.Wait.Cell))
		case schemas.EntryResult:
			lines = append(lines, fmt.Sprintf("%s %s %s of %s", e.Result.Status, e.Result.Code, e.Result.CallID, e.Result.ParentID))
		case schemas.EntryCall:
			lines = append(lines, fmt.Sprintf("call %s %s of %s", e.Call.Call, e.Call.Tool, e.Call.ParentID))
		case schemas.EntryOutcome:
			lines = append(lines, fmt.Sprintf("%s %s of %s", e.Outcome.Outcome, e.Outcome.Call, e.Outcome.ParentID))
		default:
			lines = append(lines, string(e.Kind))
		}
	}
	return strings.Join(lines, "\n")
}

func (p *pages) want(t testing.TB, lines ...string) {
	t.Helper()
	if got, want := p.lines(), strings.Join(lines, "\n"); got != want {
		t.Errorf("transcript:\n%s\nwant:\n%s", got, want)
	}
}

// recorded is the record of an exec with this input.
func recorded(p *pages, redact *Redactor, input string) *record {
	return newRecord(&Spec{Host: "h", Identity: schemas.Identity{Agent: "default", Run: "r"}, Redact: redact}, &prepared{
		exec:    &Exec{Msg: &schemas.Exec{CallID: "e1", Input: schemas.JSON(input), Recovers: "e0"}},
		session: p,
	})
}

var (
	parked     = &schemas.Result{Status: schemas.StatusWaiting, RunID: "c1"}
	completed  = &schemas.Result{Status: schemas.StatusCompleted, Value: schemas.JSON("1")}
	aborted    = &schemas.Result{Status: schemas.StatusFailed, Code: schemas.Aborted, Error: "over"}
	turnedDown = &schemas.Result{Status: schemas.StatusFailed, Code: schemas.InvalidInput, Error: "no"}
)

func ignore(*schemas.Result) {}

// P6: an exec comes before its calls, a call before its outcome, outcomes before the answer; W1: calls made after a
// wait have the same parent.
func TestSpec_P6_W1_TranscriptInOrder(t *testing.T) {
	var p pages
	r := recorded(&p, nil, `{"title":"a","code":"b"}`)
	exec := r.answers(ignore)
	r.begin("c1")
	tool := &schemas.Tool{Source: schemas.SourceNative, Owner: "lab", Name: "read", ReplaySafe: true}
	r.call(cell.Call{ID: "1", Args: schemas.JSON(`{"n":1}`)}, tool, false)
	r.settled(&cell.Settled{ID: "1", Outcome: schemas.Done, Value: schemas.JSON("7"), Untrusted: true})
	exec(parked)
	wait := r.wait("w1", ignore)
	r.call(cell.Call{ID: "2"}, nil, true)
	r.settled(&cell.Settled{ID: "2", Outcome: schemas.NotStarted, Err: &schemas.CallError{Message: "no"}})
	wait(completed)
	r.ended(completed)
	p.want(t, `exec e1 in "c1"`, "call 1 read of e1", "done 1 of e1", "waiting  e1 of e1",
		"wait w1 for c1", "call 2  of e1", "not_started 2 of e1", "completed  w1 of e1")

	e := p.entries[0].Exec
	if e.Host != "h" || e.Identity.Run != "r" || e.Recovers != "e0" || string(e.Input) != `{"title":"a","code":"b"}` || e.Redacted || e.Truncated {
		t.Errorf("exec = %+v", e)
	}
	if c := p.entries[1].Call; !c.ReplaySafe || c.Placeholder || string(c.Args) != `{"n":1}` || c.Owner != "lab" || c.Cell != "c1" {
		t.Errorf("call = %+v", c)
	}
	if o := p.entries[2].Outcome; string(o.Value) != "7" || !o.Untrusted || o.Err != nil {
		t.Errorf("outcome = %+v", o)
	}
	if !p.entries[5].Call.Placeholder || p.entries[6].Outcome.Err.Message != "no" {
		t.Errorf("placeholder = %+v, outcome = %+v", p.entries[5].Call, p.entries[6].Outcome)
	}
	if string(p.entries[7].Result.Result) != `{"status":"completed","value":1,"telemetry":{"catalogSize":0,"sources":{"openclaw":0,"mcp":0,"client":0},`+
		`"counterScope":"","searchCount":0,"describeCount":0,"callCount":0,"visibleTools":[]}}` {
		t.Errorf("result = %s", p.entries[7].Result.Result)
	}
	for _, e := range p.entries {
		if e.At == 0 || e.ID != "" || e.Parent != "" {
			t.Errorf("entry %+v", e)
		}
	}
}

// P6: the transcript says once how every exec has ended, whoever was told.
func TestSpec_P6_EveryEndIsRecordedOnce(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(r *record, exec cell.Reply)
		want []string
	}{
		{"refused before it had a cell", func(_ *record, exec cell.Reply) { exec(turnedDown) }, []string{`exec e1 in ""`, "failed invalid_input e1 of e1"}},
		{"completed in the exec", func(r *record, exec cell.Reply) { r.begin("c1"); exec(completed); r.ended(completed) },
			[]string{`exec e1 in "c1"`, "completed  e1 of e1"}},
		{"the answer is still being judged", func(r *record, exec cell.Reply) { r.begin("c1"); r.ended(turnedDown); exec(turnedDown) },
			[]string{`exec e1 in "c1"`, "failed invalid_input e1 of e1"}},
		{"expired with nobody waiting", func(r *record, exec cell.Reply) { r.begin("c1"); exec(parked); r.ended(aborted) },
			[]string{`exec e1 in "c1"`, "waiting  e1 of e1", "failed aborted e1 of e1"}},
		{"aborted within a wait", func(r *record, exec cell.Reply) {
			r.begin("c1")
			exec(parked)
			r.wait("w1", ignore)(aborted)
			r.ended(aborted)
		}, []string{`exec e1 in "c1"`, "waiting  e1 of e1", "wait w1 for c1", "failed aborted w1 of e1"}},
		{"refused in a wait, and ended by that", func(r *record, exec cell.Reply) {
			r.begin("c1")
			exec(parked)
			r.wait("w1", ignore)(turnedDown)
			r.ended(turnedDown)
		}, []string{`exec e1 in "c1"`, "waiting  e1 of e1", "wait w1 for c1", "failed invalid_input w1 of e1", "failed invalid_input e1 of e1"}},
		{"a second wait was refused, then it expired", func(r *record, exec cell.Reply) {
			r.begin("c1")
			exec(parked)
			first := r.wait("w1", ignore)
			r.wait("w2", ignore)(turnedDown)
			first(parked)
			r.ended(aborted)
		}, []string{`exec e1 in "c1"`, "waiting  e1 of e1", "wait w1 for c1", "wait w2 for c1", "failed invalid_input w2 of e1", "waiting  w1 of e1", "failed aborted e1 of e1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p pages
			r := recorded(&p, nil, `{}`)
			c.do(r, r.answers(ignore))
			p.want(t, c.want...)
		})
	}
}

// W5: what is delivered again leaves nothing, and a wait that was refused and is delivered again is a new one.
func TestSpec_W5_RepeatedWaitsLeaveNothing(t *testing.T) {
	var p pages
	r := recorded(&p, nil, `{}`)
	exec := r.answers(ignore)
	r.begin("c1")
	exec(parked)
	first, again := r.wait("w1", ignore), r.wait("w1", ignore)
	r.wait("w2", ignore)(turnedDown)
	next := &schemas.Result{Status: schemas.StatusWaiting, RunID: "c1"}
	first(next)
	again(next)
	r.wait("w1", ignore)(next)
	r.wait("w2", ignore)(completed)
	r.ended(completed)
	p.want(t, `exec e1 in "c1"`, "waiting  e1 of e1", "wait w1 for c1", "wait w2 for c1", "failed invalid_input w2 of e1",
		"waiting  w1 of e1", "wait w2 for c1", "completed  w2 of e1")
}

// W2, W5: a wait for a cell that isn't there is recorded once.
func TestSpec_W2_W5_RefusedWaitsAreRecordedOnce(t *testing.T) {
	var p pages
	var r refusedWaits
	r.note(nil, &schemas.Wait{CallID: "w0", RunID: "c1"}, turnedDown) // not bound
	for range 3 {
		r.note(&p, &schemas.Wait{CallID: "w1", RunID: "c1"}, turnedDown)
		r.note(&p, &schemas.Wait{CallID: "w1", RunID: "c2"}, turnedDown)
	}
	p.want(t, "wait w1 for c1", "failed invalid_input w1 of ", "wait w1 for c2", "failed invalid_input w1 of ")
	for i := range 10 * maxRefused {
		r.note(&p, &schemas.Wait{CallID: fmt.Sprint(i), RunID: strings.Repeat("c", 1000)}, turnedDown)
	}
	if len(r) != maxRefused || len(r[0].Cell) != maxIDKept {
		t.Errorf("%d waits of %d bytes are remembered", len(r), len(r[0].Cell))
	}
}

// A run that isn't bound leaves nothing, and its replies are its own.
func TestSpec_P6_NoRecordWithoutASession(t *testing.T) {
	r := newRecord(&Spec{}, &prepared{exec: &Exec{Msg: &schemas.Exec{}}})
	if r != nil {
		t.Fatalf("record = %+v", r)
	}
	r.begin("c1")
	r.call(cell.Call{}, nil, false)
	r.settled(&cell.Settled{})
	r.ended(completed)
	told := 0
	r.answers(func(*schemas.Result) { told++ })(completed)
	r.wait("w1", func(*schemas.Result) { told++ })(completed)
	if told != 2 {
		t.Errorf("%d answers were given", told)
	}
	if n := testing.AllocsPerRun(100, func() { r.call(cell.Call{}, nil, false); r.settled(&cell.Settled{}) }); n > 0 {
		t.Errorf("it costs %v allocations", n)
	}
}

// P8: the program that is kept is masked, and says so; the one that runs isn't touched.
func TestSpec_P8_OnlyTheRecordIsMasked(t *testing.T) {
	var p pages
	input := schemas.JSON(`{"title":"log in with sk-abcdefghijklmnop0123","code":"const token = 'hunter2'; return token"}`)
	exec := &Exec{Msg: &schemas.Exec{CallID: "e1", Input: input}}
	r := newRecord(&Spec{Redact: redactor(t, schemas.HistoryConfig{})}, &prepared{exec: exec, session: &p})
	r.begin("c1")
	e := p.entries[0].Exec
	if string(e.Input) != `{"title":"log in with [redacted]","code":"const token = '[redacted]'; return token"}` || !e.Redacted {
		t.Errorf("exec = %+v, input %s", e, e.Input)
	}
	if !strings.Contains(string(exec.Msg.Input), "hunter2") {
		t.Errorf("the program itself was changed: %s", exec.Msg.Input)
	}
}

func TestSpec_P7_WhatIsKeptIsBounded(t *testing.T) {
	var p pages
	r := recorded(&p, nil, `{"code":"`+strings.Repeat("é\\n", maxInputKept)+`"}`)
	exec := r.answers(ignore)
	r.begin("c1")
	large := schemas.JSON(`"` + strings.Repeat(`\"`, maxValueKept) + `"`)
	r.call(cell.Call{ID: "1", Args: large}, nil, false)
	r.settled(&cell.Settled{ID: "1", Value: large, Err: &schemas.CallError{Message: strings.Repeat("é", 1<<20), Code: schemas.CallCode(strings.Repeat("x", 1<<20))}})
	exec(&schemas.Result{Status: schemas.StatusCompleted, Value: large})
	e, c, o, a := p.entries[0].Exec, p.entries[1].Call, p.entries[2].Outcome, p.entries[3].Result
	for name, kept := range map[string]struct {
		text      schemas.JSON
		limit     int
		truncated bool
	}{
		"input": {e.Input, maxInputKept, e.Truncated}, "args": {c.Args, maxArgsKept, c.Truncated},
		"value": {o.Value, maxValueKept, o.Truncated}, "result": {a.Result, maxResultKept, a.Truncated},
	} {
		var start string
		if err := json.Unmarshal(kept.text, &start); err != nil || !kept.truncated {
			t.Errorf("%s: %.40s…, truncated %v, %v", name, kept.text, kept.truncated, err)
		}
		if len(kept.text) > kept.limit || len(kept.text) < kept.limit/3 || strings.Contains(start, "\ufffd") {
			t.Errorf("%s has %d bytes, of at most %d: …%q", name, len(kept.text), kept.limit, start[len(start)-20:])
		}
	}
	if n := len(o.Err.Message) + len(o.Err.Code); n > 2*maxErrorKept || !utf8.ValidString(o.Err.Message) {
		t.Errorf("the error has %d bytes", n)
	}
}

// Every entry can be written, whatever comes from a guest or an executor.
func TestSpec_B4_EntriesAreAlwaysJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := schemas.JSON(rapid.OneOf(
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 60), func(b []byte) string { return string(b) }),
			rapid.Map(rapid.String(), func(s string) string { q, _ := json.Marshal(s); return string(q) }),
			rapid.SampledFrom([]string{``, `{"a":1}`, `"\ud800"`, "\"\xed\xa0\x80\"", `[`, `NaN`, "\"\xff\""}),
		).Draw(t, "text"))
		limit := rapid.IntRange(2, 80).Draw(t, "limit")
		kept, truncated := bounded(text, limit)
		switch {
		case len(text) == 0:
			if kept != nil || truncated {
				t.Fatalf("nothing became %q", kept)
			}
			return
		case !json.Valid(kept) || !utf8.Valid(kept):
			t.Fatalf("%q became %q", text, kept)
		case truncated && len(kept) > limit:
			t.Fatalf("%q became %d bytes, of at most %d", text, len(kept), limit)
		case !truncated && utf8.Valid(text) && !slices.Equal(kept, text):
			t.Fatalf("%q became %q", text, kept)
		}
	})
}

// Ids that a caller made up are in every entry: they are kept short.
func TestSpec_B4_LongIdsAreCut(t *testing.T) {
	var p pages
	long := strings.Repeat("é", 1<<19)
	r := newRecord(&Spec{}, &prepared{exec: &Exec{Msg: &schemas.Exec{CallID: long, Recovers: long}}, session: &p})
	r.answers(ignore)(completed)
	r.wait(long, ignore)(completed)
	e, a, w := p.entries[0].Exec, p.entries[1].Result, p.entries[2].Wait
	for _, id := range []string{e.CallID, e.Recovers, a.CallID, a.ParentID, w.CallID} {
		if len(id) != maxIDKept || !utf8.ValidString(id) {
			t.Errorf("an id of %d bytes", len(id))
		}
	}
}

// A program whose session can't be opened runs unrecorded, and the log says so; the session that was known stays.
func TestSpec_P6_UnrecordedProgramsAreTold(t *testing.T) {
	var p pages
	var log strings.Builder
	r := &run{spec: Spec{Token: "r1", Cells: cell.Deps{Logger: slog.New(slog.NewTextHandler(&log, nil))}}}
	r.remember(&prepared{session: &p})
	r.remember(&prepared{sessionErr: errors.New("no disk")})
	if r.session != &p || !strings.Contains(log.String(), "a program is not recorded") || !strings.Contains(log.String(), `run=r1 error="no disk"`) {
		t.Errorf("session %v, log %s", r.session, log.String())
	}
}
