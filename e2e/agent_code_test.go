package e2e

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codecell/codecell/actors/agent"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/e2e/provider/script"
	"github.com/codecell/codecell/schemas"
)

// workshop is a host in Code Mode with core tools, a plugin, two MCP servers and a direct-only tool.
type workshop struct {
	host    hostProcess
	plugin  *plugin
	fixture fixture
}

// newWorkshop starts it. settings are those of tools.codeMode.
func newWorkshop(t *testing.T, settings map[string]any) workshop {
	t.Helper()
	w := workshop{fixture: newFixture(t)}
	root := t.TempDir()
	writeFile(t, filepath.Join(root, "note.txt"), "bolts: 1200")
	w.host = startHost(t, writeJSON(t, filepath.Join(t.TempDir(), "codecell.json5"), map[string]any{
		"mcpServers": servers{"fixture": w.fixture.server(t), "everything": stdio(t, everythingServer)},
		"workspace":  map[string]any{"root": root},
		"tools":      map[string]any{"codeMode": with(map[string]any{"enabled": true}, settings), "direct": []string{"everything.get-tiny-image"}, "deny": []string{"secret"}},
		"agents":     searchAgents,
	}))
	w.plugin = servePlugin(t, w.host, "depot",
		schemas.Tool{Name: "secret", Description: "Tells the secret of the depot."},
		schemas.Tool{Name: "safe_name"}, schemas.Tool{Name: "with-dash"}, schemas.Tool{Name: "with_dash"}, schemas.Tool{Name: "with.dash"},
		schemas.Tool{Name: "class"}, schemas.Tool{Name: "catalog"}, schemas.Tool{Name: "9lives"},
		schemas.Tool{Name: "stock_level", Description: "Tells how many pieces of an article are in stock."},
	)
	awaitTools(t, w.plugin.conn, "record", "get-tiny-image")
	return w
}

// idle fails the test if the host has a cell or a slot in use that doesn't go.
func (w workshop) idle(t *testing.T) {
	t.Helper()
	var last string
	if !eventually(patience, func() bool {
		last = do(t, codecell(t, "slots", "--json", "--bus", w.host.url), "").stdout
		status := decode[struct {
			Hosts []struct {
				Slots struct{ Held int }
				Cells []json.RawMessage
			}
		}](t, last)
		return len(status.Hosts) == 1 && status.Hosts[0].Slots.Held == 0 && len(status.Hosts[0].Cells) == 0
	}) {
		t.Errorf("the host isn't idle: %s", last)
	}
}

// TestReal_V4_A1_Off: a turn with a few direct tools shows them unchanged.
func TestReal_V4_A1_Off(t *testing.T) {
	t.Parallel()
	host := startHost(t, writeJSON(t, filepath.Join(t.TempDir(), "codecell.json5"), map[string]any{"tools": map[string]any{"codeMode": false}}))
	declared := map[string]string{
		"stock_level": `{"type":"object","required":["item"],"properties":{"item":{"type":"string","maxLength":12345678901234567890,"x-unknown":1.0}},"$defs":{"a":{}}}`,
		"order":       `{"type":"object","additionalProperties":false,"properties":{"z":{"type":"integer"},"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`,
	}
	var tools []schemas.Tool
	for _, name := range []string{"order", "stock_level"} {
		tools = append(tools, schemas.Tool{Name: name, Description: "Does " + name + " <as> it's said.", Parameters: schemas.JSON(declared[name])})
	}
	depot := servePlugin(t, host, "depot", tools...)
	for _, stream := range []string{"--no-stream=false", "--no-stream"} {
		m := startModel(t,
			calls("order", map[string]any{"z": 7}, script.Expect{Tools: []string{"order", "stock_level"}, Tool: map[string]string{"order": "^Does order <as> it's said.$"}}),
			says(`{{last "tool"}}`))
		got, code := takeTurn(t, host, m, "Order seven", stream)
		answered(t, got, code, "order")
		var body struct {
			Tools []struct {
				Function struct {
					Name       string
					Parameters json.RawMessage
				}
			}
		}
		if err := json.Unmarshal(m.requests(t)[0].Body, &body); err != nil {
			t.Fatal(err)
		}
		for _, shown := range body.Tools {
			if string(shown.Function.Parameters) != declared[shown.Function.Name] {
				t.Errorf("%s is shown as %s", shown.Function.Name, shown.Function.Parameters)
			}
		}
	}
	if ran := depot.ran(); !slices.Equal(ran, []string{`order {"z":7}`, `order {"z":7}`}) {
		t.Errorf("%q ran", ran)
	}
}

