package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codecell/codecell/schemas"
)

// serverConfig starts the test binary as a server of some kind.
func serverConfig(kind string, env ...string) schemas.MCPServer {
	cfg := schemas.MCPServer{Command: os.Args[0], Env: map[string]string{serverKindEnv: kind}}
	for i := 0; i+1 < len(env); i += 2 {
		cfg.Env[env[i]] = env[i+1]
	}
	return cfg
}

// connected gives a server after its first attempt to connect.
func connected(t testing.TB, cfg schemas.MCPServer) *Server {
	t.Helper()
	s := MCP("test", cfg, quiet)
	t.Cleanup(func() {
		if err := s.Close(soon(t)); err != nil {
			t.Error(err)
		}
	})
	if err := s.Ready(soon(t)); err != nil {
		t.Fatal(err)
	}
	return s
}

func toolNames(offer schemas.Registration) (names []string) {
	for _, tool := range offer.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// eventually waits for a change of the offer that satisfies ok.
func eventually(t testing.TB, s Provider, what string, ok func(schemas.Registration) bool) schemas.Registration {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		offer := s.Offer()
		if ok(offer) {
			return offer
		}
		select {
		case <-s.Changed():
		case <-deadline:
			t.Fatalf("never %s: %d tools, problems %q", what, len(offer.Tools), offer.Problems)
		}
	}
}

// through runs a call through the pipeline, as an executor does.
func through(t testing.TB, s *Server, tool, args string) (schemas.JSON, *schemas.CallError) {
	t.Helper()
	made, _ := compileOffer(s.Offer(), nil)
	c := made[tool]
	if c == nil {
		t.Fatalf("no tool %s in %v", tool, toolNames(s.Offer()))
	}
	var pipe Pipeline
	return pipe.run(soon(t), callOf(tool, "1", args), c, func(ctx context.Context, call *schemas.Call) (schemas.JSON, error) {
		return s.Call(ctx, call, nil)
	}, nil, quiet)
}

func TestSpec_M2_Case60_Case61_NativeResults(t *testing.T) {
	s := connected(t, serverConfig("good"))
	for _, c := range []struct{ tool, args, want string }{
		{"digits", `{}`, `{"content":[{"type":"text","text":"<b>"}],"structuredContent":{"id":12345678901234567890,"x":1.10,"z":1e3}}`},
		{"echo", `{"n":9007199254740993,"__proto__":{"a":1}}`, `{"content":[],"structuredContent":{"n":9007199254740993,"__proto__":{"a":1}}}`},
		{"fails", `{}`, `{"content":[{"type":"text","text":"no"}],"structuredContent":{"why":"because"},"isError":true}`},
		{"nulls", `{}`, `{"content":[{"type":"text","text":"Error: not really","_meta":{"b":2},"annotations":{"priority":1}}],"isError":false}`},
		{"text_only", `{}`, `{"content":[{"type":"text","text":"plain"}]}`},
		{"hologram", ``, `{"content":[{"type":"hologram","depth":3}]}`},
		{"strict", `{"path":"x"}`, `{"content":[],"structuredContent":{"path":"x","depth":3}}`},
	} {
		got, err := through(t, s, c.tool, c.args)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s\n%v", c.tool, got, err)
		}
	}
}

func TestSpec_M2_FailuresSayWhereAndWhetherItRan(t *testing.T) {
	s := connected(t, serverConfig("good"))
	for _, c := range []struct {
		tool, args string
		code       schemas.CallCode
		location   string
		effect     schemas.Outcome
		says       string
	}{
		{"violates", `{}`, schemas.CallOutputContract, atOutput, schemas.Done, "n: expected an integer"},
		{"broken", `{}`, schemas.CallInvalidContract, atTool, schemas.NotStarted, "output schema is invalid"},
		{"strict", `{"pth":"x"}`, schemas.CallInputContract, atInput, schemas.NotStarted, `did you mean "path"`},
		{"strict", `[1]`, schemas.CallInputContract, atInput, schemas.NotStarted, "not an array"},
		{"rpc_error", `{}`, schemas.CallToolError, atTool, schemas.Failed, "no such city"},
		{"huge", `{}`, schemas.CallToolError, atTransport, schemas.Done, "over the limit"},
		{"dies", `{}`, schemas.CallToolError, atTransport, schemas.Unknown, "whether it acted is unknown"},
	} {
		got, err := through(t, s, c.tool, c.args)
		if err == nil || err.Code != c.code || err.Location != c.location || err.Effect != c.effect || !strings.Contains(err.Message, c.says) {
			t.Errorf("%s %s: %.100s, %+v", c.tool, c.args, got, err)
		}
		if err != nil && strings.Contains(err.Message, "SECRET") {
			t.Errorf("%s tells the value: %s", c.tool, err.Message)
		}
	}
}

func TestSpec_M7_AReplyTooLargeFailsItsCallOnly(t *testing.T) {
	s := connected(t, serverConfig("good"))
	pid, _ := through(t, s, "pid", `{}`)
	if _, err := through(t, s, "huge", `{}`); err == nil {
		t.Error("50 MB came through")
	}
	if again, err := through(t, s, "pid", `{}`); err != nil || string(again) != string(pid) {
		t.Errorf("another session: %s, %s, %v", pid, again, err)
	}
}

