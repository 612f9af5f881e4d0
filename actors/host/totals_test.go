package host_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// A run that is closed says how much was searched, described and called, which tools ran, and where they come from.
func TestSpec_L5_AClosedRunTellsItsTotals(t *testing.T) {
	s := serveTools(t, `[{"name":"stat","inputSchema":{"type":"object"}}]`)
	n := node(t, config(t, `{tools: {direct: ["boom"], restricted: {deny: ["echo"]}}, mcpServers: {far: {url: "`+s.URL+`"}}}`))
	id := someone("totals")
	run := openIn(t, n.Client(), "", schemas.Open{Identity: id})
	bringing(t, run, says("mine", "", nil))
	mustGive(t, exec(t, run, `
		const [found] = await catalog.search("echo"); await found.describe(); await catalog.search("stat");
		await Promise.all([found({n: 1}), echo({n: 2}), MCP.far.stat({}), mine({})]);
		await echo({wrong: true}).catch(() => 0);
		return 1`), `1`)
	if _, err := callDirect(t, run, "boom", `{}`); err != nil {
		t.Fatal(err)
	}
	mustGive(t, exec(t, run, `await mine({}); return 2`), `2`)
	totals, err := run.Finish(t.Context(), "done")
	if err != nil {
		t.Fatal(err)
	}
	want := &schemas.RunTotals{Searches: 2, Describes: 1, Calls: 7, Called: []schemas.CalledTool{
		{ID: "client:caller:mine", Source: schemas.SourceClient, Count: 2},
		{ID: "mcp:far:stat", Source: schemas.SourceMCP, Count: 1},
		{ID: "openclaw:lab:boom", Source: schemas.SourceNative, Count: 1},
		{ID: "openclaw:lab:echo", Source: schemas.SourceNative, Count: 3},
	}}
	if d := cmp.Diff(want, totals); d != "" {
		t.Error(d)
	}

	// A blocked call counts as one, in each way of calling; a run that did nothing has nothing to tell.
	id.Restricted = true
	for _, c := range []struct {
		mode schemas.Mode
		call func(*bus.Run)
	}{
		{schemas.ModeDirect, func(run *bus.Run) { _, _ = callDirect(t, run, "echo", `{"n":1}`) }},
		{schemas.ModeCode, func(run *bus.Run) { exec(t, run, `await echo({n: 1})`) }},
	} {
		run := openIn(t, n.Client(), "", schemas.Open{Identity: id, Mode: c.mode})
		c.call(run)
		totals, err := run.Finish(t.Context(), "done")
		if err != nil || totals == nil || totals.Calls != 1 || len(totals.Called) != 1 || totals.Called[0].ID != "openclaw:lab:echo" {
			t.Errorf("%s: totals = %+v, %v", c.mode, totals, err)
		}
	}
	idle := openIn(t, n.Client(), "idle", schemas.Open{})
	if totals, err := idle.Finish(t.Context(), "done"); err != nil || cmp.Diff(&schemas.RunTotals{}, totals) != "" {
		t.Errorf("totals of an idle run = %+v, %v", totals, err)
	}
}
