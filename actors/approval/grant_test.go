package approval_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codecell/codecell/actors/approval"
	"github.com/codecell/codecell/schemas"
)

// grant has somebody approve a call together with a grant.
func (b *bed) grant(g *approval.Gate, call *schemas.Call, grant schemas.Grant) {
	b.t.Helper()
	a := b.ask(g, call)
	if err := b.decide(schemas.Decision{Approval: a.id, Approve: true, Grant: &grant}); err != nil {
		b.t.Fatal(err)
	}
	if err := <-a.verdict; err != nil {
		b.t.Fatal(err)
	}
}

// covered tells whether a call goes on without asking. One that asks is stopped.
func (b *bed) covered(g *approval.Gate, call *schemas.Call) bool {
	b.t.Helper()
	a := b.ask(g, call)
	if a.id != "" {
		a.stop()
	}
	return <-a.verdict == nil
}

// An approval covers one call; a grant covers what it says and nothing else (P3).
func TestSpec_P3_Case69_AGrantCoversOnlyWhatItSays(t *testing.T) {
	in := func(cell, run, key string) func(*schemas.Call) {
		return func(c *schemas.Call) { c.Address.Cell, c.Address.Run, c.Identity.SessionKey = cell, run, key }
	}
	for scope, sameScope := range map[schemas.GrantScope]func(*schemas.Call){
		schemas.GrantCell: in("c", "r", "k"), schemas.GrantRun: in("c2", "r", "k"), schemas.GrantSession: in("c2", "r2", "k"),
	} {
		otherScope := map[schemas.GrantScope]func(*schemas.Call){
			schemas.GrantCell: in("c2", "r", "k"), schemas.GrantRun: in("c", "r2", "k"), schemas.GrantSession: in("c", "r", "k2"),
		}[scope]
		t.Run(string(scope), func(t *testing.T) {
			b := newBed(t)
			g, elsewhere := b.gate("x1", time.Hour), b.gate("x2", time.Hour)
			b.grant(g, write(`{"path":"notes/a"}`), schemas.Grant{
				Scope: scope, Calls: 3, Match: schemas.JSON(`{"properties":{"path":{"type":"string","pattern":"^notes/"}},"required":["path"]}`),
				Used: -5, Tool: "everything", Owner: "other", // what the decider may not say
			})
			for name, change := range map[string]func(*schemas.Call){
				"another input":  func(c *schemas.Call) { c.Args = schemas.JSON(`{"path":"/etc/notes/"}`) },
				"no input":       func(c *schemas.Call) { c.Args = schemas.JSON(`{}`) },
				"broken input":   func(c *schemas.Call) { c.Args = schemas.JSON(`{"path":"notes/"`) },
				"another tool":   func(c *schemas.Call) { c.Tool = "edit" },
				"another owner":  func(c *schemas.Call) { c.Owner = "core" },
				"another source": func(c *schemas.Call) { c.Source = schemas.SourceMCP },
				"another scope":  otherScope,
			} {
				if b.covered(g, write(`{"path":"notes/b"}`, sameScope, change)) {
					t.Errorf("%s is covered", name)
				}
			}
			if scope == schemas.GrantSession {
				for name, change := range map[string]func(*schemas.Call){
					"another agent":  func(c *schemas.Call) { c.Identity.Agent = "clerk" },
					"another sender": func(c *schemas.Call) { c.Identity.Sender = "eve" },
					"a sandbox":      func(c *schemas.Call) { c.Identity.Sandbox = "box" },
				} {
					if b.covered(g, write(`{"path":"notes/b"}`, sameScope, change)) {
						t.Errorf("%s is covered", name)
					}
				}
			}
			for i, gate := range []*approval.Gate{g, elsewhere, g} {
				if !b.covered(gate, write(`{"path":"notes/b"}`, sameScope)) {
					t.Errorf("call %d is not covered", i)
				}
			}
			if b.covered(g, write(`{"path":"notes/b"}`, sameScope)) {
				t.Error("a fourth call is covered")
			}
			left := ""
			for len(b.facts) > 0 {
				if f, ok := (<-b.facts).(*schemas.GrantUsed); ok {
					left += fmt.Sprint(f.Left, f.Scope, f.Tool, " ")
				}
			}
			if want := strings.ReplaceAll("2_write 1_write 0_write ", "_", string(scope)); left != want {
				t.Errorf("%s, want %s", left, want)
			}
		})
	}
}

