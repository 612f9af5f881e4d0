package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/openai/openai-go/v3"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const (
	// defaultRequests bounds a turn whose limits say nothing of it.
	defaultRequests = 40
	// lateFor is the time that a turn has to end what it has started once its context has ended, or its run is lost, and
	// restFor what it has otherwise. Two thirds of it are for the run, the rest for the transcript.
	lateFor = 4500 * time.Millisecond
	restFor = 15 * time.Second
	// maxConversation bounds what a turn adds to its conversation, in bytes: that is in memory, and in each request. No model
	// reads as much.
	maxConversation = 64 << 20
)

// limitError ends a turn because one of its bounds was reached.
type limitError string

func (e limitError) Error() string { return string(e) }

// errTimeout is the cause of a turn's end by its own time.
var errTimeout = errors.New("the turn's time is over")

// Run takes the turn: it asks the model, calls the tools that it asks for, and returns when the model has answered, a
// bound was reached, ctx has ended, or something failed that nobody can go on from. Report.Entry says which. Its error is
// for a turn that didn't start, so that there is no report: a provider that isn't one, no host on the bus, a run that can't
// be had, a history that can't be read. Nothing was said or run then.
//
// When ctx ends, so does what the turn has started, and Run returns within 5 s, even if the host is gone.
func (t *Turn) Run(ctx context.Context, prompt string) (*Report, error) {
	if err := t.Provider.check(); err != nil {
		return nil, err
	}
	if prompt = strings.ToValidUTF8(prompt, "\uFFFD"); strings.TrimSpace(prompt) == "" {
		return nil, schemas.Refuse("prompt", "prompt is empty: say what the model is to do")
	}
	start := time.Now()
	if t.Limits.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t.Limits.Timeout, errTimeout)
		defer cancel()
	}
	var history []schemas.MessageEntry
	if t.Transcript != nil {
		var err error
		if history, err = t.Transcript.History(ctx); err != nil {
			return nil, fmt.Errorf("read what was said before: %w", err)
		}
	}
	run, err := t.Client.Open(ctx, schemas.Open{
		Identity: t.Identity, Mode: cmp.Or(t.Mode, schemas.ModeAuto), Model: t.Provider.Ref(), Raw: t.Raw, Bind: t.Bind,
		LeaseMs: leaseFor.Milliseconds(),
	})
	if err != nil {
		return nil, err
	}
	r := &running{Turn: t, run: run, start: start, log: t.Logger, prompt: prompt}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	defer r.close()
	defer r.hold()()
	r.begin(history)
	return r.end(ctx, r.loop(ctx)), nil
}

// running is a turn that runs.
type running struct {
	*Turn
	run   *bus.Run
	asker *asker
	log   *slog.Logger
	start time.Time

	// prompt is what the turn answers to; messages are the conversation as the model is sent it, with what it has said so far.
	prompt   string
	messages []openai.ChatCompletionMessageParamUnion
	report   Report
	// imagesAt are the places of messages that show images; blind is a model that can't be shown any.
	imagesAt []int
	blind    bool
	ids      callIDs
	repeats  repeats
	// spare counts what answers without counts are taken to have cost, in tokens, so that they are bounded too.
	spare int64
	// weight is the size of what the turn has added to the conversation, in bytes, and imageWeight that of its images.
	weight, imageWeight int

	// observing holds events back while one is heard.
	observing sync.Mutex
	// lost: the run's host is gone, and the bus may be.
	lost bool
	// late is the time after the turn's end, once it is needed.
	late     context.Context
	lateStop context.CancelFunc
}

