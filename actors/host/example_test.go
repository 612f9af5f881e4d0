package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"unicode/utf8"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// Embed a host and run a program in it.
func ExampleUp() {
	ctx := context.Background()
	node, err := host.Up(ctx, host.NodeOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close(ctx)

	session, err := node.Client().Session(ctx, "me")
	if err != nil {
		log.Fatal(err)
	}
	result, err := session.Do(ctx, "Add", `return 1 + 2`)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Status, string(result.Value))
	// Output: completed 3
}

// Give programs a function of your own. Its schemas come from its types.
func ExampleUp_tools() {
	type city struct {
		Name string `json:"name" jsonschema:"in any language"`
	}
	length := tool.New("length", "Counts the letters of a city.", func(_ context.Context, in city) (int, error) {
		return utf8.RuneCountInString(in.Name), nil
	})
	tools, err := tool.Funcs("example", length)
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	node, err := host.Up(ctx, host.NodeOptions{Providers: []tool.Provider{tools}})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close(ctx)
	result := do(ctx, node, `return Promise.all(["Oslo", "München"].map((name) => length({ name })))`)
	fmt.Println(string(result.Value))
	// Output: [4,7]
}

// Put an object before programs: data, and ways to call your tools.
func ExampleUp_namespaces() {
	type query struct {
		Name  string `json:"name"`
		Limit int    `json:"limit,omitempty"`
	}
	find := tool.New("find_customers", "Finds customers.", func(_ context.Context, in query) ([]string, error) {
		return []string{in.Name + " Byron", in.Name + " Lovelace"}[:in.Limit], nil
	})
	tools, err := tool.Funcs("shop", find)
	if err != nil {
		log.Fatal(err)
	}
	crm := tool.Namespace{
		Owner: "shop", ID: "crm", Global: "crm", Description: "The customers of the shop.",
		RequiredTools: []string{"find_customers"},
		Scope: func(_ context.Context, run schemas.Identity) (any, error) {
			return map[string]any{
				"clerk": run.Agent,
				"customers": map[string]any{
					"query": tool.Callable{Tool: "find_customers"},
					"find":  tool.Callable{Tool: "find_customers", Input: map[string]any{"name": tool.Arg(0), "limit": tool.Arg(1)}},
				},
			}, nil
		},
	}

	ctx := context.Background()
	node, err := host.Up(ctx, host.NodeOptions{Providers: []tool.Provider{tools}, Namespaces: []tool.Namespace{crm}})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close(ctx)
	result := do(ctx, node, `return [crm.clerk, await crm.customers.find("Ada", 1), await crm.customers.query({ name: "Ada", limit: 2 })]`)
	fmt.Println(string(result.Value))
	// Output: ["default",["Ada Byron"],["Ada Byron","Ada Lovelace"]]
}

