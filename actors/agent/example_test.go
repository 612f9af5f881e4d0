package agent_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/codecell/codecell/actors/agent"
	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/schemas"
)

// Take a turn: the model writes a program, reads what it gave, and answers. A server of our own plays the provider here.
func ExampleTurn_Run() {
	script := []step{
		calls(asks{"call-1", "exec", `{"title": "Double", "code": "return (await double({n: 21})).n"}`}),
		says("It is 42."),
	}
	model := &provider{steps: script}
	model.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, next := model.next(r)
		next(w, req)
	}))
	defer model.Close()

	ctx := context.Background()
	double := tool.New("double", "Doubles a number.", func(_ context.Context, in number) (number, error) { return number{2 * in.N}, nil })
	tools, err := tool.Funcs("example", double)
	if err != nil {
		log.Fatal(err)
	}
	node, err := host.Up(ctx, host.NodeOptions{Providers: []tool.Provider{tools}, CacheDir: cache})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close(ctx)
	turn := agent.Turn{
		Client:   node.Client(),
		Provider: agent.Provider{Name: "example", Model: "large", URL: model.URL + "/v1", HTTP: model.Client()},
		Identity: schemas.Identity{Agent: "default", SessionID: "s", SessionKey: "k", Run: "one"},
		Mode:     schemas.ModeCode,
		Observe: func(e agent.Event) {
			switch e := e.(type) {
			case agent.Calling:
				fmt.Println(e.Name+":", e.Title)
			case agent.Called:
				fmt.Println("failed:", e.Failed)
			}
		},
	}
	report, err := turn.Run(ctx, "How much is twice 21?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Entry.Stop, "after", report.Entry.Requests, "requests:", report.Text)
	// Output:
	// exec: Double
	// failed: false
	// answered after 2 requests: It is 42.
}
