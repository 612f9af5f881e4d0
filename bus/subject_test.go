package bus_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// build makes a subject of a row with the builder that others use.
func build(r *bus.Row, a []string) (string, bool) {
	switch r.Verb {
	case "open":
		return bus.OpenSubject(), true
	case "exec":
		return bus.ExecSubject(a[0], a[1]), true
	case "wait":
		return bus.WaitSubject(a[0], a[1]), true
	case "cancel":
		return bus.CancelSubject(a[0], a[1]), true
	case "close":
		return bus.CloseSubject(a[0], a[1]), true
	case "bring":
		return bus.BringSubject(a[0], a[1]), true
	case "hold":
		return bus.HoldSubject(a[0], a[1]), true
	case "client":
		return bus.ClientSubject(a[0], a[1], a[2]), true
	case "alive":
		return bus.AliveSubject(a[0], a[1], a[2]), true
	case "describe":
		return bus.DescribeSubject(a[0], a[1]), true
	case "search":
		return bus.SearchSubject(a[0], a[1]), true
	case "status":
		if len(a) == 0 {
			return bus.HostsSubject(), true
		}
		return bus.StatusSubject(a[0]), true
	case "stop":
		return bus.StopSubject(a[0], a[1], a[2], a[3]), true
	case "executor":
		return bus.ExecutorSubject(a[0]), true
	case "reply":
		return bus.ReplySubject(a[0], a[1], a[2]), true
	case "hook":
		return bus.HookSubject(a[0], a[1]), true
	case "decide":
		return bus.DecideSubject(a[0], a[1]), true
	case "node":
		return bus.NodeSubject(a[0]), true
	case "probe":
		return bus.ProbeSubject(a[0]), true
	case "session":
		return bus.SessionSubject(a[0]), true
	}
	return "", false
}

func TestSubject_ParseBuildIdentity(t *testing.T) {
	rows := bus.Rows()
	rapid.Check(t, func(t *rapid.T) {
		r := &rows[rapid.IntRange(0, len(rows)-1).Draw(t, "row")]
		address := make([]string, len(r.Address))
		for i := range address {
			address[i] = rapid.StringMatching(`[A-Za-z0-9_-]{1,40}`).Draw(t, "token")
		}
		subject, ok := build(r, address)
		if !ok {
			subject = strings.Join(append([]string{bus.Prefix + r.Verb}, address...), ".")
		}
		p, err := bus.Parse(subject)
		if err != nil {
			t.Fatal(err)
		}
		if p.Row.Pattern() != r.Pattern() {
			t.Fatalf("%s is of row %s, want %s", subject, p.Row.Pattern(), r.Pattern())
		}
		for i := range address {
			if p.Address(i) != address[i] || p.Get(r.Address[i]) != address[i] {
				t.Fatalf("%s: address %d is %q, want %q", subject, i, p.Address(i), address[i])
			}
		}
	})
}

func TestSubject_HostileTokensStayInTheirPlace(t *testing.T) {
	for _, bad := range []string{"", ".", "a.b", "*", ">", "a b", "é", "\x00", strings.Repeat("x.", 500), strings.Repeat("x", 5000)} {
		p, err := bus.Parse(bus.StopSubject(bad, bad, bad, bad))
		if err != nil {
			t.Errorf("%q: %v", bad, err)
			continue
		}
		if p.Get("call") != bus.Token(bad) {
			t.Errorf("%q became %q, want %q", bad, p.Get("call"), bus.Token(bad))
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, r := range bus.Rows() {
		f.Add(r.Pattern())
	}
	f.Add("codecell.v1.reply.h.c.1")
	f.Add("codecell.v1.feed.call.sent.h.c.1")
	f.Add("codecell.v1.stop.a.b.c.d.e")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := bus.Parse(s)
		if err != nil {
			return
		}
		again := bus.Prefix + p.Row.Verb
		for i := range p.Row.Address {
			again += "." + p.Address(i)
		}
		if again != s {
			t.Errorf("%q parsed as %q", s, again)
		}
		_, _ = bus.FactFor(s)
	})
}

