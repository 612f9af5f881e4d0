package host_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"strings"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// bringerEnv makes a process of this binary one that brings a tool for the run of "a": its value is the URL of the bus.
const bringerEnv = "CODECELL_TEST_BRINGER"

// runBringer says on its output how far it is, and serves until it is killed.
func runBringer(url string) error {
	say := func(what string) { _, _ = os.Stdout.WriteString(what + "\n") } // the test misses what isn't said
	ctx := context.Background()
	conn, err := bus.Dial(ctx, bus.Options{URLs: []string{url}, Name: "bringer"})
	if err != nil {
		return err
	}
	run, err := bus.NewClient(conn).Open(ctx, schemas.Open{Identity: someone("a")})
	if err != nil {
		return err
	}
	brought, err := tool.Bring(ctx, run, tool.New("endless", "Never answers.", func(ctx context.Context, _ struct{}) (int, error) {
		say("called")
		<-ctx.Done()
		return 0, ctx.Err()
	}))
	if err != nil {
		return err
	}
	say("ready")
	<-brought.Done()
	return errors.New("nobody has killed the bringer")
}

// onTCP is a run on a node that others reach, by the node's own connection and by one of the test's.
func onTCP(t *testing.T) (local, remote *bus.Run, conn *bus.Conn) {
	t.Helper()
	n := node(t, config(t, `{bus: {listen: "127.0.0.1:0"}, tools: {codeMode: {enabled: true, timeoutMs: 60000}}}`))
	conn, err := bus.Dial(t.Context(), bus.Options{URLs: []string{n.URL()}, Name: "caller"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	remote, err = bus.NewClient(conn).Open(t.Context(), schemas.Open{Identity: someone("a")})
	if err != nil {
		t.Fatal(err)
	}
	return open(t, n, "a"), remote, conn
}

const failed = `p.catch(e => [e.code, e.location, e.effectStatus, e.message])`

// unlisted waits until new programs of a run don't find a tool.
func unlisted(t *testing.T, run *bus.Run, name string) {
	t.Helper()
	for {
		found, err := run.Search(t.Context(), schemas.Search{Query: name})
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Hits) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond) // real: until the host has noticed
	}
}

// TestSpec_S8_U2_ACallerThatIsKilledLosesItsCalls: they end as unknown within moments, and its tools aren't there any more.
func TestSpec_S8_U2_ACallerThatIsKilledLosesItsCalls(t *testing.T) {
	run, _, conn := onTCP(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	child := osexec.CommandContext(ctx, os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), bringerEnv+"="+conn.NATS().ConnectedUrl())
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	says := func(want string) {
		t.Helper()
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("the child says %q, want %q", lines.Text(), want)
		}
	}
	says("ready")
	killed := make(chan time.Time, 1)
	go func() {
		lines.Scan() // called
		killed <- time.Now()
		_ = child.Process.Kill()
		_ = child.Wait()
	}()
	result := exec(t, run, `const p = endless({}); return await `+failed)
	took := time.Since(<-killed)
	if text := string(result.Value); !strings.HasPrefix(text, `["tool_error","transport","unknown",`) || !strings.Contains(text, "gone") || took > prompt {
		t.Errorf("after %v: %+v", took, result)
	}
	unlisted(t, run, "endless")
	mustGive(t, exec(t, run, `return typeof endless`), `"undefined"`)
}

// TestSpec_S8_NobodyListens: a tool that was brought and isn't served is refused at once, and not offered any more.
func TestSpec_S8_NobodyListens(t *testing.T) {
	run, _, conn := onTCP(t)
	brought, err := bus.Ask[schemas.Brought](t.Context(), conn, bus.BringSubject(run.Host, run.ID),
		&schemas.Bring{Identity: run.Identity, Client: "nobody", Tools: []schemas.Tool{{Name: "ghost"}}})
	if err != nil || brought.Err != nil {
		t.Fatal(brought, err)
	}
	result := exec(t, run, `const p = ghost({}); return await `+failed)
	if text := string(result.Value); !strings.HasPrefix(text, `["tool_error","transport","not_started",`) {
		t.Errorf("result = %+v", result)
	}
	unlisted(t, run, "ghost")
}

