package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codecell/codecell/e2e/provider/script"
	"github.com/codecell/codecell/schemas"
)

// searchAgents is an agent for each mode of Tool Search.
var searchAgents = map[string]any{"entries": map[string]any{
	"tools":     map[string]any{"tools": map[string]any{"toolSearch": map[string]any{"mode": "tools"}}},
	"directory": map[string]any{"tools": map[string]any{"toolSearch": map[string]any{"mode": "directory"}}},
	"code":      map[string]any{"tools": map[string]any{"toolSearch": map[string]any{"mode": "code"}}},
}}

// TestReal_L6_L5_V4_DirectAndSearchReachTheSameTool: direct mode and all modes of Tool Search reach one plugin tool. Direct
// shows its schema, search only the controls, in fewer bytes. The session's log has the counts.
func TestReal_L6_L5_V4_DirectAndSearchReachTheSameTool(t *testing.T) {
	t.Parallel()
	fixture := newFixture(t)
	host := startHost(t, writeJSON(t, filepath.Join(t.TempDir(), "codecell.json5"), map[string]any{
		"mcpServers": servers{"fixture": fixture.server(t)}, "agents": searchAgents,
	}))
	tools := []schemas.Tool{}
	for n := range 80 {
		tools = append(tools, schemas.Tool{
			Name: fmt.Sprintf("report_%d", n), Description: fmt.Sprintf("Writes the monthly report %d of a department, with its tables and figures.", n),
		})
	}
	depot := servePlugin(t, host, "depot", append(tools, schemas.Tool{
		Name: "stock_level", Description: "Tells how many pieces of an article are in stock.",
	})...)
	const (
		question = "How many bolts are in stock?"
		answer   = "There are 1200."
		id       = "openclaw:depot:stock_level"
	)
	item := map[string]any{"item": "bolt"}
	controls := []string{"tool_search", "tool_describe", "tool_call"}
	hidden := script.Expect{Never: []string{"stock_level"}, Tools: controls}
	listed := script.Expect{Tools: controls, System: []string{`stock_level.*pieces of an article`}}
	first := map[string]int{}
	for _, c := range []struct {
		name  string
		flags []string
		steps []script.Step
		want  turnCounts
	}{
		{
			name: "direct", flags: []string{"--mode", "direct"},
			steps: []script.Step{
				calls("stock_level", item, script.Expect{Tool: map[string]string{"stock_level": "pieces of an article"}, Absent: append([]string{"exec", "wait"}, controls...)}),
				says(`There are {{last "pieces"}}.`, "1200"),
			},
			want: turnCounts{Mode: "direct", Requests: 2},
		},
		{
			name: "search, tools", flags: []string{"--mode", "search", "--agent", "tools"},
			steps: []script.Step{
				calls("tool_search", map[string]any{"query": "pieces of an article in stock"}, hidden),
				calls("tool_describe", map[string]any{"id": `{{last "hits.0.id"}}`}, script.Expect{Last: []string{`stock_level`}}),
				calls("tool_call", map[string]any{"id": `{{tool 0 "hits.0.id"}}`, "args": item}, script.Expect{Last: []string{`"item"`}}),
				says(`There are {{last "result.pieces"}}.`, `"tool"`, `"result"`),
			},
			want: turnCounts{Mode: "search", Search: "tools", Requests: 4},
		},
		{
			name: "search, directory", flags: []string{"--mode", "search", "--agent", "directory"},
			steps: []script.Step{
				calls("tool_call", map[string]any{"name": "stock_level", "item": "bolt"}, listed),
				says(`There are {{last "result.pieces"}}.`, `"result"`),
			},
			want: turnCounts{Mode: "search", Search: "directory", Requests: 2},
		},
		{
			name: "search, code", flags: []string{"--mode", "search", "--agent", "code", "--no-stream"},
			steps: []script.Step{
				calls("tool_search_code", map[string]any{"code": `
					const [hit] = await openclaw.tools.search("pieces of an article in stock");
					console.log((await openclaw.tools.describe(hit.id)).name);
					return await openclaw.tools.call(hit.id, { item: "bolt" })`},
					script.Expect{Never: []string{"stock_level"}, Tools: []string{"tool_search_code"}}),
				says(`There are {{last "value.pieces"}}.`, "stock_level"),
			},
			want: turnCounts{Mode: "search", Search: "code", Requests: 2},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, before := startModel(t, c.steps...), len(depot.ran())
			got, code := takeTurn(t, host, m, question, append(c.flags, "--session", "log "+c.name)...)
			answered(t, got, code, answer)
			if ran := depot.ran(); len(ran) != before+1 || ran[before] != `stock_level {"item":"bolt"}` {
				t.Errorf("%q ran", ran)
			}
			requests := m.requests(t)
			first[c.name] = requests[0].ToolBytes + requests[0].SystemBytes
			// L5: the session's log says the same as the turn, and both what the provider saw.
			logged := turnOf(t, host, "log "+c.name)
			if diff := cmp.Diff(got.Turn, logged); diff != "" {
				t.Errorf("(- the turn says, + the log)\n%s", diff)
			}
			bytes := 0
			for _, r := range requests {
				bytes += r.Bytes
			}
			if logged.Mode != c.want.Mode || logged.Search != c.want.Search || logged.Requests != c.want.Requests || logged.Requests != len(requests) ||
				logged.RequestBytes != bytes || logged.Tools != len(requests[0].Tools) || logged.ToolBytes != requests[0].ToolBytes ||
				logged.CatalogSize != 82 || logged.Sources.Openclaw != 81 || logged.Sources.MCP != 1 || logged.called() != id+" ×1" {
				t.Errorf("%+v", logged)
			}
			looked := strings.Contains(c.name, "tools") || strings.Contains(c.name, "code")
			if (logged.Totals.Searches == 1) != looked || (logged.Totals.Describes == 1) != looked || logged.Totals.Calls != 1 {
				t.Errorf("%+v", logged.Totals)
			}
		})
	}
	for name, bytes := range first {
		if name != "direct" && bytes*2 > first["direct"] {
			t.Errorf("%s shows %d bytes, direct %d", name, bytes, first["direct"])
		}
	}
}