// A program that hands the turn back, or whose tools are slow, is parked. Wait goes on with it.
func ExampleNode_Client_waiting() {
	ctx := context.Background()
	node, err := host.Up(ctx, host.NodeOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close(ctx)
	session, err := node.Client().Session(ctx, "me")
	if err != nil {
		log.Fatal(err)
	}

	result, err := session.Do(ctx, "Count", `let n = 1; await yield_control("look"); return n + 1`)
	for err == nil && result.Status == schemas.StatusWaiting {
		fmt.Println("waiting:", result.Reason)
		result, err = session.Wait(ctx, result.RunID)
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Status, string(result.Value))
	// Output:
	// waiting: yield
	// completed 2
}

// A program that failed is a result. An error means that nobody knows what became of it.
func ExampleNode_Client_failed() {
	ctx := context.Background()
	node, err := host.Up(ctx, host.NodeOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close(ctx)

	result := do(ctx, node, `throw new Error("no such order")`)
	fmt.Println(result.Status, result.Code)
	fmt.Println(result.Error)
	// Output:
	// failed internal_error
	// Error: no such order
	//     at <anonymous> (codecell:user.js:1:11)
}

// Bring tools of the calling process for one run: no other sees them.
func ExampleUp_bring() {
	ctx := context.Background()
	node, err := host.Up(ctx, host.NodeOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close(ctx)
	session, err := node.Client().Session(ctx, "me") // elsewhere: bus.NewClient(conn).Session
	if err != nil {
		log.Fatal(err)
	}

	type question struct {
		Text string `json:"text"`
	}
	confirm := tool.New("confirm", "Asks the user.", func(_ context.Context, in question) (bool, error) {
		return in.Text == "Send it?", nil // a window, in an editor
	})
	brought, err := tool.Bring(ctx, session, confirm)
	if err != nil {
		log.Fatal(err)
	}
	defer brought.Close(ctx) // lets running calls end

	result, err := session.Do(ctx, "Ask", `return [await confirm({ text: "Send it?" }), await confirm({ text: "Really?" })]`)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(result.Value))
	// Output: [true,false]
}

// Decide about calls in Go. What the hook doesn't let pass is never made.
func ExampleUp_hooks() {
	type payment struct {
		Amount int `json:"amount"`
	}
	pay := tool.New("pay", "Pays somebody.", func(_ context.Context, in payment) (string, error) {
		return fmt.Sprintf("paid %d", in.Amount), nil
	})
	tools, err := tool.Funcs("example", pay)
	if err != nil {
		log.Fatal(err)
	}
	guard := tool.Hook{
		Name: "guard", Phase: schemas.BeforeToolCall, Tools: []string{"pay"},
		Ask: func(_ context.Context, event *schemas.HookEvent) (*schemas.Verdict, error) {
			var in payment
			if err := json.Unmarshal(event.Input, &in); err != nil {
				return nil, err // the call is refused, too
			}
			return &schemas.Verdict{Block: in.Amount > 100, Reason: "too much for " + event.Identity.Agent}, nil
		},
	}

	ctx := context.Background()
	node, err := host.Up(ctx, host.NodeOptions{Providers: []tool.Provider{tools}, Hooks: []tool.Hook{guard}})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close(ctx)
	result := do(ctx, node, `return [await pay({ amount: 20 }), await pay({ amount: 200 }).catch((e) => e.message)]`)
	fmt.Println(string(result.Value))
	// Output: ["paid 20","pay was not called: hook guard blocks it: too much for default"]
}

// Decide about programs from any process: hosts and executors that have the hook in their configuration ask.
func ExampleUp_hookOnTheBus() {
	ctx := context.Background()
	config, err := schemas.ParseConfig([]byte(`{ hooks: [{ name: "review", phase: "before_tool_call", tools: ["exec"] }] }`), "codecell.json5")
	if err != nil {
		log.Fatal(err)
	}
	node, err := host.Up(ctx, host.NodeOptions{Config: config})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close(ctx)

	conn := node.Conn() // elsewhere: bus.Dial(ctx, bus.Options{URLs: []string{"nats://127.0.0.1:4222"}})
	review := func(_ context.Context, event *schemas.HookEvent) (*schemas.Verdict, error) {
		endless := event.ToolKind == schemas.ToolKindExec && bytes.Contains(event.Input, []byte("while (true)"))
		return &schemas.Verdict{Block: endless, Reason: "it would never end"}, nil
	}
	hook, err := bus.ServeHook(conn, schemas.BeforeToolCall, "review", review)
	if err != nil {
		log.Fatal(err)
	}
	defer hook.Close(ctx)

	fmt.Println(do(ctx, node, `while (true) {}`).Error)
	fmt.Println(string(do(ctx, node, `return 1`).Value))
	// Output:
	// the program was not started: hook review blocks it: it would never end
	// 1
}

// Watch what happens. Facts carry names and counts, never arguments or results.
func ExampleNode_Client_feed() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	node, err := host.Up(ctx, host.NodeOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close(ctx)
	facts, err := node.Client().Watch(ctx, bus.Facts("cell"))
	if err != nil {
		log.Fatal(err)
	}
	session, err := node.Client().Session(ctx, "me")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := session.Do(ctx, "Example", `return 1`); err != nil {
		log.Fatal(err)
	}

	for event := range facts {
		switch fact := event.Fact.(type) {
		case *schemas.CellStarted:
			fmt.Println("started:", fact.Title)
		case *schemas.CellEnded:
			fmt.Println("ended:", fact.Status, "with", fact.Calls, "calls")
			stop()
		}
	}
	// Output:
	// started: Example
	// ended: completed with 0 calls
}

// Let a model reach the tools in another way: open a run in a mode, or leave that to the configuration and the model.
func ExampleNode_Client_mode() {
	length := tool.New("length", "Counts letters.", func(_ context.Context, in struct{ Text string }) (int, error) { return len(in.Text), nil })
	tools, err := tool.Funcs("example", length)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	node, err := host.Up(ctx, host.NodeOptions{Providers: []tool.Provider{tools}})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close(ctx)

	for _, mode := range []schemas.Mode{schemas.ModeDirect, schemas.ModeCode, schemas.ModeAuto} {
		run, err := node.Client().Open(ctx, schemas.Open{
			Identity: schemas.Identity{Agent: "default", SessionID: "1", SessionKey: "desk", Run: string(mode)},
			Mode:     mode, Model: "openai/gpt-5",
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("asked for %s, got %s:", mode, run.Surface.Mode)
		for _, t := range run.Surface.Tools {
			fmt.Print(" ", t.Name)
		}
		totals, err := run.Finish(ctx, "done")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("; calls", totals.Calls)
	}
	// Output:
	// asked for direct, got direct: length; calls 0
	// asked for code, got code: exec wait; calls 0
	// asked for auto, got code: exec wait; calls 0
}

// Take the configuration from a file, and find out which of its servers can't be reached.
func ExampleNode_Problems() {
	ctx := context.Background()
	config, err := schemas.ParseConfig([]byte(`{ mcpServers: { notes: { command: "no-such-program" } } }`), "codecell.json5")
	if err != nil {
		log.Fatal(err)
	}
	node, err := host.Up(ctx, host.NodeOptions{Config: config, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close(ctx)
	if err := node.Ready(ctx); err != nil {
		log.Fatal(err)
	}
	for _, problem := range node.Problems() {
		fmt.Println(problem)
	}
	// Output: MCP server "notes" can't be used: exec: "no-such-program": executable file not found in $PATH
}

// do runs one program.
func do(ctx context.Context, node *host.Node, code string) *schemas.Result {
	session, err := node.Client().Session(ctx, "me")
	if err != nil {
		log.Fatal(err)
	}
	result, err := session.Do(ctx, "Example", code)
	if err != nil {
		log.Fatal(err)
	}
	return result
}