// TestReal_V4_A2_On: a turn with native, plugin, MCP and client tools shows exec, wait and the direct-only ones alone, and a
// program calls each kind.
func TestReal_V4_A2_On(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	m := startModel(t,
		calls("exec", programOf(`return [(await read({ path: "note.txt" })).content, (await stock_level({ item: "bolt" })).pieces,
			(await MCP.fixture.record({ n: 7 })).content[0].text, await ask_user({ question: "sure?" }), typeof MCP.everything.getTinyImage]`),
			script.Expect{Tools: []string{"exec", "wait", "get-tiny-image"}, Never: []string{"ask_user", "get-sum", "secret"}}),
		calls("get-tiny-image", map[string]any{}, script.Expect{Last: []string{`\["bolts: 1200",1200,"7",\{"said":"yes"\},"undefined"\]`}}),
		says("Done.", "image"))
	client := bus.NewClient(dial(t, w.host))
	identity := identityOf("client")
	open := schemas.Open{Identity: identity, Mode: schemas.ModeAuto, Model: "e2e/scripted"}
	run, err := client.Open(t.Context(), open)
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	brought, err := run.Bring(t.Context(), []schemas.Tool{{Name: "ask_user", Description: "Asks the user", Parameters: schemas.JSON(`{"type":"object"}`)}},
		func(_ context.Context, call *schemas.Call) (schemas.JSON, error) {
			asked = append(asked, string(call.Args))
			return schemas.JSON(`{"said":"yes"}`), nil
		})
	if err != nil {
		t.Fatal(err)
	}
	defer brought.Close(t.Context())
	turn := agent.Turn{
		Client: client, Identity: identity, Mode: open.Mode, Logger: slog.New(slog.DiscardHandler),
		Provider: agent.Provider{Name: "e2e", Model: "scripted", URL: m.url, Silence: patience},
	}
	report, err := turn.Run(t.Context(), "Use all kinds")
	if err != nil {
		t.Fatal(err)
	}
	e := report.Entry
	if report.Text != "Done." || e.Mode != schemas.ModeCode || e.Sources.Client != 1 || e.Sources.MCP < 10 || e.Sources.Native < 10 || e.Totals.Calls != 5 {
		t.Errorf("%q %+v", report.Text, e)
	}
	if want := []string{`{"question":"sure?"}`}; !slices.Equal(asked, want) || len(w.fixture.calls()) != 1 || len(w.plugin.ran()) != 1 {
		t.Errorf("the client was asked %q", asked)
	}
	w.idle(t)
}

// indexed finds names in the quick index.
var indexed = regexp.MustCompile(`(?m)^([\w$]+)\(.*\) -> \S`)

// TestReal_V4_C4_Names: a program calls safe, normalised, reserved and colliding names as the index says.
func TestReal_V4_C4_Names(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	look := startModel(t, says("I see."))
	got, code := takeTurn(t, w.host, look, "Look")
	answered(t, got, code, "I see.")
	description := ""
	var body struct {
		Tools []struct {
			Function struct{ Name, Description string }
		}
	}
	if err := json.Unmarshal(look.requests(t)[0].Body, &body); err != nil {
		t.Fatal(err)
	}
	for _, shown := range body.Tools {
		if shown.Function.Name == "exec" {
			description = shown.Function.Description
		}
	}
	var names []string
	for _, row := range indexed.FindAllStringSubmatch(description, -1) {
		names = append(names, row[1])
	}
	program := "const all = {};\n"
	for _, name := range names {
		if !slices.Contains([]string{"read", "ls", "find", "grep"}, name) {
			program += "all." + name + " = (await " + name + "({})).tool;\n"
		}
	}
	m := startModel(t, calls("exec", programOf(program+"return all"), script.Expect{}), says(`{{last "value"}}`))
	got, code = takeTurn(t, w.host, m, "Call them")
	if code != 0 {
		t.Fatalf("%+v", got)
	}
	called := decode[map[string]string](t, got.Text)
	suffixed := func(name string) string {
		for callable, tool := range called {
			if tool == name {
				return callable
			}
		}
		return ""
	}
	for name, pattern := range map[string]string{
		"safe_name": `^safe_name$`, "with_dash": `^with_dash$`, "with-dash": `^with_dash_\w+$`, "with.dash": `^with_dash_\w+$`,
		"class": `^class_\w+$`, "catalog": `^catalog_\w+$`, "9lives": `^tool_9lives`, "stock_level": `^stock_level$`,
	} {
		if callable := suffixed(name); !regexp.MustCompile(pattern).MatchString(callable) {
			t.Errorf("%s is called as %q, want %s", name, callable, pattern)
		}
	}
	if ran := w.plugin.ran(); len(ran) != 8 || len(slices.Compact(ran)) != 8 {
		t.Errorf("%q ran", ran)
	}
}

