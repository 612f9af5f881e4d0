package tool

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/codecell/codecell/schemas"
)

// rewriting gives a hook that makes something of each input, or nothing of it for "".
func rewriting(name string, rewrite func(in string) string) Hook {
	return Hook{Name: name, Phase: schemas.BeforeToolCall, Ask: func(_ context.Context, e *schemas.HookEvent) (*schemas.Verdict, error) {
		return &schemas.Verdict{Input: schemas.JSON(rewrite(string(e.Input)))}, nil
	}}
}

func aboutPrograms(t *testing.T, hooks ...Hook) ProgramHooks {
	t.Helper()
	p, err := AboutPrograms(hooks, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var someProgram = schemas.ExecInput{Title: "t", Code: "return 1"}

// Each hook sees both names of the program, whichever of them the one before has rewritten (X1, case 70).
func TestSpec_X1_Case70_RewritesOfProgramsChain(t *testing.T) {
	var seen []string
	note := func(out string) func(string) string {
		return func(in string) string { seen = append(seen, in); return out }
	}
	p := aboutPrograms(t, rewriting("a", note(`{"title":"t","code":"return 1","command":"return 2"}`)),
		rewriting("b", note(`{"title":"t","code":"return 3"}`)), rewriting("c", note("")), rewriting("d", note(`{"title":"t2","command":"return 4"}`)))
	in, err := p.Before(t.Context(), &schemas.HookEvent{}, someProgram)
	if err != nil || in.Code != "return 4" || in.Title != "t2" {
		t.Errorf("%+v %v", in, err)
	}
	for i, code := range []string{"return 1", "return 2", "return 3", "return 3"} {
		if want := `{"title":"t","code":"` + code + `","command":"` + code + `"}`; seen[i] != want {
			t.Errorf("hook %d saw %s, want %s", i, seen[i], want)
		}
	}
}

func TestSpec_X1_X8_HooksOfProgramsFailClosed(t *testing.T) {
	verdict := func(v schemas.Verdict) Hook { return answering(schemas.BeforeToolCall, &v, nil) }
	for want, hook := range map[string]Hook{
		"hook guard blocks it: no loops":                                        verdict(schemas.Verdict{Block: true, Reason: "no loops"}),
		"asks for an approval, which there is for calls of tools only: it runs": verdict(schemas.Verdict{Ask: true, Reason: "it runs"}),
		"hook guard failed: no database":                                        answering(schemas.BeforeToolCall, nil, errors.New("no database")),
		"hook guard made its input invalid: command: the program was blanked":   verdict(schemas.Verdict{Input: schemas.JSON(`{"title":"t","code":"return 1","command":""}`)}),
		"hook guard made its input invalid: code: expected a string":            verdict(schemas.Verdict{Input: schemas.JSON(`{"title":"t","code":7,"command":"return 1"}`)}),
		"hook guard made its input invalid: command: the program":               verdict(schemas.Verdict{Input: schemas.JSON(`{"title":"t","code":"return 1","command":null}`)}),
		"hook guard made its input invalid: command: it differs":                verdict(schemas.Verdict{Input: schemas.JSON(`{"title":"t","code":"return 2","command":"return 3"}`)}),
		"hook guard made its input invalid: code: give the JavaScript":          verdict(schemas.Verdict{Input: schemas.JSON(`{"title":"t"}`)}),
		"hook guard made its input invalid: restart":                            verdict(schemas.Verdict{Input: schemas.JSON(`{"title":"t","code":"return 1","restart":true}`)}),
	} {
		_, err := aboutPrograms(t, hook).Before(t.Context(), &schemas.HookEvent{}, someProgram)
		if err == nil || err.Code != schemas.InvalidInput || !strings.HasPrefix(err.Message, "the program was not started: ") || !strings.Contains(err.Message, want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Hooks are asked about programs if their list includes exec, by any of the names that lists take.
func TestSpec_X8_WhichHooksAreAskedAboutPrograms(t *testing.T) {
	for _, phase := range []string{schemas.BeforeToolCall, schemas.AfterToolCall} {
		for _, c := range []struct {
			tools []string
			asked bool
		}{{nil, true}, {[]string{}, false}, {[]string{"read", "exec"}, true}, {[]string{"*"}, true}, {[]string{"bash"}, true}, {[]string{"read"}, false}, {[]string{"bundle-mcp"}, false}} {
			hook := answering(phase, &schemas.Verdict{Block: true}, nil)
			hook.Tools = c.tools
			p := aboutPrograms(t, hook)
			if before, after := p.Before != nil, p.After != nil; before != (c.asked && phase == schemas.BeforeToolCall) || after != (c.asked && phase == schemas.AfterToolCall) {
				t.Errorf("%s %q: before %v, after %v", phase, c.tools, before, after)
			}
		}
	}
}

func TestSpec_S5_QuestionsAboutProgramsEndWithTheirContext(t *testing.T) {
	leave := make(chan struct{})
	defer close(leave)
	hook := Hook{Name: "stubborn", Phase: schemas.BeforeToolCall, Timeout: time.Minute, Ask: func(context.Context, *schemas.HookEvent) (*schemas.Verdict, error) {
		<-leave
		return nil, nil //nolint:nilnil // lets the call pass
	}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := aboutPrograms(t, hook).Before(ctx, &schemas.HookEvent{}, someProgram); err == nil || !strings.Contains(err.Message, "hook stubborn hadn't answered") {
		t.Errorf("%v", err)
	}
}

// After a hook that withholds, the next ones see that, and not what was withheld.
func TestSpec_X8_EveryAfterHookIsTold(t *testing.T) {
	var seen []schemas.HookEvent
	hook := func(name string, v *schemas.Verdict) Hook {
		return Hook{Name: name, Phase: schemas.AfterToolCall, Ask: func(_ context.Context, e *schemas.HookEvent) (*schemas.Verdict, error) {
			seen = append(seen, *e)
			return v, nil
		}}
	}
	block := &schemas.Verdict{Block: true, Reason: "it holds a key"}
	p := aboutPrograms(t, hook("a", nil), hook("b", block), hook("c", nil), hook("d", block))
	err := p.After(t.Context(), &schemas.HookEvent{Tool: "exec", Value: schemas.JSON(`{"status":"completed"}`)})
	if err == nil || err.Error() != "hook b blocks it: it holds a key" || len(seen) != 4 {
		t.Fatalf("%v %+v", err, seen)
	}
	for i, e := range seen {
		if withheld := i > 1; withheld != (len(e.Value) == 0) || withheld != (e.Err != nil && e.Err.Message == err.Error()) {
			t.Errorf("%s saw %+v", e.Hook, e)
		}
	}
}
