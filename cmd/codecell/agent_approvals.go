package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/codecell/codecell/actors/approval"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const (
	// lookupTimeout bounds the look at one approval.
	lookupTimeout = 10 * time.Second
	// shownInput is how much of a call's input a question shows, in characters.
	shownInput = 2000
	// answerBytes bounds a typed answer.
	answerBytes = 4 << 10
)

// approver tells of the approvals of a turn, and has them decided if somebody sits at a terminal.
type approver struct {
	a   *app
	l   *link
	s   *screen
	who schemas.Identity
	// asks: somebody sits at a terminal.
	asks bool
	// facts are approvals that were opened or closed.
	facts chan any
	// lines are what is typed, from the first question on; nil before it, and where nobody can be asked.
	lines chan string
	// open are those that wait for a question, the first of which is being asked.
	open []*schemas.Approval
}

// askApprovals tells of the calls that wait for an approval: those of the turn, and of agents that it has started. At a
// terminal it asks, elsewhere it says how to decide. The returned function ends it.
func (a *app) askApprovals(ctx context.Context, l *link, s *screen, who schemas.Identity, asks bool) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	events, err := l.client().Watch(ctx, bus.Facts("approval", "opened"), bus.Facts("approval", "closed"))
	if err != nil {
		cancel()
		return nil, err
	}
	d := &approver{a: a, l: l, s: s, who: who, asks: asks, facts: make(chan any)}
	done := make(chan struct{}, 2)
	go func() {
		defer func() { done <- struct{}{} }()
		for e := range events {
			if e.Err != nil {
				continue
			}
			select {
			case d.facts <- e.Fact:
			case <-ctx.Done():
				return
			}
		}
	}()
	go func() {
		defer func() { done <- struct{}{} }()
		d.run(ctx)
	}()
	return func() {
		cancel()
		<-done
		<-done
	}, nil
}

// run takes one fact or one typed line at a time.
func (d *approver) run(ctx context.Context) {
	for {
		select {
		case fact := <-d.facts:
			switch f := fact.(type) {
			case *schemas.ApprovalOpened:
				d.opened(ctx, f)
			case *schemas.ApprovalClosed:
				d.closed(f)
			}
		case line, more := <-d.lines:
			if !more { // the terminal is gone
				d.lines, d.asks = nil, false
				for _, p := range d.open {
					d.announce(p)
				}
				d.open = nil
				continue
			}
			d.typed(ctx, line)
		case <-ctx.Done():
			return
		}
	}
}

// opened looks at an approval. Anybody may tell facts: what is shown, and decided, is what is on record.
func (d *approver) opened(ctx context.Context, f *schemas.ApprovalOpened) {
	if _, err := bus.ExecutorOf(f.Approval); err != nil || slices.ContainsFunc(d.open, func(p *schemas.Approval) bool { return p.ID == f.Approval }) {
		return
	}
	timed, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	p, err := d.l.client().Approval(timed, f.Approval)
	if err != nil || p.State != schemas.ApprovalPending || !d.own(&p.Identity) {
		return
	}
	if !d.asks {
		d.announce(p)
		return
	}
	if d.lines == nil {
		d.lines = make(chan string)
		go typedLines(ctx, d.a.in, d.lines)
	}
	d.open = append(d.open, p)
	if len(d.open) == 1 {
		d.question("")
	}
}

// own tells whether a call is one of this turn, or of an agent that it has started.
func (d *approver) own(who *schemas.Identity) bool {
	return who.Run == d.who.Run || who.Depth > 0 && strings.HasPrefix(who.SessionKey, d.who.SessionKey+"/")
}

// closed drops a question that somebody else has answered, or that nobody has in time.
func (d *approver) closed(f *schemas.ApprovalClosed) {
	at := slices.IndexFunc(d.open, func(p *schemas.Approval) bool { return p.ID == f.Approval })
	if at < 0 {
		return
	}
	tool := toolOf(d.open[at])
	d.open = slices.Delete(d.open, at, at+1)
	if at > 0 {
		return // it wasn't asked yet
	}
	d.s.alert(oneLine(fmt.Sprintf("%s: %s%s", tool, f.State, closing(f))))
	d.question("")
}

// announce says how to decide where nobody can be asked.
func (d *approver) announce(p *schemas.Approval) {
	f := &schemas.ApprovalOpened{Approval: p.ID, Owner: p.Owner, Tool: p.Tool}
	d.s.alert(d.a.howToDecide(d.l, f) + "\n" + inputText(p))
}

// question asks about the first one. before is said above it.
func (d *approver) question(before string) {
	if len(d.open) == 0 {
		return
	}
	p := d.open[0]
	text := before
	if text == "" {
		text = styled(d.a.errColor, yellow, toolOf(p)+" waits for an approval")
		if p.Reason != "" {
			text += " (" + firstLine(oneLine(p.Reason), shownRunes) + ")"
		}
		text += "\n" + inputText(p)
	}
	d.s.ask(text, "approve? [y/N/a = all calls of this tool in this run] ")
}

// typed takes an answer. What is typed while nothing is asked is no answer to anything.
func (d *approver) typed(ctx context.Context, line string) {
	if len(d.open) == 0 {
		return
	}
	p := d.open[0]
	decision := schemas.Decision{Approval: p.ID}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		decision.Approve = true
	case "a", "all":
		decision.Approve = true
		decision.Grant = &schemas.Grant{Scope: schemas.GrantRun, Calls: approval.MaxGrantCalls}
	case "", "n", "no":
	default:
		d.question("answer y, n or a")
		return
	}
	d.open = d.open[1:]
	if err := d.decide(ctx, &decision); err != nil && ctx.Err() == nil {
		d.s.alert("codecell: " + printable(message(err)))
	}
	d.question("")
}

func (d *approver) decide(ctx context.Context, decision *schemas.Decision) error {
	who, err := user.Current()
	if err != nil {
		return fmt.Errorf("the user of this process has no name, so nothing was decided: use codecell approvals approve --by (%w)", err)
	}
	decision.By = who.Username
	return d.l.client().Decide(ctx, *decision)
}

// inputText is a call's input, as far as it is shown.
func inputText(p *schemas.Approval) string {
	text := indented(p.Input)
	if runes := []rune(text); len(runes) > shownInput {
		text = string(runes[:shownInput]) + fmt.Sprintf("…\n(%d more characters: codecell approvals show %s)", len(runes)-shownInput, p.ID)
	}
	return "  " + strings.ReplaceAll(text, "\n", "\n  ")
}

// typedLines hands over what is typed, line by line, until there is no more, or ctx has ended and another line is typed:
// reading a terminal can't be stopped.
func typedLines(ctx context.Context, in io.Reader, lines chan<- string) {
	defer close(lines)
	scanner := bufio.NewScanner(in)
	scanner.Buffer(make([]byte, 0, answerBytes), answerBytes)
	for scanner.Scan() {
		select {
		case lines <- scanner.Text():
		case <-ctx.Done():
			return
		}
	}
}
