package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/codecell/codecell/actors/cell"
	"github.com/codecell/codecell/schemas"
)

// Hooks ask about programs as a whole (X8). A function that is nil has nobody to ask.
type Hooks struct {
	// Before asks about a program that hasn't been started, and gives its input as it is then to be run. It fills in the
	// rest of the event, and returns when ctx ends.
	Before func(ctx context.Context, event *schemas.HookEvent, input schemas.ExecInput) (schemas.ExecInput, *schemas.Error)
	// After asks about the answer to an exec or a wait, the event's Value. Its error is why the answer is to be withheld.
	// It returns within a bounded time.
	After func(ctx context.Context, event *schemas.HookEvent) error
}

// askBefore lets hooks see a program that may be run. They have what is left of its budget (S5). What they make of it is
// checked like what was submitted.
func (p *prepared) askBefore(ctx context.Context, spec *Spec) {
	start, budget := p.exec.Start, p.admission.Limits.Timeout
	if start.IsZero() {
		start = time.Now()
	}
	asking, cancel := context.WithDeadline(ctx, start.Add(budget))
	defer cancel()
	event := programEvent(spec, schemas.Address{Host: spec.Host, Run: spec.Token}, p.exec.Msg.CallID, p.exec.Msg.TraceParent, p.input.Language)
	input, err := spec.Hooks.Before(asking, &event, p.input)
	if err != nil {
		if asking.Err() != nil && ctx.Err() == nil {
			err = &schemas.Error{Code: schemas.Timeout, Message: fmt.Sprintf("code mode timeout exceeded: "+
				"hooks had not let the program begin when its budget of %v was used up; it was not started", budget)}
		}
		p.err = err
		return
	}
	if input.Code != p.input.Code || input.Language != p.input.Language {
		if p.err = input.CheckLanguage(p.admission.Languages); p.err == nil {
			p.err = p.admission.reach(spec.Contract).checkProgram(input)
		}
	}
	p.input = input
}

// programEvent is what hooks are told of a program: no tool's event has its kinds (X8).
func programEvent(spec *Spec, address schemas.Address, callID, trace, language string) schemas.HookEvent {
	return schemas.HookEvent{
		Tool: schemas.ExecTool, ToolKind: schemas.ToolKindExec, ToolInputKind: cmp.Or(language, schemas.ToolInputJavaScript),
		Call: callID, Address: address, Identity: spec.Identity, TraceParent: trace,
	}
}

// waitEvent is what they are told of a wait. It has no program of its own.
func waitEvent(spec *Spec, m *schemas.Wait, parent string) schemas.HookEvent {
	event := programEvent(spec, schemas.Address{Host: spec.Host, Run: spec.Token, Cell: m.RunID}, m.CallID, "", "")
	event.Tool, event.ToolInputKind, event.ParentID = schemas.WaitTool, "", parent
	event.Input = schemas.JSON(fmt.Sprintf(`{"runId":%q}`, m.RunID)) // of letters, digits, "_" and "-", or no cell has it
	return event
}

// preparation is a program that is being read and has no cell yet.
type preparation struct {
	// unwanted: nobody waits for it any more.
	unwanted bool
	// stop ends what takes long about it: questions to hooks, or a transformation. It is nil if there can't be any.
	stop context.CancelFunc
}

// prepare notes that a program is being read. The context ends when nobody waits for it any more.
func (r *run) prepare(m *Exec) context.Context {
	var p preparation
	asking := context.Background()
	if r.spec.Hooks.Before != nil || r.spec.Contract == schemas.Contract202607 {
		asking, p.stop = context.WithCancel(asking)
	}
	r.preparing[m] = p
	return asking
}

// unwant tells a program that is being read that nobody waits for it any more, if there is one of this call.
func (r *run) unwant(callID string) bool {
	r.reviews.stop(callID)
	for exec, p := range r.preparing {
		if exec.Msg.CallID == callID {
			p.cancel()
			p.unwanted = true
			r.preparing[exec] = p
			return true
		}
	}
	return false
}

// cancel has the program come back soon.
func (p preparation) cancel() {
	if p.stop != nil {
		p.stop()
	}
}

// reviews are the answers of a run that hooks see before its caller does.
type reviews map[*review]struct{}

// review is one of them, from the moment that it was asked for.
type review struct {
	event schemas.HookEvent
	start time.Time
	calls *callLog
	ctx   context.Context // ends when nobody waits for the answer any more
	stop  context.CancelFunc
}

// reviewed tells the run that an answer was given. withheld: nobody can go on with its cell.
type reviewed struct {
	review   *review
	withheld bool
}

