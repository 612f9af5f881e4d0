package cell

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/codecell/codecell/schemas"
)

// The probe is the cell's Port.
var _ Port = (*probe)(nil)

func (p *probe) Dispatch(c Call) *schemas.CallError {
	name := p.Tool(c.Ref)
	p.mu.Lock()
	p.sent = append(p.sent, name)
	p.args = append(p.args, string(c.Args))
	p.budgets = append(p.budgets, c.Budget)
	pid := p.pid
	p.mu.Unlock()
	a := &schemas.Answer{ID: c.ID, State: schemas.AnswerDone}
	var delay time.Duration
	switch name {
	case "echo":
		a.Value = c.Args
	case "web":
		a.Value, a.Untrusted = c.Args, true
	case "after":
		var in struct {
			Ms    int
			Value json.RawMessage
			Fail  string
		}
		if err := json.Unmarshal(c.Args, &in); err != nil {
			return &schemas.CallError{Code: schemas.CallInputContract, Message: err.Error()}
		}
		delay, a.Value = time.Duration(in.Ms)*time.Millisecond, schemas.JSON(in.Value)
		if in.Fail != "" {
			a.State, a.Err = schemas.AnswerFailed, &schemas.CallError{Code: schemas.CallToolError, Message: in.Fail}
		}
	case "boom":
		a.State = schemas.AnswerFailed
		a.Err = &schemas.CallError{Code: schemas.CallToolError, Message: "boom", Location: "tool", Effect: schemas.Unknown}
	case "broken":
		a.State = schemas.AnswerFailed
	case "never":
		return nil
	case "asks":
		return p.ask(c)
	case "panics":
		panic("the run panics")
	case "big":
		var in struct{ N int }
		if err := json.Unmarshal(c.Args, &in); err != nil {
			return &schemas.CallError{Code: schemas.CallInputContract, Message: err.Error()}
		}
		a.Value = schemas.JSON(strconv.Quote(strings.Repeat("b", in.N)))
	default:
		return &schemas.CallError{Code: schemas.CallInvalidInput, Message: "refused", Location: "policy", Effect: schemas.NotStarted}
	}
	answer := func() { p.sys.Root.Send(pid, &Answered{a}) }
	if delay == 0 {
		answer()
	} else {
		time.AfterFunc(delay, answer)
	}
	return nil
}

// ask is a call that a person decides about after Ms, and which then takes Runs to give its Value. A negative Ms: it is
// never decided.
func (p *probe) ask(c Call) *schemas.CallError {
	var in struct {
		Ms, Runs int
		Value    json.RawMessage
		Deny     string
	}
	if err := json.Unmarshal(c.Args, &in); err != nil {
		return &schemas.CallError{Code: schemas.CallInputContract, Message: err.Error()}
	}
	pid := p.pid
	tell := func(state schemas.AnswerState, value schemas.JSON, err *schemas.CallError) {
		p.sys.Root.Send(pid, &Answered{&schemas.Answer{ID: c.ID, State: state, Value: value, Err: err}})
	}
	tell(schemas.AnswerAwaiting, nil, nil)
	if in.Ms < 0 {
		return nil
	}
	time.AfterFunc(time.Duration(in.Ms)*time.Millisecond, func() {
		if in.Deny != "" {
			tell(schemas.AnswerFailed, nil, &schemas.CallError{
				Code: schemas.CallInvalidInput, Message: in.Deny, Location: "approval", Effect: schemas.NotStarted,
			})
			return
		}
		tell(schemas.AnswerAccepted, nil, nil)
		time.AfterFunc(time.Duration(in.Runs)*time.Millisecond, func() { tell(schemas.AnswerDone, schemas.JSON(in.Value), nil) })
	})
	return nil
}

func (p *probe) Cancel(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancelled = append(p.cancelled, id)
}

func (p *probe) Tool(ref int) string {
	if ref >= len(testTools) {
		return ""
	}
	return testTools[ref]
}

func (p *probe) Local(kind string, payload schemas.JSON, tainted bool) Local {
	p.mu.Lock()
	p.tainted = append(p.tainted, tainted)
	p.mu.Unlock()
	if strings.Contains(string(payload), "panic") {
		panic("a look-up panics")
	}
	if kind == "search" {
		return Local{Value: schemas.JSON(`[{"ref":0,"callableName":"echo","toolName":"echo","description":"d","source":"openclaw"}]`)}
	}
	if p.local != nil {
		return *p.local
	}
	return Local{Err: &schemas.CallError{Code: schemas.CallInvalidInput, Message: "no " + kind}}
}

func (p *probe) Sync(method string, payload []byte) ([]byte, bool) {
	return []byte(`{"ok":{"files":[]}}`), method == "api.list"
}

func (p *probe) Keep(value schemas.JSON, tainted bool) (schemas.JSON, error) {
	if p.keep == nil {
		return nil, errors.New("nothing is kept here")
	}
	return p.keep(value, tainted)
}

func (p *probe) Unsaved() bool { return p.commit != nil }

func (p *probe) Commit(tainted bool, done func(warning string)) { p.commit(tainted, done) }

func (p *probe) Awaits(ref int, args schemas.JSON) bool {
	return p.Tool(ref) == "after" && strings.Contains(string(args), `"awaitResults":true`)
}

func (p *probe) Settled(s Settled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settled = append(p.settled, s)
}

func (p *probe) DryRun() *schemas.DryRun { return p.dry }

func (p *probe) Telemetry() schemas.Telemetry { return p.telemetry }

func (p *probe) Fact(f any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.facts = append(p.facts, f)
}

func (p *probe) sentTools() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.sent...)
}

// Expectations.

func completed(t testing.TB, r *schemas.Result, value string) {
	t.Helper()
	if r.Status != schemas.StatusCompleted || string(r.Value) != value {
		t.Fatalf("got %s, want completed %s", show(r), value)
	}
}

func failed(t testing.TB, r *schemas.Result, code schemas.Code, text string) {
	t.Helper()
	if r.Status != schemas.StatusFailed || r.Code != code || !strings.Contains(r.Error, text) {
		t.Fatalf("got %s, want failed %s with %q", show(r), code, text)
	}
}

func waiting(t testing.TB, r *schemas.Result, reason string, pending ...string) {
	t.Helper()
	var got []string
	for _, p := range r.Pending {
		name := p.Kind
		if p.Tool != "" {
			name = p.Tool
		}
		got = append(got, name+" "+p.State)
	}
	if r.Status != schemas.StatusWaiting || r.Reason != reason || strings.Join(got, ", ") != strings.Join(pending, ", ") {
		t.Fatalf("got %s, want waiting %s for %v", show(r), reason, pending)
	}
}

func show(r *schemas.Result) string {
	return fmt.Sprintf("%s value=%.200s code=%s error=%.300q reason=%s pending=%+v output=%+v", r.Status, r.Value, r.Code, r.Error,
		r.Reason, r.Pending, r.Output)
}

func output(r *schemas.Result) string {
	var parts []string
	for _, o := range r.Output {
		if o.Type == "text" {
			parts = append(parts, o.Text)
		} else {
			parts = append(parts, string(o.Value))
		}
	}
	return strings.Join(parts, "|")
}