// Executors share the count: of many calls at once exactly as many go on as were granted.
func TestSpec_P3_AGrantIsNeverOverdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a slow machine must not end the attempts
		b := newBed(t)
		gates := []*approval.Gate{b.gate("x1", time.Hour), b.gate("x2", time.Hour), b.gate("x3", time.Hour)}
		b.grant(gates[0], write(`{}`), schemas.Grant{Scope: schemas.GrantRun, Calls: 25})
		const all = 60
		made := make([]*schemas.Call, all)
		for i := range made {
			made[i] = write(`{}`)
		}
		results := make(chan *asked, all)
		for i, call := range made {
			go func() { results <- b.ask(gates[i%len(gates)], call) }()
		}
		covered := 0
		for range all {
			if a := <-results; a.id == "" {
				covered++
				if err := <-a.verdict; err != nil {
					t.Error(err)
				}
			}
		}
		if covered != 25 {
			t.Errorf("%d calls went on, 25 were granted", covered)
		}
	})
}

// A grant lets those calls go on that wait already, on whatever executor.
func TestSpec_P3_AGrantCoversCallsThatWait(t *testing.T) {
	b := newBed(t)
	here, there := b.gate("x1", time.Hour), b.gate("x2", time.Hour)
	first, second, third := b.ask(here, write(`{"n":1}`)), b.ask(here, write(`{"n":2}`)), b.ask(there, write(`{"n":3}`))
	other := b.ask(there, write(`{"m":3}`))
	err := b.decide(schemas.Decision{Approval: first.id, Approve: true, Grant: &schemas.Grant{
		Scope: schemas.GrantRun, Calls: 5, Match: schemas.JSON(`{"required":["n"]}`),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []*asked{first, second, third} {
		if err := <-a.verdict; err != nil {
			t.Error(err)
		}
	}
	if r := b.find(third.id); r.State != schemas.ApprovalApproved || r.By != "ada" || r.Note != "by the grant of approval "+first.id {
		t.Errorf("%+v", r)
	}
	if r := b.find(other.id); r.State != schemas.ApprovalPending {
		t.Errorf("%+v", r)
	}
}

func TestSpec_P3_AGrantExpires(t *testing.T) {
	for name, c := range map[string]struct {
		grant schemas.Grant
		holds time.Duration
	}{
		"a session's, unless told":     {schemas.Grant{Scope: schemas.GrantSession}, time.Hour},
		"a session's, told":            {schemas.Grant{Scope: schemas.GrantSession, Expires: int64(24 * time.Hour)}, 24 * time.Hour},
		"a cell's":                     {schemas.Grant{Scope: schemas.GrantCell}, 24 * time.Hour},
		"a run's, told":                {schemas.Grant{Scope: schemas.GrantRun, Expires: int64(time.Minute)}, time.Minute},
		"by a clock that is in future": {schemas.Grant{Scope: schemas.GrantRun, Expires: int64(24*time.Hour + 30*time.Second)}, 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				g := b.gate("x1", time.Hour)
				c.grant.Calls = 100
				if c.grant.Expires != 0 {
					c.grant.Expires += time.Now().UnixNano()
				}
				b.grant(g, write(`{}`), c.grant)
				time.Sleep(c.holds - time.Second) // virtual: until shortly before its end
				if !b.covered(g, write(`{}`)) {
					t.Error("it has ended too early")
				}
				time.Sleep(2 * time.Second) // virtual: until after its end
				if b.covered(g, write(`{}`)) {
					t.Error("it goes on")
				}
			})
		})
	}
}

func TestSpec_P3_GrantsOfAScopeAreBounded(t *testing.T) {
	b := newBed(t)
	g := b.gate("x1", time.Hour)
	none := schemas.JSON(`{"required":["never"]}`)
	for range 64 {
		b.grant(g, write(`{}`), schemas.Grant{Scope: schemas.GrantCell, Calls: 1, Match: none})
	}
	a := b.ask(g, write(`{}`))
	err := b.decide(schemas.Decision{Approval: a.id, Approve: true, Grant: &schemas.Grant{Scope: schemas.GrantCell, Calls: 1}})
	if err == nil || !strings.Contains(err.Error(), "64 grants hold in this cell already") {
		t.Error(err)
	}
	a = b.ask(g, write(`{}`, func(c *schemas.Call) { c.Identity.SessionKey = "" }))
	err = b.decide(schemas.Decision{Approval: a.id, Approve: true, Grant: &schemas.Grant{Scope: schemas.GrantSession, Calls: 1}})
	if !strings.Contains(refusal(t, err), "belongs to no session") {
		t.Error(err)
	}
}