// TestReal_V4_C5_C6_C8_SearchAndDescribe: a program searches and describes native and MCP handles and calls both, lists the
// native ones, and reads declarations.
func TestReal_V4_C5_C6_C8_SearchAndDescribe(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	m := startModel(t,
		calls("exec", programOf(`
			const [stock] = await catalog.search("pieces of an article in stock", { limit: 1 });
			const [record] = await catalog.search("records a number", { limit: 1 });
			const about = [await stock.describe(), await record.describe()];
			const files = [API.read("tools/stock_level.d.ts"), API.read("mcp/fixture.d.ts")].map(({ content }) => content);
			return {
				names: [stock.callableName, record.callableName], kinds: about.map((a) => a.kind ?? a.parameters.type),
				answers: [(await stock({ item: "nut" })).pieces, (await record({ n: 3 })).content[0].text],
				all: [...new Set(catalog.all().map(({ source }) => source))],
				declared: [files[0].includes("stock_level("), files[1].includes(" record(")],
			}`), script.Expect{}),
		says(`{{last "value"}}`))
	got, code := takeTurn(t, w.host, m, "Look them up")
	answered(t, got, code, `{"all":["openclaw"],"answers":[1200,"3"],"declared":[true,true],"kinds":["object","mcp_api"],"names":["stock_level","MCP.fixture.record"]}`)
	if got.Turn.Totals.Searches != 2 || got.Turn.Totals.Describes != 2 || got.Turn.called() != "mcp:fixture:record ×1, openclaw:depot:stock_level ×1" {
		t.Errorf("%+v", got.Turn.Totals)
	}
}

// TestReal_V4_L4_Case52_Denied: denied tools are absent and can't be reached by a guessed id or name, on any surface.
func TestReal_V4_L4_Case52_Denied(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, nil)
	hidden := script.Expect{Never: []string{"secret"}}
	for _, c := range []struct {
		name, want string
		step       script.Step
		flags      []string
	}{
		{
			"code", `"none":\[\].*"types":\["undefined","function"\]`,
			calls("exec", programOf(`
				const none = (await catalog.search("secret", { limit: 50 })).filter((t) => t.toolName === "secret");
				return { none, types: [typeof secret, typeof stock_level] }`), hidden), nil,
		},
		{"search, by id", `there is no tool`, calls("tool_call", map[string]any{"id": "openclaw:depot:secret", "args": map[string]any{}}, hidden), []string{"--mode", "search", "--agent", "tools"}},
		{"search, by name", `there is no tool`, calls("tool_call", map[string]any{"name": "secret"}, hidden), []string{"--mode", "search", "--agent", "directory"}},
		{"search, described", `there is no tool`, calls("tool_describe", map[string]any{"id": "openclaw:depot:secret"}, hidden), []string{"--mode", "search", "--agent", "tools"}},
		{
			"search by program", `there is no tool`,
			calls("tool_search_code", map[string]any{"code": `return await openclaw.tools.call("openclaw:depot:secret", {})`}, hidden), []string{"--mode", "search", "--agent", "code"},
		},
		{"direct", `secret`, calls("secret", map[string]any{}, hidden), []string{"--mode", "direct"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := startModel(t, c.step, says("No.", c.want))
			got, code := takeTurn(t, w.host, m, "Tell", c.flags...)
			answered(t, got, code, "No.")
		})
	}
	if ran := w.plugin.ran(); len(ran) > 0 {
		t.Errorf("%q ran", ran)
	}
}

