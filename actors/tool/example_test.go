package tool_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"

	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// Serve a Go function as a tool, from any process that reaches the bus.
func ExampleServe() {
	ctx := context.Background()
	server := startBus(ctx) // elsewhere: codecell up --listen 127.0.0.1:4222
	defer server.Close()
	conn, err := bus.Dial(ctx, bus.Options{URLs: []string{server.URL()}})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	type order struct {
		ID string `json:"id" jsonschema:"such as A-1"`
	}
	track := tool.New("track", "Tells whether an order was sent.", func(_ context.Context, in order) (bool, error) {
		return in.ID == "A-1", nil
	})
	executor, err := tool.Serve(ctx, conn, "shop", track)
	if err != nil {
		log.Fatal(err)
	}
	defer executor.Close(ctx) // lets running calls end

	fmt.Println(call(ctx, conn, "track", `{"id":"A-1"}`))
	// Output: true
}

// Errors are for programs, which catch them; arguments that don't fit never reach the function.
func ExampleNew() {
	type order struct {
		ID       string `json:"id" jsonschema:"such as A-1"`
		Priority int    `json:"priority,omitempty"`
	}
	type state struct {
		Sent bool `json:"sent"`
	}
	track := tool.New("track", "Tells whether an order was sent.", func(_ context.Context, in order) (state, error) {
		if in.ID == "" {
			return state{}, errors.New("id is empty: expected one such as A-1")
		}
		return state{Sent: in.ID == "A-1"}, nil
	}, tool.ReplaySafe(), tool.Label("Track an order"))

	ctx := context.Background()
	conn, stop := serve(ctx, track)
	defer stop()
	fmt.Println(call(ctx, conn, "track", `{"id":"A-1"}`))
	fmt.Println(call(ctx, conn, "track", `{"id":""}`))
	fmt.Println(call(ctx, conn, "track", `{"id":1}`))
	// Output:
	// {"sent":true}
	// tool_error: id is empty: expected one such as A-1
	// input_contract: track: id: expected a string, got a number
}

// A tool that isn't known before the program runs: its schemas are JSON Schema, and it gets and gives JSON.
func ExampleRaw() {
	echo := tool.Raw(schemas.Tool{
		Name: "echo", Description: "Gives back what it gets.",
		Parameters: schemas.JSON(`{"type":"object","properties":{"times":{"type":"integer","default":1}}}`),
	}, func(_ context.Context, args schemas.JSON) (schemas.JSON, error) {
		return args, nil
	})

	ctx := context.Background()
	conn, stop := serve(ctx, echo)
	defer stop()
	fmt.Println(call(ctx, conn, "echo", `{}`))
	// Output: {"times":1}
}

// A tool may know whom it works for, and tell how far it is.
func ExampleCallOf() {
	whoami := tool.New("whoami", "Tells who asks.", func(ctx context.Context, _ struct{}) (string, error) {
		tool.Report(ctx, 1, 2, "half way")
		return tool.CallOf(ctx).Identity.Agent, nil
	})

	ctx := context.Background()
	conn, stop := serve(ctx, whoami)
	defer stop()
	fmt.Println(call(ctx, conn, "whoami", `{}`))
	// Output: "clerk"
}

// A tool may leave some of its calls to a person.
func ExampleApprovalWhen() {
	type invoice struct {
		Number string  `json:"number"`
		Amount float64 `json:"amount"`
	}
	pay := tool.New("pay", "Pays an invoice.", func(_ context.Context, in invoice) (string, error) {
		return "paid " + in.Number, nil
	}, tool.ApprovalWhen(func(in invoice) bool { return in.Amount > 100 }))

	ctx := context.Background()
	conn, stop := serve(ctx, pay)
	defer stop()
	fmt.Println(call(ctx, conn, "pay", `{"number":"7","amount":99}`))
	fmt.Println(call(ctx, conn, "pay", `{"number":"8","amount":5000}`))
	// Output:
	// "paid 7"
	// awaiting_approval
}

// startBus starts a bus with a port.
func startBus(ctx context.Context) *bus.Server {
	server, err := bus.Start(ctx, bus.ServerOptions{Listen: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	return server
}

// serve serves tools on a bus of their own.
func serve(ctx context.Context, tools ...tool.Func) (*bus.Conn, func()) {
	server := startBus(ctx)
	conn, err := server.Connect("example")
	if err != nil {
		log.Fatal(err)
	}
	executor, err := tool.Serve(ctx, conn, "shop", tools...)
	if err != nil {
		log.Fatal(err)
	}
	return conn, func() {
		executor.Close(ctx)
		conn.Close()
		server.Close()
	}
}

// call does what a cell does when its program calls a tool.
func call(ctx context.Context, conn *bus.Conn, name, args string) string {
	id, at := bus.NewExecutorID(), schemas.Address{Host: bus.NewHostID(), Cell: "cell"}
	answers := make(chan schemas.Answer, 8)
	replies, err := bus.Replies(conn, at.Host, func(r *bus.Reply) { answers <- r.Answer })
	if err != nil {
		return err.Error()
	}
	defer replies.Close()
	err = conn.Publish(bus.ToolSubject(schemas.SourceNative, "shop", name), bus.ReplySubject(at.Host, at.Cell, id), &schemas.Call{
		ID: id, Address: at, Source: schemas.SourceNative, Owner: "shop", Tool: name, Args: schemas.JSON(args),
		Identity: schemas.Identity{Agent: "clerk"},
	})
	if err != nil {
		return err.Error()
	}
	for {
		select {
		case answer := <-answers:
			switch {
			case answer.State == schemas.AnswerAccepted: // it takes its time
			case answer.Err != nil:
				return string(answer.Err.Code) + ": " + answer.Err.Message
			case answer.State == schemas.AnswerAwaiting:
				return string(answer.State)
			default:
				return string(answer.Value)
			}
		case <-ctx.Done():
			return ctx.Err().Error()
		}
	}
}