func TestParse_AllocatesNothing(t *testing.T) {
	subject := bus.ReplySubject("h", "c", "1")
	if n := testing.AllocsPerRun(100, func() { _, _, _, _ = bus.ParseReply(subject) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestSpec_U4_EveryFactHasARow fills an address into each fact and sees that its subject
// leads back to its type.
func TestSpec_U4_EveryFactHasARow(t *testing.T) {
	seen := 0
	for _, r := range bus.Rows() {
		if !strings.HasPrefix(r.Verb, "feed.") {
			continue
		}
		seen++
		fact := r.New()
		subject, err := bus.FactSubject(fact)
		if err != nil {
			t.Errorf("%s: %v", r.Pattern(), err)
			continue
		}
		back, err := bus.FactFor(subject)
		if err != nil || reflect.TypeOf(back) != reflect.TypeOf(fact) {
			t.Errorf("%s leads to %T (%v), want %T", subject, back, err, fact)
		}
	}
	if seen != 24 {
		t.Errorf("%d rows of facts, want one for each of the 24 types", seen)
	}
	if _, err := bus.FactSubject(&schemas.Exec{}); err == nil {
		t.Error("an Exec passed for a fact")
	}
	if _, err := bus.FactFor(bus.ExecSubject("h", "r")); err == nil {
		t.Error("an exec subject passed for a fact's")
	}
}

func TestToken_Injective(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`_[eh]-[a-z0-9-]*`), rapid.StringMatching(`[a-z-]{0,3}`), rapid.StringMatching(`[a-z.]{110,130}`))
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		ta, tb := bus.Token(a), bus.Token(b)
		if (ta == tb) != (a == b) {
			t.Fatalf("%q → %q, %q → %q", a, ta, b, tb)
		}
		if len(ta) > 130 || strings.Trim(ta, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || ta == "" {
			t.Fatalf("%q → %q isn't a token", a, ta)
		}
	})
}

func TestOwnerToken_SourcesDontMeet(t *testing.T) {
	owners := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"fs", "mcp-fs", "client-fs", "mcp-mcp-fs", "_e-mcp-2dfs"}))
	sources := rapid.SampledFrom([]schemas.Source{schemas.SourceNative, schemas.SourceMCP, schemas.SourceClient})
	rapid.Check(t, func(t *rapid.T) {
		s1, o1, s2, o2 := sources.Draw(t, "s1"), owners.Draw(t, "o1"), sources.Draw(t, "s2"), owners.Draw(t, "o2")
		if (bus.OwnerToken(s1, o1) == bus.OwnerToken(s2, o2)) != (s1 == s2 && o1 == o2) {
			t.Fatalf("%s %q and %s %q: %q", s1, o1, s2, o2, bus.OwnerToken(s1, o1))
		}
	})
}

func TestSpec_G10_SwarmOf(t *testing.T) {
	swarm := bus.NewSwarmID()
	id := bus.NewAgentID(swarm)
	if got, err := bus.SwarmOf(id); err != nil || got != swarm {
		t.Errorf("%s belongs to %q (%v)", id, got, err)
	}
	for _, bad := range []string{"", "x", swarm, swarm + "-", swarm + "-" + strings.Repeat("A", 10), swarm + "." + strings.Repeat("a", 10), id + "a", "a-" + id, strings.Repeat(">", 19)} {
		if got, err := bus.SwarmOf(bad); !errors.Is(err, schemas.InvalidInput) {
			t.Errorf("%q belongs to %q (%v)", bad, got, err)
		}
	}
}

func TestSpec_U5_HostOf(t *testing.T) {
	host := bus.NewHostID()
	if got, err := bus.HostOf(bus.NewRunID(host)); err != nil || got != host {
		t.Errorf("got %q, %v, want %q", got, err, host)
	}
	for _, bad := range []string{"", "x", host, host + "-", host + "-" + strings.Repeat("A", 26), host + "." + strings.Repeat("a", 26), bus.NewRunID(host) + "a", strings.Repeat(">", 37)} {
		if _, err := bus.HostOf(bad); err == nil {
			t.Errorf("%q passed", bad)
		}
	}
}

func Example() {
	host, run := "k3v7q2m4xa", "k3v7q2m4xa-mfzwizltoq4tmnbvgy3tqojqme"
	fmt.Println(bus.ExecSubject(host, run))
	fmt.Println(bus.ReplySubject(host, run, "7"))
	fmt.Println(bus.ToolSubject(schemas.SourceMCP, "fs", "read_file"))
	fmt.Println(bus.ToolSubject(schemas.SourceNative, "core", "what.about dots?"))
	fmt.Println(bus.Facts("cell", "ended"))
	p, _ := bus.Parse("codecell.v1.stop.core.h.c.7")
	fmt.Println(p.Row.Pattern(), p.Get("call"))
	// Output:
	// codecell.v1.exec.k3v7q2m4xa.k3v7q2m4xa-mfzwizltoq4tmnbvgy3tqojqme
	// codecell.v1.reply.k3v7q2m4xa.k3v7q2m4xa-mfzwizltoq4tmnbvgy3tqojqme.7
	// codecell.v1.tool.mcp-fs.read_file
	// codecell.v1.tool.core._e-what-2eabout-20dots-3f
	// codecell.v1.feed.cell.ended.>
	// codecell.v1.stop.<owner>.<host>.<cell>.<call> 7
}