// review gives a reply that has hooks see an answer first, where there are any. It must be called, once.
func (r *run) review(ctx actor.Context, event schemas.HookEvent, start time.Time, calls *callLog, reply cell.Reply) cell.Reply {
	after := r.spec.Hooks.After
	if after == nil {
		return reply
	}
	v := &review{event: event, start: start, calls: calls}
	v.ctx, v.stop = context.WithCancel(context.Background())
	if r.reviews == nil {
		r.reviews = make(reviews)
	}
	r.reviews[v] = struct{}{}
	self, system := ctx.Self(), ctx.ActorSystem()
	return func(result *schemas.Result) {
		go func() {
			answer := v.judge(after, result)
			reply(answer)
			system.Root.Send(self, &reviewed{review: v, withheld: answer != result && result.Status == schemas.StatusWaiting})
		}()
	}
}

// reviewExec reviews the answer to an exec. The hooks see the input that was run.
func (r *run) reviewExec(ctx actor.Context, m *prepared, p *port) cell.Reply {
	if r.spec.Hooks.After == nil {
		return m.exec.Reply
	}
	event := programEvent(&r.spec, p.address, m.exec.Msg.CallID, m.exec.Msg.TraceParent, m.input.Language)
	event.Input = m.input.JSON()
	p.calls = new(callLog)
	return r.review(ctx, event, m.exec.Start, p.calls, m.exec.Reply)
}

// judge asks the hooks and gives the answer that may be given.
func (v *review) judge(after func(context.Context, *schemas.HookEvent) error, result *schemas.Result) *schemas.Result {
	text, err := result.JSON()
	if err != nil {
		return v.withhold(result, "it can't be shown to hooks")
	}
	v.event.Value, v.event.DurationUs = text, time.Since(v.start).Microseconds()
	verdict := make(chan error, 1)
	go func() { verdict <- after(context.Background(), &v.event) }()
	if result.Code == schemas.Aborted {
		// Who has cancelled doesn't wait for hooks; so nothing of the program's own is in the answer.
		bare := *result
		bare.Output = nil
		return &bare
	}
	select {
	case err := <-verdict:
		if err != nil {
			return v.withhold(result, err.Error())
		}
		return result
	case <-v.ctx.Done():
		return v.withhold(result, "the call was cancelled while hooks were asked about it")
	}
}

// withhold gives what is answered instead of a result.
func (v *review) withhold(result *schemas.Result, why string) *schemas.Result {
	r := &schemas.Result{Status: schemas.StatusFailed, Code: schemas.Aborted, Telemetry: result.Telemetry}
	r.Error = "the program's answer is withheld: " + why + ". It has run, and its calls may have taken effect: check before you run it again."
	if result.Status == schemas.StatusWaiting {
		r.Error = "the program's answer is withheld, and it was ended: " + why +
			". Its calls may have taken effect: check before you run it again."
	}
	if r.Telemetry.Calls == nil {
		r.Telemetry.Calls = v.calls.outcomes()
	}
	return r
}

// answerGiven forgets a review, and ends a cell whose runId nobody got.
func (r *run) answerGiven(ctx actor.Context, m *reviewed) {
	m.review.stop()
	delete(r.reviews, m.review)
	if c := r.cells[m.review.event.Address.Cell]; c != nil && m.withheld {
		ctx.Send(c.pid, &cell.Cancel{Reason: "a hook withholds what it answered"})
	}
	r.settle(ctx)
}

// stop ends the reviews of one call.
func (r reviews) stop(callID string) {
	for v := range r {
		if v.event.Call == callID {
			v.stop()
		}
	}
}

// maxLogged bounds a [callLog], as cells bound what a failed result lists.
const maxLogged = 256

// callLog is what became of a cell's calls, for an answer that is withheld (E5). A nil log keeps nothing.
type callLog struct {
	mu    sync.Mutex
	calls []schemas.CallOutcome
}

func (l *callLog) sent(id, tool string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.calls) == maxLogged {
		l.calls = slices.Delete(l.calls, 0, 1)
	}
	l.calls = append(l.calls, schemas.CallOutcome{ID: id, Tool: tool, Outcome: schemas.Started})
}

func (l *callLog) settled(id string, outcome schemas.Outcome) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.calls) - 1; i >= 0; i-- {
		if l.calls[i].ID == id {
			l.calls[i].Outcome = outcome
			return
		}
	}
}

func (l *callLog) outcomes() []schemas.CallOutcome {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.calls)
}
