package host_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// An executor in any language registers a namespace with its tools, and answers one request. What it says may be anything.
func TestSpec_K1_K2_NamespaceByMessage(t *testing.T) {
	n := node(t, nil)
	registry, err := bus.OpenRegistry(t.Context(), n.Conn())
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close(t.Context())
	var scope atomic.Pointer[schemas.JSON]
	good := schemas.JSON(`{"site":"lab","twice":{"$tool":"double","input":{"n":{"$arg":0}}}}`)
	scope.Store(&good)
	sub, err := bus.Serve(n.Conn(), bus.ScopeSubject("raw", "r 1"), "", func(r *bus.Request[schemas.ScopeAsk, schemas.Scope]) {
		if r.Body.Namespace != "r 1" {
			t.Errorf("asked for %q", r.Body.Namespace)
		}
		_ = r.Respond(&schemas.Scope{JSON: *scope.Load()})
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	tools, err := bus.Serve(n.Conn(), bus.ToolSubject(schemas.SourceNative, "raw", "double"), "", func(r *bus.Request[schemas.Call, schemas.Answer]) {
		_ = r.Respond(&schemas.Answer{ID: r.Body.ID, Executor: "x1", State: schemas.AnswerDone, Value: r.Body.Args})
	})
	if err != nil {
		t.Fatal(err)
	}
	defer tools.Close()
	space := schemas.Namespace{ID: "r 1", Global: "lab", Description: "A lab.", RequiredTools: []string{"double"}}
	reg := schemas.Registration{
		Executor: "x1", Source: schemas.SourceNative, Owner: "raw", Tools: []schemas.Tool{{Name: "double"}}, Namespaces: []schemas.Namespace{space},
	}
	if err := registry.Put(t.Context(), reg); err != nil {
		t.Fatal(err)
	}
	eventually(t, open(t, n, "a"), `return [lab.site, await lab.twice(4)]`, `["lab",{"n":4}]`)

	for i, tt := range []struct{ scope, says string }{
		{`{"x":{"$tool":"echo"}}`, "must name one of the namespace's required tools"}, // it is in the catalog, and not the plugin's
		{`{"x":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`, "nested deeper"},
		{`{"a":"` + strings.Repeat("x", 1<<20) + `"}`, "at most 65536"},
		{"\xff\x00", "isn't JSON"}, {``, "answered nothing"},
	} {
		text := schemas.JSON(tt.scope)
		scope.Store(&text)
		run := open(t, n, fmt.Sprint("bad", i))
		mustGive(t, exec(t, run, `return [typeof lab, typeof echo]`), `["undefined","function"]`)
		described, err := run.Describe(t.Context())
		if err != nil || len(described.Problems) != 1 || !strings.Contains(described.Problems[0], tt.says) || len(described.Problems[0]) > 1000 {
			t.Errorf("%.40s: %v %.2000q", tt.scope, err, described.Problems)
		}
	}

	// Registrations that make no sense are diagnosed, and change nothing else.
	for _, bad := range []struct {
		reg  func(*schemas.Registration)
		says string
	}{
		{func(r *schemas.Registration) { r.Namespaces = make([]schemas.Namespace, 100) }, "it has 100 namespaces"},
		{func(r *schemas.Registration) { r.Source, r.Owner = schemas.SourceMCP, "srv" }, "only plugins"},
		{func(r *schemas.Registration) {
			r.Namespaces = []schemas.Namespace{{ID: "e", Global: "eval", RequiredTools: []string{"double"}}}
		}, "reserved word"},
	} {
		next := reg
		bad.reg(&next)
		if err := registry.Put(t.Context(), next); err != nil {
			t.Fatal(err)
		}
		run := open(t, n, "after")
		for ctx := t.Context(); ctx.Err() == nil; {
			described, err := run.Describe(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(strings.Join(described.Problems, "\n"), bad.says) {
				break
			}
		}
		mustGive(t, exec(t, run, `return (await echo({ n: 1 })).n`), `1`)
	}
}

// A reply that can't be read is no scope.
func TestSpec_K2_B4_GarbageIsNoScope(t *testing.T) {
	provider, crm := shop(t)
	n := nodeWith(t, host.NodeOptions{Providers: []tool.Provider{provider}, Namespaces: []tool.Namespace{crm}})
	bustest.RandomBytes(t, n.Conn(), bus.ScopeSubject("shop", "crm"))
	mustGive(t, exec(t, open(t, n, "a"), `return crm.who`), `"default/run-a"`)
}

// J2: programs of the older contract have namespaces, too.
func TestSpec_J2_K1_NamespacesUnderTheOlderContract(t *testing.T) {
	provider, crm := shop(t)
	n := nodeWith(t, host.NodeOptions{
		Config: config(t, `{contract: "2026-07"}`), Providers: []tool.Provider{provider}, Namespaces: []tool.Namespace{crm},
	})
	run := open(t, n, "a")
	result, err := run.Exec(t.Context(), schemas.Exec{CallID: "c", Input: schemas.JSON(`{"code":"return [crm.who, await namespaces.crm.find('ada'), typeof catalog]"}`)})
	if err != nil {
		t.Fatal(err)
	}
	mustGive(t, result, `["default/run-a",{"query":"ada"},"undefined"]`)
	if text := execText(run.Surface); !strings.Contains(text, "- `crm`: Customers of the shop.\n") {
		t.Error(text)
	}
}
