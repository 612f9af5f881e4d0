package tool

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// crm is a namespace of the owner shop.
func crm(change func(*Namespace)) Namespace {
	n := Namespace{
		Owner: "shop", ID: "crm", Global: "crm", RequiredTools: []string{"add"},
		Scope: func(_ context.Context, run schemas.Identity) (any, error) {
			return map[string]any{"who": run.Run, "add": Callable{Tool: "add"}}, nil
		},
	}
	if change != nil {
		change(&n)
	}
	return n
}

func TestSpec_K2_NamespacesAreRefusedAtRegistration(t *testing.T) {
	conn := bustest.Conn(t)
	shop, zoo := funcs(t, "shop", New("add", "adds", add)), funcs(t, "zoo", New("feed", "feeds", add))
	for name, tt := range map[string]struct {
		all         []Namespace
		field, says string
	}{
		"stranger":      {[]Namespace{crm(func(n *Namespace) { n.Owner = "lost" })}, "owner", `its owner "lost" offers no native tools here`},
		"no scope":      {[]Namespace{crm(func(n *Namespace) { n.Scope = nil })}, "scope", "has no Scope"},
		"bad global":    {[]Namespace{crm(func(n *Namespace) { n.Global = "Map" })}, "globalName", "is taken by a global of ECMAScript"},
		"id twice":      {[]Namespace{crm(nil), crm(func(n *Namespace) { n.Global = "x" })}, "id", "is there twice"},
		"global twice":  {[]Namespace{crm(nil), crm(func(n *Namespace) { n.ID = "x" })}, "globalName", "namespace collision"},
		"of two owners": {[]Namespace{crm(nil), crm(func(n *Namespace) { n.Owner = "zoo" })}, "globalName", "namespace collision"},
	} {
		_, err := Start(soon(t), conn, Options{Providers: []Provider{shop, zoo}, Namespaces: tt.all, Logger: quiet})
		var refused *schemas.Error
		if !errors.As(err, &refused) || refused.Code != schemas.InvalidInput || refused.Field != tt.field || !strings.Contains(refused.Message, tt.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func askScope(t *testing.T, conn *bus.Conn, run string) *schemas.Scope {
	t.Helper()
	s, err := bus.Ask[schemas.Scope](soon(t), conn, bus.ScopeSubject("shop", "crm"), &schemas.ScopeAsk{Namespace: "crm", Identity: schemas.Identity{Run: run}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSpec_K1_ScopesAreServed(t *testing.T) {
	server := bustest.Server(t)
	conn, host := bustest.Connect(t, server), bustest.Connect(t, server)
	registry, err := bus.OpenRegistry(soon(t), host)
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close(soon(t))
	var mu sync.Mutex
	scope := crm(nil).Scope
	required := []string{"add"}
	e := start(t, conn, Options{
		Providers: []Provider{funcs(t, "shop", New("add", "adds", add))},
		Namespaces: []Namespace{crm(func(n *Namespace) {
			n.RequiredTools = required
			n.Scope = func(ctx context.Context, run schemas.Identity) (any, error) {
				mu.Lock()
				fn := scope
				mu.Unlock()
				return fn(ctx, run)
			}
		})},
	})
	required[0] = "changed after registration"
	view, err := registry.Watch(soon(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	if all := view.All(); len(all) != 1 || len(all[0].Namespaces) != 1 || all[0].Namespaces[0].Global != "crm" || all[0].Namespaces[0].RequiredTools[0] != "add" {
		t.Errorf("%+v", all)
	}
	if s := askScope(t, host, "r1"); s.Err != nil || string(s.JSON) != `{"add":{"$tool":"add"},"who":"r1"}` {
		t.Errorf("%s %v", s.JSON, s.Err)
	}
	bustest.RandomBytes(t, host, bus.ScopeSubject("shop", "crm"))
	for says, fn := range map[string]scopeFunc{
		"no database":               func(context.Context, schemas.Identity) (any, error) { return nil, errors.New("no database") },
		"it failed inside":          func(context.Context, schemas.Identity) (any, error) { panic("secret") },
		"at its top: a Go function": func(context.Context, schemas.Identity) (any, error) { return func() {}, nil },
		"expected an object":        func(context.Context, schemas.Identity) (any, error) { return 7, nil },
		"required tools": func(context.Context, schemas.Identity) (any, error) {
			return map[string]any{"x": Callable{Tool: "other"}}, nil
		},
		"deadline exceeded": func(ctx context.Context, _ schemas.Identity) (any, error) { <-ctx.Done(); return nil, ctx.Err() },
	} {
		mu.Lock()
		scope = fn
		mu.Unlock()
		if s := askScope(t, host, "r2"); s.Err == nil || len(s.JSON) > 0 || !strings.Contains(s.Err.Message, says) || strings.Contains(s.Err.Message, "secret") {
			t.Errorf("%s: %+v", says, s)
		}
	}
	if err := e.Close(soon(t)); err != nil {
		t.Error(err)
	}
	if _, err := bus.Ask[schemas.Scope](soon(t), host, bus.ScopeSubject("shop", "crm"), &schemas.ScopeAsk{}); !errors.Is(err, bus.ErrNoResponders) {
		t.Errorf("after the executor left: %v", err)
	}
	if all := registryWithout(t, view); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

// registryWithout waits until nothing is registered any more.
func registryWithout(t *testing.T, view *bus.View) (all []schemas.Registration) {
	t.Helper()
	for ctx := soon(t); ctx.Err() == nil; {
		if all = view.All(); len(all) == 0 {
			break
		}
		time.Sleep(5 * time.Millisecond) // real: the news of a withdrawal travels
	}
	return all
}

// An executor that is closed ends the functions that it asked, and is not held up by those that don't listen.
func TestSpec_K1_ClosingEndsScopes(t *testing.T) {
	server := bustest.Server(t)
	conn, host := bustest.Connect(t, server), bustest.Connect(t, server)
	var running, most atomic.Int64
	full := make(chan struct{})
	filled := sync.OnceFunc(func() { close(full) })
	e := start(t, conn, Options{
		Providers: []Provider{funcs(t, "shop", New("add", "adds", add))},
		Namespaces: []Namespace{crm(func(n *Namespace) {
			n.Scope = func(ctx context.Context, _ schemas.Identity) (any, error) {
				n := running.Add(1)
				defer running.Add(-1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				if n == scopePlaces {
					filled()
				}
				<-ctx.Done()
				return nil, ctx.Err()
			}
		})},
	})
	const asked = 2 * scopePlaces
	answers := make(chan error, asked)
	for range asked {
		go func() {
			s, err := bus.Ask[schemas.Scope](context.Background(), host, bus.ScopeSubject("shop", "crm"), &schemas.ScopeAsk{Namespace: "crm"})
			if err == nil {
				err = s.Err
			}
			answers <- err
		}()
	}
	<-full
	if err := e.Close(soon(t)); err != nil {
		t.Error(err)
	}
	for range asked {
		if err := <-answers; err == nil {
			t.Error("a scope came of nothing")
		}
	}
	if most.Load() > scopePlaces || running.Load() != 0 {
		t.Errorf("%d ran at once, %d still do", most.Load(), running.Load())
	}
}