// TestSpec_S8_B4_ACallerThatAnswersNonsense harms only its own calls: each rejects, and says whether the tool may have run.
func TestSpec_S8_B4_ACallerThatAnswersNonsense(t *testing.T) {
	run, _, conn := onTCP(t)
	answer := func(a schemas.Answer) []byte {
		b, err := schemas.Encode(&a)
		if err != nil {
			t.Error(err)
		}
		return b
	}
	long := strings.Repeat("x", 100_000)
	nonsense := map[string]func(call *schemas.Call) []byte{
		"bytes":    func(*schemas.Call) []byte { return []byte("\xdd\xff\xff\xff\xff") },
		"empty":    func(*schemas.Call) []byte { return nil },
		"others":   func(*schemas.Call) []byte { return answer(schemas.Answer{ID: "77", State: schemas.AnswerDone}) },
		"accepted": func(c *schemas.Call) []byte { return answer(schemas.Answer{ID: c.ID, State: schemas.AnswerAccepted}) },
		"failed":   func(c *schemas.Call) []byte { return answer(schemas.Answer{ID: c.ID, State: schemas.AnswerFailed}) },
		"strange":  func(c *schemas.Call) []byte { return answer(schemas.Answer{ID: c.ID, State: "strange"}) },
		"broken": func(c *schemas.Call) []byte {
			return answer(schemas.Answer{ID: c.ID, State: schemas.AnswerDone, Value: schemas.JSON(`{"a":`)})
		},
		"deep": func(c *schemas.Call) []byte {
			return answer(schemas.Answer{ID: c.ID, State: schemas.AnswerDone, Value: schemas.JSON(strings.Repeat("[", 200_000))})
		},
		"loud": func(c *schemas.Call) []byte {
			return answer(schemas.Answer{ID: c.ID, State: schemas.AnswerFailed, Err: &schemas.CallError{
				Code: "own", Name: long, Message: long, Location: "policy", Effect: "own",
			}})
		},
	}
	tools := make([]schemas.Tool, 0, len(nonsense))
	for name := range nonsense {
		tools = append(tools, schemas.Tool{Name: name, Source: schemas.SourceNative, Tier: schemas.TierCore, Owner: "core", DirectOnly: true, ReplaySafe: true})
	}
	bustest.Respond(t, conn, bus.AliveSubject(run.Host, run.ID, "c"), func([]byte) ([]byte, bool) { return []byte("\xc1"), true })
	bustest.Respond(t, conn, bus.ClientSubject(run.Host, run.ID, "c"), func(body []byte) ([]byte, bool) {
		var call schemas.Call
		if err := schemas.Decode(body, &call); err != nil {
			t.Error(err)
		}
		return nonsense[call.Tool](&call), true
	})
	brought, err := bus.Ask[schemas.Brought](t.Context(), conn, bus.BringSubject(run.Host, run.ID),
		&schemas.Bring{Identity: run.Identity, Client: "c", Tools: tools})
	if err != nil || brought.Err != nil || len(brought.Problems) > 0 || len(brought.Surface.Tools) != 2 {
		t.Fatal(brought, err)
	}
	result := exec(t, run, `
		const names = ["bytes", "empty", "others", "accepted", "failed", "strange", "broken", "deep", "loud"];
		const got = await Promise.all(names.map(n => globalThis[n]({}).then(v => ["resolved", v],
			e => [e.code, e.location, e.effectStatus, e.name.length <= 64, e.message.length < 9000].join())));
		return [Object.fromEntries(names.map((n, i) => [n, got[i]])), (await echo({n: 1})).n]`)
	const unknown, ran = "tool_error,transport,unknown,true,true", "output_contract,output,done,true,true"
	mustGive(t, result, fmt.Sprintf(
		`[{"bytes":%q,"empty":%[1]q,"others":%[1]q,"accepted":%[1]q,"failed":%[1]q,"strange":%[1]q,"broken":%q,"deep":%[2]q,"loud":%q},1]`,
		unknown, ran, "tool_error,tool,failed,true,true"))
}

