package host_test

import (
	"context"
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
