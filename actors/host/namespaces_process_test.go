package host_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"strings"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// pluginEnv makes this binary a plugin in a process of its own: it says where the bus is.
const pluginEnv = "CODECELL_TEST_PLUGIN"

// runPlugin offers a tool and a namespace until it is killed.
func runPlugin(url string) {
	fmt.Fprintln(os.Stdout, servePlugin(url))
	select {}
}

// servePlugin says "ready", or what went wrong.
func servePlugin(url string) any {
	conn, err := bus.Dial(context.Background(), bus.Options{URLs: []string{url}})
	if err != nil {
		return err
	}
	funcs, err := tool.Funcs("remote", tool.New("locate", "Locates a city.", func(_ context.Context, in findIn) (string, error) {
		return strings.ToUpper(in.Query), nil
	}))
	if err != nil {
		return err
	}
	_, err = tool.Start(context.Background(), conn, tool.Options{Providers: []tool.Provider{funcs}, Namespaces: []tool.Namespace{{
		Owner: "remote", ID: "maps", Global: "maps", RequiredTools: []string{"locate"},
		Scope: func(_ context.Context, run schemas.Identity) (any, error) {
			return map[string]any{"for": run.Run, "locate": tool.Callable{Tool: "locate", Input: map[string]any{"query": tool.Arg(0)}}}, nil
		},
	}}})
	if err != nil {
		return err
	}
	return "ready"
}

// A namespace of another process is there while the process is: once it is killed, new runs go without it, and programs of
// runs that knew it are told at once that nobody answers.
func TestSpec_K1_K3_NamespaceOfAnotherProcess(t *testing.T) {
	n := node(t, config(t, `{bus: {listen: "127.0.0.1:0"}}`))
	run := open(t, n, "a")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	child := osexec.CommandContext(ctx, os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), pluginEnv+"="+n.URL())
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if lines := bufio.NewScanner(out); !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("the child says %q", lines.Text())
	}
	eventually(t, run, `return typeof maps`, `"object"`)
	mustGive(t, exec(t, run, `return [maps.for, await maps.locate("oslo"), await namespaces.maps.locate("bern")]`),
		`["`+run.Identity.Run+`","OSLO","BERN"]`)

	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	until(t, "the bus has noticed", func() bool {
		return !n.Conn().Listened(t.Context(), bus.ScopeSubject("remote", "maps"), &schemas.ScopeAsk{})
	})
	began := time.Now()
	mustGive(t, exec(t, open(t, n, "later"), `return typeof maps`), `"undefined"`)
	mustGive(t, exec(t, run, `return await maps.locate("oslo").catch(e => [e.code, e.location, e.effectStatus])`),
		`["tool_error","transport","not_started"]`)
	if took := time.Since(began); took > prompt {
		t.Errorf("it took %v", took)
	}
}
