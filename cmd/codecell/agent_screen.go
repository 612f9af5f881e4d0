package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/codecell/codecell/actors/agent"
	"github.com/codecell/codecell/schemas"
)

// screen shows a turn as it goes: what the model says on standard output, the rest on standard error.
type screen struct {
	a     *app
	quiet bool

	mu sync.Mutex
	// open: what the model said last hasn't ended its line. spoken: it has said something.
	open, spoken bool
}

// observe is told what happens. Whatever it shows was written by a model or a provider.
func (s *screen) observe(event agent.Event) {
	if s.a.json {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := event.(type) {
	case agent.Opened:
		s.tell(surfaceText(&e.Surface))
	case agent.Delta:
		s.say(e.Text)
	case agent.Retrying:
		s.breakLine()
		s.tell(styled(s.a.errColor, yellow, "again") + fmt.Sprintf(" in %v, retry %d: %s", e.Wait.Round(10*time.Millisecond), e.Attempt, oneLine(e.Why)))
	case agent.Calling:
		s.breakLine()
		s.tell("→ " + callText(&e))
	case agent.Called:
		text := "← " + oneLine(e.Name) + " in " + e.Duration.Round(time.Millisecond).String()
		if e.Failed {
			text += styled(s.a.errColor, red, " failed") + ": " + firstLine(printable(whyText(e.Text)), shownRunes)
		}
		s.tell(text)
	}
}

// whyText is why a call failed, of what the model was told of it.
func whyText(told string) string {
	told = schemas.Outside(told)
	var result schemas.Result
	if json.Unmarshal([]byte(told), &result) == nil && result.Status == schemas.StatusFailed && result.Error != "" {
		return result.Error
	}
	return told
}

// say shows a piece of what the model says. A terminal gets nothing that could steer it; whoever reads standard output
// otherwise gets it as it is.
func (s *screen) say(text string) {
	if text == "" {
		return
	}
	s.open, s.spoken = !strings.HasSuffix(text, "\n"), true
	if s.a.shows {
		text = printable(strings.ReplaceAll(text, "\r", ""))
	}
	fmt.Fprint(s.a.out, text)
}

// breakLine ends the model's line: what comes next is another message.
func (s *screen) breakLine() {
	if s.open {
		fmt.Fprintln(s.a.out)
		s.open = false
	}
}

// tell says what happens, for those who want to know.
func (s *screen) tell(text string) {
	if !s.quiet {
		s.note(text)
	}
}

// note says something on standard error, on a line of its own.
func (s *screen) note(text string) {
	if s.a.shows && s.a.live {
		s.breakLine()
	}
	fmt.Fprintln(s.a.err, text)
}

// alert says what somebody must know, while the turn goes on.
func (s *screen) alert(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(text)
}

// ask puts a question, at whose end somebody types.
func (s *screen) ask(text, question string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(text)
	fmt.Fprint(s.a.err, question)
}

// end shows how the turn has ended.
func (s *screen) end(r *agent.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.spoken {
		s.say(r.Text)
	}
	s.breakLine()
	e := &r.Entry
	if e.Error != "" {
		fmt.Fprintln(s.a.err, "codecell: "+printable(e.Error))
	}
	colour := red
	if e.Stop == schemas.StopAnswered {
		colour = green
	}
	counts := " · " + turnCounts(e)
	if r.Uncounted > 0 {
		counts += fmt.Sprintf(", and what %d answers took that the provider has not counted", r.Uncounted)
	}
	s.tell(styled(s.a.errColor, colour, e.Stop) + styled(s.a.errColor, dim, counts))
}

// surfaceText is what the model sees, in a line.
func surfaceText(f *schemas.Surface) string {
	text := fmt.Sprintf("%s: the model sees %d tool", modeText(f.Mode, f.Search), len(f.Tools))
	if len(f.Tools) != 1 {
		text += "s"
	}
	if f.Mode != schemas.ModeDirect {
		text += fmt.Sprintf(", and %d through them", f.CatalogSize)
	}
	return oneLine(text)
}

// callText is a call of a model at a glance.
func callText(e *agent.Calling) string {
	text := oneLine(e.Name)
	switch {
	case e.Title != "":
		text += fmt.Sprintf(" %q", firstLine(oneLine(e.Title), shownRunes))
	case e.Arguments != "" && e.Arguments != "{}":
		text += " " + firstLine(oneLine(e.Arguments), shownRunes)
	}
	return text
}
