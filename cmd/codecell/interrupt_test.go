package main

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/codecell/codecell/schemas"
)

// Cases 75 and 80: a program that Ctrl-C ends still says what it has emitted and which calls it has made.
func TestSpec_E5_Case80_InterruptedProgramsSayWhatRan(t *testing.T) {
	for name, how := range map[string]struct {
		flag, code string
		calls      []string
	}{
		"exec":   {"--await-results", `text("said"); await MCP.lab.echo({ text: "a" }); await MCP.lab.hold({ text: "x" })`, []string{"done", "started"}},
		"--wait": {"--wait", `text("sa"); await yield_control(); text("id"); await MCP.lab.hold({ text: "x" })`, []string{"started"}},
	} {
		t.Run(name, func(t *testing.T) {
			lab := newToolServer(t)
			ctx, interrupt := context.WithCancel(soon(t))
			go func() {
				<-lab.held
				interrupt()
			}()
			object := cli{}.with(t, ctx, "exec", how.flag, "--json", "--config", configOf(t, map[string]string{"lab": lab.url}), program(t, how.code)).
				want(t, exitFailed).object(t)
			telemetry, _ := object["telemetry"].(map[string]any)
			calls, _ := telemetry["calls"].([]any)
			var outcomes []string
			for _, call := range calls {
				outcome, _ := call.(map[string]any)["outcome"].(string)
				outcomes = append(outcomes, outcome)
			}
			var said string
			output, _ := object["output"].([]any)
			for _, item := range output {
				text, _ := item.(map[string]any)["text"].(string)
				said += text
			}
			if object["code"] != "aborted" || said != "said" || strings.Join(outcomes, " ") != strings.Join(how.calls, " ") {
				t.Errorf("%v", object)
			}
		})
	}
}

// A cancellation that overtakes its program finds nothing to end, so it is repeated until the program answers, or for as long
// as anybody waits.
func TestSpec_E5_Case80_CancellationsThatOvertakeTheirPrograms(t *testing.T) {
	said := &schemas.Result{Status: schemas.StatusFailed, Code: schemas.Aborted, Error: "what the program says"}
	for name, tc := range map[string]struct {
		lost int // cancellations that find nothing
		want string
	}{
		"none": {0, said.Error}, "one": {1, said.Error}, "all": {1000, "the program was told to end, and has not answered"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, interrupt := context.WithCancel(t.Context())
				told, ended := 0, make(chan struct{})
				got, err := new(app).ask(ctx, "running", func(ctx context.Context) (*schemas.Result, error) {
					interrupt()
					select {
					case <-ended:
						return said, nil
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				}, func(context.Context) error {
					if told++; told == tc.lost+1 {
						close(ended)
					}
					return nil
				})
				if err != nil || got.Code != schemas.Aborted || !strings.Contains(got.Error, tc.want) {
					t.Errorf("%+v %v, after %d cancellations", got, err, told)
				}
			})
		})
	}
}