// begin shows the model's surface to those who look on, and puts the first request together.
func (r *running) begin(history []schemas.MessageEntry) {
	s := &r.run.Surface
	r.asker = newAsker(r)
	past, left := remembered(history, r.ContextTokens, &r.ids)
	r.messages = append(r.messages, openai.SystemMessage(systemText(r.Instructions, s.Prompt, left)))
	r.messages = append(append(r.messages, past...), openai.UserMessage(r.prompt))
	r.report.Entry = schemas.TurnEntry{
		Run: r.Identity.Run, Host: r.run.Host, Token: r.run.ID, Model: r.Provider.Ref(), Mode: s.Mode, Search: s.Search,
		Tools: len(s.Tools), ToolBytes: r.asker.toolBytes, PromptBytes: len(s.Prompt), CatalogSize: s.CatalogSize, Sources: s.Sources,
	}
	r.observe(Opened{Host: r.run.Host, Run: r.run.ID, Surface: *s})
	r.fact(&schemas.TurnStarted{
		At: r.start.UnixNano(), Host: r.run.Host, Run: r.run.ID, Identity: r.Identity, Model: r.Provider.Ref(),
		Mode: s.Mode, Search: s.Search, Tools: len(s.Tools), PromptBytes: len(s.Prompt), CatalogSize: s.CatalogSize,
	})
	r.traceSurface(len(past), left)
}

// loop goes on until the model has answered, which is nil, or can't.
func (r *running) loop(ctx context.Context) error {
	if err := r.say(ctx, schemas.RoleUser, schemas.Said{Text: r.prompt}); err != nil {
		return err
	}
	for n := 1; ; n++ {
		if err := r.allowed(n); err != nil {
			return err
		}
		a, err := r.asker.ask(ctx, n, r.messages)
		if err != nil {
			r.keep(ctx, a)
			return err
		}
		r.count(n, a)
		if a.text != "" {
			r.report.Text = a.text
		}
		if len(a.calls) == 0 || a.finish == finishFiltered {
			return r.answered(ctx, a)
		}
		if err := r.call(ctx, a); err != nil {
			return err
		}
	}
}

// allowed tells whether the model may be asked for the n-th time.
func (r *running) allowed(n int) error {
	l, e := &r.Limits, &r.report.Entry
	switch most := cmp.Or(l.Requests, defaultRequests); {
	case r.weight+r.imageWeight > maxConversation:
		return limitError(fmt.Sprintf("what was said and told in the turn takes more than %d MiB, and the model has not finished", maxConversation>>20))
	case n > most:
		return limitError(fmt.Sprintf("the model was asked %d times, which is the turn's bound (turns.maxRequests), and has not finished", most))
	case l.Tokens > 0 && e.Usage.InputTokens+e.Usage.OutputTokens+r.spare >= l.Tokens:
		return limitError(fmt.Sprintf("the turn has used its %d tokens (turns.maxTokens), and the model has not finished", l.Tokens))
	case l.CostUSD > 0 && e.CostUSD >= l.CostUSD:
		return limitError(fmt.Sprintf("the turn has cost $%.4f, which is its bound of $%.4f (turns.maxCostUsd), and the model has not finished", e.CostUSD, l.CostUSD))
	}
	return nil
}

// count adds up what an answer has cost.
func (r *running) count(n int, a *answer) {
	e := &r.report.Entry
	if a.counted {
		e.Usage.Add(a.usage)
	} else {
		r.report.Uncounted++
		r.spare += int64(a.sent+a.size()) / bytesPerToken
	}
	e.CostUSD = r.Price.Cost(e.Usage)
	r.observe(Asked{Requests: n, Usage: e.Usage, CostUSD: e.CostUSD})
}

// answered ends the turn with an answer that calls nothing.
func (r *running) answered(ctx context.Context, a *answer) error {
	if a.text != "" {
		if err := r.say(ctx, schemas.RoleAssistant, schemas.Said{Text: a.text, Truncated: a.finish == finishLength}); err != nil {
			return err
		}
	}
	switch a.finish {
	case finishLength:
		return limitError("the answer was cut off: it reached the longest that the model gives, or its context window is full; what came of it is kept")
	case finishFiltered:
		return errors.New("the provider's content filter stopped the answer; what came of it is kept, and none of its calls was made")
	}
	return nil
}

