package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

func TestPrintDryRun(t *testing.T) {
	var out bytes.Buffer
	a := &app{out: &out, err: &out}
	long := schemas.JSON(`{"text":"` + strings.Repeat("ü", 400) + `"}`)
	err := a.printResult(&schemas.Result{Status: schemas.StatusCompleted, Value: schemas.JSON("1"), DryRun: &schemas.DryRun{Dropped: 2, Calls: []schemas.DryCall{
		{ID: "1", Tool: "read", Args: schemas.JSON(`{"path":"a"}`)},
		{ID: "2", Tool: "MCP.mail.send", Args: long, Placeholder: true},
		{ID: "3", Tool: "write", Args: schemas.JSON("null"), OmittedBytes: 70000, Placeholder: true},
		{ID: "4", Tool: "x", Args: schemas.JSON("{\"a\":\"\x1b\"}"), Placeholder: true},
	}}})
	one := &schemas.DryRun{Calls: []schemas.DryCall{{ID: "1", Tool: "read", Args: schemas.JSON("{}")}}}
	a.printDryRun(one)
	if got := out.String(); !strings.HasSuffix(got, "dry run: 1 call\n  read {}\n") {
		t.Errorf("one call: %q", got)
	}
	out.Truncate(strings.LastIndex(out.String(), "dry run"))
	want := "1\ncompleted\ndry run: 6 calls, at least 3 of them not made\n  read {\"path\":\"a\"}\n  MCP.mail.send " + schemas.Prefix(string(long), 300) +
		"…  not made\n  write (70000 bytes of arguments)  not made\n  x {\"a\":\"\ufffd\"}  not made\n  and 2 more\n"
	if got := out.String(); err != nil || got != want {
		t.Errorf("printed %q\nwant    %q, %v", got, want, err)
	}
}

func TestExec_DryRun(t *testing.T) {
	c := cli{in: `return 1`}
	c.do(t, "exec", "--dry-run", "-").want(t, exitCompleted, "1\n", "dry run: no calls\n")
	got := c.do(t, "exec", "--dry-run", "--json", "-").object(t)
	if dry, ok := got["dryRun"].(map[string]any); !ok || len(dry["calls"].([]any)) != 0 {
		t.Errorf("as JSON: %v", got)
	}
	if plain := c.do(t, "exec", "--json", "-").object(t); plain["dryRun"] != nil {
		t.Errorf("a run that isn't dry: %v", plain)
	}
}