func TestSpec_M7_Case64_ATimeoutDoesNotPoisonTheSession(t *testing.T) {
	s := connected(t, serverConfig("good"))
	pid, err := through(t, s, "pid", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := hurried(t, s, "slow", `{}`); err == nil || err.Effect != schemas.Unknown || !strings.Contains(err.Message, "300ms") {
			t.Fatalf("%+v", err)
		}
		if _, err := through(t, s, "go_on", `{}`); err != nil { // now the late answer comes
			t.Fatal(err)
		}
		if got, err := through(t, s, "pid", `{}`); err != nil || string(got) != string(pid) {
			t.Fatalf("%s, want %s; %v", got, pid, err)
		}
	}
}

// hurried runs a call that must run into the time limit of calls, which is short for this one only.
func hurried(t testing.TB, s *Server, tool, args string) (schemas.JSON, *schemas.CallError) {
	t.Helper()
	limit := 300.0
	s.cfg.CallTimeoutMs = &limit
	defer func() { s.cfg.CallTimeoutMs = nil }()
	return through(t, s, tool, args)
}

func TestSpec_M7_ServersThatCanNotBeUsedSayWhy(t *testing.T) {
	short, listing := 700.0, 10_000.0
	for kind, want := range map[string]string{
		"exits":      "exit status 3); it wrote: cannot find the database",
		"mute":       "didn't answer in time",
		"list-hangs": "can't list its tools: it didn't answer in time",
		"version":    `unsupported protocol version: "1999-01-01"`,
		"missing":    "no such file",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			cfg := serverConfig(kind)
			if strings.Contains(want, "in time") {
				cfg.ConnectTimeoutMs = &short
			}
			if kind == "list-hangs" { // after the server was started, which takes its time
				cfg.ConnectTimeoutMs = &listing
			}
			if kind == "missing" {
				cfg.Command = "./no-such-server"
			}
			begun := time.Now()
			s := connected(t, cfg)
			if took := time.Since(begun); took > time.Minute {
				t.Errorf("took %v", took)
			}
			offer := s.Offer()
			if len(offer.Tools) > 0 || len(offer.Problems) != 1 || !strings.Contains(offer.Problems[0], want) || !strings.Contains(offer.Problems[0], `"test"`) {
				t.Errorf("%q, want %q", offer.Problems, want)
			}
			_, err := s.Call(soon(t), callOf("x", "1", "{}"), nil)
			var ce *schemas.CallError
			if !errors.As(err, &ce) || ce.Effect != schemas.NotStarted {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestSpec_C3_Case49_BadToolsDoNotHarmGoodOnes(t *testing.T) {
	offer := connected(t, serverConfig("bad-tools")).Offer()
	if got := fmt.Sprint(toolNames(offer)); got != "[good no_schema naïve name/with:all]" {
		t.Error(got)
	}
	if len(offer.Problems) != 4 {
		t.Errorf("%q", offer.Problems)
	}
	if offer.Server.Instructions != "be kind" || offer.Server.Version != "0.1" || !offer.Server.Prompts || offer.Server.Resources {
		t.Errorf("%+v", offer.Server)
	}
}

func TestSpec_M7_Case63_ListChanged(t *testing.T) {
	cfg := serverConfig("good")
	cfg.ExcludeTools = []string{"huge"}
	s := connected(t, cfg)
	if slices.Contains(toolNames(s.Offer()), "huge") {
		t.Error("an excluded tool is offered")
	}
	before := s.Offer()
	if _, err := through(t, s, "add", `{}`); err != nil {
		t.Fatal(err)
	}
	after := eventually(t, s, "with the added tool", func(r schemas.Registration) bool { return slices.Contains(toolNames(r), "added") })
	if slices.Contains(toolNames(after), "echo") || !slices.Contains(toolNames(before), "echo") {
		t.Error("the removed tool is there, or the old offer has changed")
	}
}

// All that a server says of its progress has been told when its call ends: the last word comes right before the answer.
func TestSpec_P2_ProgressStreams(t *testing.T) {
	s := connected(t, serverConfig("good"))
	want := []string{"1/3 step 1", "2/3 step 2", "3/3 step 3"}
	for range 50 {
		var reports []string
		_, err := s.Call(soon(t), callOf("progress", "1", "{}"), func(done, total float64, message string) {
			reports = append(reports, fmt.Sprintf("%v/%v %s", done, total, message))
		})
		if err != nil || !slices.Equal(reports, want) {
			t.Fatalf("%q, %v", reports, err)
		}
	}
}

func TestSpec_M7_CloseEndsCallsInFlight(t *testing.T) {
	closeInFlight(t, serverConfig("good"), "never")
}

// closeInFlight closes a server in the middle of a call, whose tool reports progress and never answers.
func closeInFlight(t *testing.T, cfg schemas.MCPServer, tool string) {
	t.Helper()
	s := MCP("test", cfg, quiet)
	if err := s.Ready(soon(t)); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	begun := make(chan struct{}, 1)
	go func() {
		_, err := s.Call(context.Background(), callOf(tool, "1", "{}"), func(float64, float64, string) { begun <- struct{}{} })
		failed <- err
	}()
	<-begun
	if err := s.Close(soon(t)); err != nil {
		t.Error(err)
	}
	if err := <-failed; err == nil {
		t.Error("the call succeeded")
	}
	if _, err := s.Call(soon(t), callOf(tool, "2", "{}"), nil); err == nil {
		t.Error("a closed server takes calls")
	}
}
