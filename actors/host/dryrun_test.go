package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

type listOut struct {
	Paths []string `json:"paths"`
}

type mailIn struct {
	To   string `json:"to"`
	Text string `json:"text,omitempty"`
}

type mailOut struct {
	ID   string `json:"id"`
	Sent bool   `json:"sent"`
}

// stageOf counts what is really called.
type stageOf struct{ looks, mails atomic.Int64 }

func (s *stageOf) tools() []tool.Func {
	return []tool.Func{
		tool.New("look", "Lists things.", func(context.Context, struct{}) (listOut, error) {
			s.looks.Add(1)
			return listOut{Paths: []string{"a", "b"}}, nil
		}, tool.ReplaySafe()),
		tool.New("mail", "Sends mail.", func(context.Context, mailIn) (mailOut, error) {
			s.mails.Add(1)
			return mailOut{ID: "real", Sent: true}, nil
		}, tool.Sequential()),
	}
}

func openDry(t *testing.T, n *host.Node, name string) *bus.Run {
	t.Helper()
	run, err := n.Client().Open(t.Context(), schemas.Open{Identity: someone(name), DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// calls shows the list of a dry run, a line a call.
func calls(r *schemas.Result) string {
	if r.DryRun == nil {
		return "none"
	}
	var lines []string
	for _, c := range r.DryRun.Calls {
		line := c.ID + " " + c.Tool + " " + string(c.Args)
		if c.Placeholder {
			line += " placeholder"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestDryRun_CallsOnlyWhatIsReplaySafe(t *testing.T) {
	var s stageOf
	n := node(t, nil, s.tools()...)
	r := exec(t, openDry(t, n, "dry"), `
		const { paths } = await look({});
		const sent = [];
		for (const path of paths) sent.push(await mail({to: "ada", text: path}));
		let wrong; try { await mail({too: "ada"}) } catch (e) { wrong = [e.code, e.effectStatus] }
		await new Promise(done => setTimeout(done, 5));
		return [sent, wrong]`)
	if got, want := string(r.Value), `[[{"id":"placeholder","sent":false},{"id":"placeholder","sent":false}],["input_contract","not_started"]]`; got != want {
		t.Errorf("value = %s\nwant    %s\n%s", got, want, r.Error)
	}
	if s.looks.Load() != 1 || s.mails.Load() != 0 {
		t.Errorf("%d looks and %d mails were real", s.looks.Load(), s.mails.Load())
	}
	want := "1 look {}\n2 mail {\"to\":\"ada\",\"text\":\"a\"} placeholder\n3 mail {\"to\":\"ada\",\"text\":\"b\"} placeholder\n4 mail {\"too\":\"ada\"} placeholder"
	if got := calls(r); got != want {
		t.Errorf("calls:\n%s\nwant:\n%s", got, want)
	}
	if text := schemas.ModelText(*r, "x"); !strings.Contains(text, `"dryRun":{"calls":[{"id":"1","tool":"look","args":{}},`) {
		t.Errorf("the model reads %s", text)
	}
	if r.Telemetry.CallCount != 4 {
		t.Errorf("telemetry = %+v", r.Telemetry)
	}
	wet := exec(t, open(t, n, "real"), `return (await mail({to: "ada"})).id`)
	if string(wet.Value) != `"real"` || wet.DryRun != nil || s.mails.Load() != 1 {
		t.Errorf("a run that isn't dry: %+v", wet)
	}
}

// The list is in waiting and failed results too, with what was called so far, in order of issue.
func TestDryRun_EveryResultHasTheList(t *testing.T) {
	var s stageOf
	n := node(t, nil, s.tools()...)
	run := openDry(t, n, "dry")
	if r := exec(t, run, `return 1`); calls(r) != "" {
		t.Errorf("a program without calls lists %q", calls(r))
	}
	r := exec(t, run, `const a = mail({to: "1"}); await look({}); await yield_control("look at it"); await mail({to: "2"}); throw new Error("no")`)
	if r.Status != schemas.StatusWaiting || calls(r) != "1 mail {\"to\":\"1\"} placeholder\n2 look {}" {
		t.Errorf("%s: %s", r.Status, calls(r))
	}
	last := wait(t, n, "dry", "w", r.RunID)
	if last.Status != schemas.StatusFailed || !strings.HasSuffix(calls(last), "\n4 mail {\"to\":\"2\"} placeholder") || len(last.DryRun.Calls) != 3 {
		t.Errorf("%s: %s", last.Status, calls(last))
	}
}

// A hundred calls at once come to a list of bounded size, and all are answered.
func TestDryRun_ManyCalls(t *testing.T) {
	var s stageOf
	n := node(t, nil, s.tools()...)
	r := exec(t, openDry(t, n, "dry"), `
		let ids = 0;
		for (let i = 0; i < 3; i++) ids += (await Promise.all(Array.from({length: 100}, (_, k) => mail({to: "x".repeat(300) + k})))).filter(m => m.id === "placeholder").length;
		return ids`)
	text, err := json.Marshal(r.DryRun)
	if err != nil || string(r.Value) != "300" || len(r.DryRun.Calls) != schemas.MaxDryCalls || r.DryRun.Dropped != 300-schemas.MaxDryCalls || len(text) > 128<<10 || s.mails.Load() != 0 {
		t.Errorf("value %s, %d calls, %d dropped, %d bytes, %v", r.Value, len(r.DryRun.Calls), r.DryRun.Dropped, len(text), err)
	}
}

// Facts tell what happened: of a placeholder nothing did.
func TestDryRun_PlaceholdersAreNoFacts(t *testing.T) {
	var s stageOf
	n := node(t, nil, s.tools()...)
	events, err := n.Client().Watch(t.Context(), bus.Facts("call"), bus.Facts("cell", "ended"))
	if err != nil {
		t.Fatal(err)
	}
	exec(t, openDry(t, n, "dry"), `await mail({to: "a"}); await look({}); return 1`)
	told := map[string]int{}
	for e := range events {
		switch f := e.Fact.(type) {
		case *schemas.CallSent:
			told["sent "+f.Tool]++
		case *schemas.CallEnded:
			told["ended "+f.Call]++
		case *schemas.CellEnded:
			told["cell"]++
		}
		if told["cell"] > 0 {
			break
		}
	}
	if told["sent look"] != 1 || told["sent mail"] != 0 || told["ended 1"] != 0 || told["ended 2"] != 1 {
		t.Errorf("told %v", told)
	}
}

// Who asks for a dry run must not get a real one, nor the other way round.
func TestDryRun_ARunIsDryOrNot(t *testing.T) {
	n := node(t, nil)
	open(t, n, "real")
	openDry(t, n, "dry")
	for _, ask := range []schemas.Open{{Identity: someone("real"), DryRun: true}, {Identity: someone("dry")}} {
		_, err := n.Client().Open(t.Context(), ask)
		var refused *schemas.Error
		if !errors.As(err, &refused) || refused.Code != schemas.InvalidInput || refused.Field != "dryRun" || !strings.Contains(refused.Message, "close it first") {
			t.Errorf("%+v: %v", ask, err)
		}
	}
	openDry(t, n, "dry")
	open(t, n, "real")
}

// A tool that the model calls itself is no more called than those of programs.
func TestDryRun_DirectCallsArePlaceholders(t *testing.T) {
	var s stageOf
	n := node(t, config(t, `{tools: {direct: ["look", "mail"]}}`), s.tools()...)
	run := openDry(t, n, "dry")
	d, err := callDirect(t, run, "mail", `{"to":"ada"}`)
	if err != nil || string(d.Value) != `{"id":"placeholder","sent":false}` {
		t.Errorf("mail: %+v, %v", d, err)
	}
	if d, err = callDirect(t, run, "mail", `{}`); err != nil || d.Call == nil || d.Call.Code != schemas.CallInputContract {
		t.Errorf("mail without a receiver: %+v, %v", d, err)
	}
	if d, err = callDirect(t, run, "look", `{}`); err != nil || string(d.Value) != `{"paths":["a","b"]}` || s.looks.Load() != 1 || s.mails.Load() != 0 {
		t.Errorf("look: %+v, %v; %d looks, %d mails", d, err, s.looks.Load(), s.mails.Load())
	}
}
