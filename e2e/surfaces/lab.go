package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/codecell/codecell/actors/agent"
	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/e2e/provider/brain"
	"github.com/codecell/codecell/e2e/provider/chat"
	"github.com/codecell/codecell/schemas"
)

// surface is one way to show a catalog to a model.
type surface struct {
	name  string
	mode  schemas.Mode
	agent string // whose configuration it is
	model string
}

// surfaces are all that are measured, in the table's order.
var surfaces = []surface{
	{"direct", schemas.ModeDirect, "plain", "careful"},
	{"search, tools", schemas.ModeSearch, schemas.ToolSearchTools, "careful"},
	{"search, directory", schemas.ModeSearch, schemas.ToolSearchDirectory, "careful"},
	{"search, code", schemas.ModeSearch, schemas.ToolSearchCode, "careful"},
	{"search, code, bold", schemas.ModeSearch, schemas.ToolSearchCode, brain.Bold},
	{"code", schemas.ModeCode, "plain", "careful"},
	{"code, bold", schemas.ModeCode, "plain", brain.Bold},
}

// config makes an agent for each mode of Tool Search.
const config = `{ agents: { entries: {
	plain: {},
	tools: { tools: { toolSearch: { mode: "tools" } } },
	directory: { tools: { toolSearch: { mode: "directory" } } },
	code: { tools: { toolSearch: { mode: "code" } } },
} } }`

// lab is a host whose tools are those of a collection, and a model that is asked for them.
type lab struct {
	node     *host.Node
	provider *provider
	answers  *answers
	cases    []brain.Case
	golds    []string
	times    int
	shut     func()
}

// equip makes a lab. The tools are those of MCP servers, or of plugins, and each task's is to be called so often.
func equip(ctx context.Context, c *collection, binary string, mcp bool, times int) (_ *lab, err error) {
	l := &lab{answers: &answers{}, times: times, shut: func() {}}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	settings, err := schemas.ParseConfig([]byte(config), "surfaces")
	if err != nil {
		return nil, err
	}
	var plugins []tool.Provider
	if mcp {
		settings.MCPServers, l.shut, err = l.answers.servers(ctx, c)
	} else {
		plugins, err = l.answers.plugins(c)
	}
	if err != nil {
		return nil, err
	}
	if l.cases, err = c.cases(mcp, times); err != nil {
		return nil, err
	}
	for _, q := range c.queries {
		l.golds = append(l.golds, q.Gold[0])
	}
	if l.provider, err = startProvider(ctx, binary, l.cases); err != nil {
		return nil, err
	}
	l.node, err = host.Up(ctx, host.NodeOptions{Config: settings, Providers: plugins, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	if err = l.node.Ready(ctx); err != nil {
		return nil, err
	}
	if problems := l.node.Problems(); len(problems) > 0 {
		return nil, fmt.Errorf("tools aren't served: %q", problems)
	}
	return l, l.whole(ctx, len(c.entries))
}

// whole waits until a run has all tools: those of a server may follow it.
func (l *lab) whole(ctx context.Context, want int) error {
	for {
		run, err := l.node.Client().Open(ctx, schemas.Open{Identity: identity("plain", "look"), Mode: schemas.ModeDirect, Model: "e2e/careful"})
		if err != nil {
			return err
		}
		size := run.Surface.CatalogSize
		if err := run.Close(ctx, "seen"); err != nil || size == want {
			return err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("the catalog has %d tools, want %d: %w", size, want, ctx.Err())
		}
	}
}

func identity(agent, run string) schemas.Identity {
	return schemas.Identity{Agent: agent, SessionID: run, SessionKey: run, Run: run}
}

// turn takes one turn and gives what it came to.
func (l *lab) turn(ctx context.Context, s surface, n int) (*trial, error) {
	t := agent.Turn{
		Client:   bus.NewClient(l.node.Conn()),
		Provider: agent.Provider{Name: "e2e", Model: s.model, URL: l.provider.url, Silence: time.Minute},
		Identity: identity(s.agent, fmt.Sprintf("%s-%s-%s-%d", s.mode, s.agent, s.model, n)), Mode: s.mode,
		Logger: slog.New(slog.DiscardHandler),
	}
	report, err := t.Run(ctx, l.cases[n].Prompt)
	if err != nil {
		return nil, err
	}
	records, err := l.provider.take(ctx)
	if err != nil {
		return nil, err
	}
	called := l.answers.take()
	if report.Entry.Stop != schemas.StopAnswered {
		return nil, fmt.Errorf("the turn ended as %s: %s", report.Entry.Stop, report.Entry.Error)
	}
	if report.Entry.Mode != s.mode || s.mode == schemas.ModeSearch && report.Entry.Search != s.agent {
		return nil, fmt.Errorf("the surface was %s %s", report.Entry.Mode, report.Entry.Search)
	}
	trial, err := newTrial(s, &report.Entry, records, called)
	if err == nil {
		wrong := slices.DeleteFunc(slices.Clone(called), func(id string) bool { return id == l.golds[n] })
		trial.Tool, trial.Solved = l.golds[n], len(called)-len(wrong) >= l.times
	}
	return trial, err
}

func (l *lab) close() (err error) {
	if l.node != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err = l.node.Close(ctx)
	}
	if l.provider != nil {
		err = errors.Join(err, l.provider.close())
	}
	l.shut()
	return err
}

// trial is what a turn came to.
type trial struct {
	// Requests are those of the provider's log, Bytes their bodies, Shown the tools and instructions of the first, Said what
	// the model wrote.
	Requests, Bytes, Shown, Said int
	Searches, Describes, Calls   int
	// Tool is the one that was meant, and Solved that it was called as often as it was to be.
	Tool   string
	Solved bool
}

// newTrial holds what the turn says of itself to what the provider and the tools saw. Calls that were refused are counted
// by the turn, and seen by no tool.
func newTrial(s surface, entry *schemas.TurnEntry, records []chat.Record, called []string) (*trial, error) {
	t := &trial{Searches: entry.Totals.Searches, Describes: entry.Totals.Describes, Calls: entry.Totals.Calls}
	for _, r := range records {
		if r.Ended {
			t.Said += r.Said
			continue
		}
		if t.Requests == 0 {
			t.Shown = r.ToolBytes + r.SystemBytes
		}
		t.Requests++
		t.Bytes += r.Bytes
	}
	if entry.Requests != t.Requests || entry.RequestBytes != int64(t.Bytes) || entry.Totals.Calls < len(called) {
		return nil, fmt.Errorf("%s: the turn counts %d requests of %d bytes and %d calls; there were %d of %d, and %q",
			s.name, entry.Requests, entry.RequestBytes, entry.Totals.Calls, t.Requests, t.Bytes, called)
	}
	return t, nil
}
