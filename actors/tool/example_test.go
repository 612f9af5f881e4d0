package tool_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// Serve a Go function as a tool: its schemas come from the types.
func ExampleServe() {
	type In struct {
		City string `json:"city" jsonschema:"where"`
	}
	type Out struct {
		Degrees int `json:"degrees"`
	}
	weather := tool.New("weather", "Tells the temperature of a city.", func(ctx context.Context, in In) (Out, error) {
		return Out{Degrees: len(in.City)}, nil
	}, tool.ReplaySafe())

	ctx := context.Background()
	server, conn := startBus(ctx)
	defer server.Close()
	defer conn.Close()
	executor, err := tool.Serve(ctx, conn, "demo", weather)
	if err != nil {
		panic(err)
	}
	defer executor.Close(ctx)

	answer, err := bus.Ask[schemas.Answer](ctx, conn, bus.ToolSubject(schemas.SourceNative, "demo", "weather"), &schemas.Call{
		ID: "1", Source: schemas.SourceNative, Owner: "demo", Tool: "weather", Args: schemas.JSON(`{"city":"Oslo"}`),
	})
	fmt.Println(string(answer.Value), err)
	// Output: {"degrees":4} <nil>
}

// startBus starts a private bus in this process.
func startBus(ctx context.Context) (*bus.Server, *bus.Conn) {
	server, err := bus.Start(ctx, bus.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	conn, err := server.Connect("example")
	if err != nil {
		panic(err)
	}
	return server, conn
}