// TestReal_V4_W4_P6_CallOutlivesExec: a nested call outlives its exec, wait gets its result, output after the resume is in
// the final answer, nothing ran twice, and the exported trajectory shows the calls inside their parent.
func TestReal_V4_W4_P6_CallOutlivesExec(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, map[string]any{"timeoutMs": 4000})
	late := calls("wait", map[string]any{"runId": `{{last "runId"}}`}, script.Expect{Last: []string{`"waiting"`, `"before"`, "stock_level"}})
	late.Delivery.DelayMs = 100 // each of its pieces: the gate is opened meanwhile
	m := startModel(t,
		script.Step{Calls: []script.Call{{ID: "outer", Name: "exec", Args: programOf(`
			text("before"); await safe_name({});
			const { pieces } = await stock_level({ item: "bolt", gate: true });
			text("after"); await MCP.fixture.record({ n: pieces });
			return pieces`)}}},
		late,
		says(`{{last "output.0.text"}} {{last "value"}}`, `"completed"`))
	turn := start(t, agentCommand(t, w.host, m, "Count", "--session", "shelf"))
	m.awaitRequests(t, 2)
	w.plugin.open(t)
	got := decode[turnResult](t, turn.line("{"))
	answered(t, got, turn.exitCode(), "after 1200")
	if ran, want := w.plugin.ran(), []string{`safe_name {}`, `stock_level {"gate":true,"item":"bolt"}`}; len(ran) != 2 || ran[0] != want[0] || len(w.fixture.calls()) != 1 {
		t.Errorf("%q ran", ran)
	}
	if got.Turn.Totals.Calls != 3 || got.Turn.Requests != 3 {
		t.Errorf("%+v", got.Turn)
	}
	w.idle(t)

	// The turn and the host write independently of each other, each in its order, and nobody waits for the host.
	want := [2]string{
		"user, assistant, tool, assistant, tool, assistant, turn",
		"exec outer, safe_name of outer done, stock_level of outer done, record of outer done, result waiting of outer, wait, result completed of outer",
	}
	var said [2]string
	if !eventually(patience, func() bool { said = trajectory(exportOf(t, w.host, "shelf")); return said == want }) {
		t.Errorf("the trajectory (-want +got):\n%s", cmp.Diff(want, said))
	}
}

// trajectory gives what a turn has written to a session, and what the host has.
func trajectory(entries []exported) [2]string {
	var turn, host []string
	for _, e := range entries {
		switch {
		case e.Message != nil:
			turn = append(turn, e.Message.Role)
		case e.Turn != nil:
			turn = append(turn, e.Kind)
		case e.Exec != nil:
			host = append(host, "exec "+e.Exec.CallID)
			for _, c := range e.Calls {
				line := c.Call.Tool + " of " + c.Call.ParentID
				if c.Outcome != nil {
					line += " " + c.Outcome.Outcome
				}
				host = append(host, line)
			}
		case e.Result != nil:
			host = append(host, "result "+e.Result.Status+" of "+e.Result.ParentID)
		case e.Wait != nil:
			host = append(host, e.Kind)
		}
	}
	return [2]string{strings.Join(turn, ", "), strings.Join(host, ", ")}
}

// TestReal_V4_S8_G6_CleansUp: timeout, abort and expiry clean up. A program that hands the turn back says so.
func TestReal_V4_S8_G6_CleansUp(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, map[string]any{"timeoutMs": 3000, "snapshotTtlSeconds": 1})
	t.Run("timeout", func(t *testing.T) {
		m := startModel(t, calls("exec", programOf(`await safe_name({}); while (true) {}`), script.Expect{}), says("Too slow.", `"failed"`, `"timeout"`))
		got, code := takeTurn(t, w.host, m, "Loop")
		answered(t, got, code, "Too slow.")
		w.idle(t)
	})
	t.Run("abort", func(t *testing.T) {
		m := startModel(t, script.Step{Calls: []script.Call{{Name: "exec", Args: map[string]any{
			"title": "Wait", "code": `text("x"); await stock_level({ gate: true }); await safe_name({ item: "never" })`, "awaitResults": true,
		}}}})
		turn := start(t, agentCommand(t, w.host, m, "Wait", "--session", "aborted"))
		w.plugin.awaitRan(t, 2)
		if err := turn.cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		got := decode[turnResult](t, turn.line("{"))
		if code := turn.exitCode(); code != 130 || got.Stop != "cancelled" {
			t.Errorf("exit code %d: %+v", code, got)
		}
		w.plugin.awaitGone(t, 1)
		w.idle(t)
		if logged := turnOf(t, w.host, "aborted"); logged.Stop != "cancelled" || logged.called() != "openclaw:depot:stock_level ×1" {
			t.Errorf("%+v", logged)
		}
	})
	t.Run("expiry", func(t *testing.T) {
		late := calls("wait", map[string]any{"runId": `{{last "runId"}}`}, script.Expect{Last: []string{`"yield"`}})
		late.Delivery.DelayMs = 600 // each of its pieces, of which there are several
		m := startModel(t, calls("exec", programOf(`await yield_control("later"); await safe_name({ item: "never" })`), script.Expect{}), late,
			says("It is gone.", `"failed"`, "expired"))
		got, code := takeTurn(t, w.host, m, "Sleep")
		answered(t, got, code, "It is gone.")
		w.idle(t)
	})
	if ran := w.plugin.ran(); len(ran) != 2 {
		t.Errorf("%q ran", ran)
	}
}
