package host_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// lab is what the cases call: tools that record, fail, and take their time.
type lab struct {
	mu   sync.Mutex
	seen map[string][]string // the arguments of each tool's calls, in order
	done map[string]int      // calls that came to their end
	gate chan struct{}       // "held" answers when it is closed
}

func newLab() *lab {
	return &lab{seen: map[string][]string{}, done: map[string]int{}, gate: make(chan struct{})}
}

// tools are rec (records), fails, fast and slow (1 and 25 ms), held (answers when the gate opens), write (an effect).
func (l *lab) tools() []tool.Func {
	return []tool.Func{
		l.tool("rec", 0, nil), l.tool("write", 0, nil), l.tool("audit", 10*time.Millisecond, nil),
		l.tool("fast", time.Millisecond, nil), l.tool("slow", 25*time.Millisecond, nil),
		l.tool("fails", 0, errors.New("it broke")),
		tool.Raw(schemas.Tool{Name: "held", Description: "Answers when the gate opens."}, func(ctx context.Context, in schemas.JSON) (schemas.JSON, error) {
			l.note("held", in)
			select {
			case <-l.gate:
				l.end("held")
				return in, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}),
	}
}

func (l *lab) tool(name string, takes time.Duration, fail error) tool.Func {
	return tool.Raw(schemas.Tool{Name: name, Description: "Gives back what it gets."}, func(ctx context.Context, in schemas.JSON) (schemas.JSON, error) {
		l.note(name, in)
		if takes > 0 {
			select {
			case <-time.After(takes):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		l.end(name)
		return in, fail
	})
}

func (l *lab) note(name string, in schemas.JSON) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen[name] = append(l.seen[name], string(in))
}

func (l *lab) end(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done[name]++
}

func (l *lab) calls(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.seen[name])
}

func (l *lab) ended(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done[name]
}

// labNode is a node with the lab's tools, and a run on it.
func labNode(t *testing.T, c *schemas.Config) (*lab, *host.Node, *bus.Run) {
	t.Helper()
	l := newLab()
	n := node(t, c, l.tools()...)
	return l, n, open(t, n, "a")
}

func mustComplete(t *testing.T, r *schemas.Result, value string) {
	t.Helper()
	if r.Status != schemas.StatusCompleted || string(r.Value) != value {
		t.Errorf("got %s, want completed %s", told(r), value)
	}
}

func mustWait(t *testing.T, r *schemas.Result, reason string) {
	t.Helper()
	if r.Status != schemas.StatusWaiting || r.Reason != reason || r.RunID == "" {
		t.Fatalf("got %s, want waiting for %s", told(r), reason)
	}
}

// told is a result as a model would read it.
func told(r *schemas.Result) string {
	b, err := r.JSON()
	if err != nil {
		return err.Error()
	}
	text, _, _ := strings.Cut(string(b), `,"telemetry"`)
	return text
}

// texts are the emitted texts.
func texts(r *schemas.Result) string {
	var all []string
	for _, o := range r.Output {
		all = append(all, o.Text+string(o.Value))
	}
	return strings.Join(all, "|")
}

// held tells how many slots and cells a host still has taken, a moment after the last answer: a cell that has answered is
// still being taken off the list.
func held(t *testing.T, n *host.Node) (slots, cells int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; { // real: only a failing test waits so long
		s := n.Host().Status()
		if slots, cells = s.Slots.Held, len(s.Cells); slots+cells == 0 || time.Now().After(end) {
			return slots, cells
		}
		time.Sleep(10 * time.Millisecond) // real: the actors' own time
	}
}