// keep says what had come of an answer when somebody stopped the turn, since they have seen it.
func (r *running) keep(ctx context.Context, a *answer) {
	if ctx.Err() == nil || a == nil || a.text == "" {
		return
	}
	r.report.Text = a.text
	if err := r.say(ctx, schemas.RoleAssistant, schemas.Said{Text: a.text, Truncated: true}); err != nil {
		r.log.Warn("what a model had said when it was stopped isn't kept", "error", err)
	}
}

// end closes the run and says what the turn has come to. err is why it may not go on, nil if the model has answered.
func (r *running) end(ctx context.Context, err error) *Report {
	e := &r.report.Entry
	e.Stop, e.Error = r.stop(ctx, err)
	late := r.lateContext(ctx)
	reason := "the turn ended: " + e.Stop
	deadline, _ := late.Deadline()
	closing, cancel := context.WithTimeout(late, time.Until(deadline)*2/3)
	defer cancel()
	if totals, err := r.run.Finish(closing, reason); err != nil {
		r.log.Warn("the run of a turn can't be closed; what it came to isn't counted", "run", r.run.ID, "error", err)
	} else if totals != nil {
		e.Totals = *totals
	}
	e.DurationMs = time.Since(r.start).Milliseconds()
	if r.Transcript != nil {
		if err := r.Transcript.Turn(late, *e); err != nil {
			r.log.Warn("what a turn came to isn't kept in its session", "error", err)
		}
	}
	r.fact(&schemas.TurnEnded{
		At: time.Now().UnixNano(), Host: e.Host, Run: e.Token, Stop: e.Stop, Requests: e.Requests, Totals: e.Totals, Usage: e.Usage,
		CostUSD: e.CostUSD, DurationUs: time.Since(r.start).Microseconds(),
	})
	r.traceEnd()
	return &r.report
}

// stop names why the turn ended.
func (r *running) stop(ctx context.Context, err error) (stop, why string) {
	if err == nil {
		return schemas.StopAnswered, ""
	}
	cause := context.Cause(ctx)
	if _, limit := errors.AsType[limitError](err); limit {
		return schemas.StopLimit, err.Error()
	}
	switch {
	case errors.Is(cause, errTimeout):
		return schemas.StopLimit, fmt.Sprintf("the turn took longer than its %s (turns.timeoutSeconds), and was stopped", r.Limits.Timeout)
	case errors.Is(cause, context.DeadlineExceeded):
		return schemas.StopLimit, "the turn took longer than its caller waits, and was stopped"
	case cause != nil:
		return schemas.StopCancelled, "the turn was stopped: " + cause.Error()
	}
	return schemas.StopFailed, r.Provider.mask(err.Error())
}

// say adds to the transcript. What is said after the turn's end has a moment of its own.
func (r *running) say(ctx context.Context, role string, said schemas.Said) error {
	if r.Transcript == nil {
		return nil
	}
	if ctx.Err() != nil || r.lost {
		ctx = r.lateContext(ctx)
	}
	if err := r.Transcript.Say(ctx, schemas.NewMessage(role, said)); err != nil {
		return fmt.Errorf("the session doesn't take what was said, and a turn that isn't on record doesn't go on: %w", err)
	}
	return nil
}

// lateContext is the time for what must still be done when the turn is over. There is one for all of it.
func (r *running) lateContext(ctx context.Context) context.Context {
	if r.late == nil {
		rest := restFor
		if ctx.Err() != nil || r.lost {
			rest = lateFor
		}
		r.late, r.lateStop = context.WithTimeout(context.WithoutCancel(ctx), rest)
	}
	return r.late
}

func (r *running) close() {
	if r.lateStop != nil {
		r.lateStop()
	}
}

func (r *running) observe(e Event) {
	if r.Observe == nil {
		return
	}
	r.observing.Lock()
	defer r.observing.Unlock()
	r.Observe(e)
}

func (r *running) fact(fact any) {
	if r.Fact != nil {
		r.Fact(fact)
	}
}