// TestSpec_S8_ABrokenHandlerRejectsItsCallOnly: a panic stays where it is, and an error is the tool's.
func TestSpec_S8_ABrokenHandlerRejectsItsCallOnly(t *testing.T) {
	_, run, _ := onTCP(t)
	bringing(t, run,
		tool.New("panics", "", func(context.Context, struct{}) (int, error) { panic("secret") }),
		tool.New("fails", "", func(context.Context, struct{}) (int, error) {
			return 0, &schemas.CallError{Name: "RangeError", Message: "too far", Effect: schemas.NotStarted}
		}),
		says("fine", "fine", nil))
	result := exec(t, run, `
		const show = p => p.catch(e => [e.name, e.code, e.location, e.effectStatus, e.message]);
		return [await show(panics({})), await show(fails({})), await fine({})]`)
	mustGive(t, result, `[["Error","tool_error","tool","failed","panics failed inside"],["RangeError","tool_error","tool","not_started","too far"],"fine"]`)
}

// TestSpec_S8_ACallerThatWasCutOffIsBack: its tools are offered again after a reconnection.
func TestSpec_S8_ACallerThatWasCutOffIsBack(t *testing.T) {
	run, remote, conn := onTCP(t)
	bringing(t, remote, says("steady", "still here", nil))
	for range 2 {
		if err := conn.NATS().ForceReconnect(); err != nil {
			t.Fatal(err)
		}
		for {
			result := exec(t, run, `return typeof steady === "function" ? await steady({}).catch(e => e.effectStatus) : "gone"`)
			if string(result.Value) == `"still here"` {
				break
			}
		}
	}
}

// TestSpec_S8_BoundsOfWhatCanBeBrought for one run, by all its callers together.
func TestSpec_S8_BoundsOfWhatCanBeBrought(t *testing.T) {
	n := node(t, nil)
	run := open(t, n, "a")
	many := make([]schemas.Tool, schemas.MaxBroughtTools+1)
	for i := range many {
		many[i].Name = fmt.Sprintf("t%d", i)
	}
	silent := func(context.Context, *schemas.Call) (schemas.JSON, error) { return nil, nil }
	bring := func(tools ...schemas.Tool) error {
		_, err := run.Bring(t.Context(), tools, silent)
		return err
	}
	large := schemas.Tool{Name: "large", Description: strings.Repeat("x", schemas.MaxBroughtBytes)}
	for name, tools := range map[string][]schemas.Tool{"none": nil, "too many": many, "too large": {large}, "one twice": {many[0], many[0]}} {
		if err := bring(tools...); err == nil || !strings.Contains(err.Error(), "tools") {
			t.Errorf("%s: %v", name, err)
		}
	}
	full, err := run.Bring(t.Context(), many[:schemas.MaxBroughtTools], silent)
	if err != nil {
		t.Fatal(err)
	}
	if err := bring(many[schemas.MaxBroughtTools]); err == nil || !strings.Contains(err.Error(), "128") {
		t.Errorf("one more: %v", err)
	}
	if err := full.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	bad, err := run.Bring(t.Context(), []schemas.Tool{
		{Name: "good"}, {Name: ""}, {Name: strings.Repeat("n", 200)}, {Name: "no schema", Parameters: schemas.JSON(`{"type":5}`)}, {Name: "no json", Output: schemas.JSON(`{`)},
	}, silent)
	if err != nil {
		t.Fatal(err)
	}
	if len(bad.Problems) != 4 && len(bad.Problems) != 5 {
		t.Errorf("problems = %q", bad.Problems)
	}
	mustGive(t, exec(t, run, `return [typeof good, await good({}) ?? null, await no_schema({}).catch(e => e.code)]`), `["function",null,"invalid_contract"]`)
	for _, client := range []string{"", "a.b", "*", ">", strings.Repeat("c", 65)} {
		brought, err := bus.Ask[schemas.Brought](t.Context(), n.Conn(), bus.BringSubject(run.Host, run.ID),
			&schemas.Bring{Identity: run.Identity, Client: client, Tools: many[:1]})
		if err != nil || brought.Err == nil || brought.Err.Field != "client" {
			t.Errorf("client %q: %+v, %v", client, brought, err)
		}
	}
}
