package run

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/codecell/codecell/actors/catalog"
	"github.com/codecell/codecell/schemas"
)

// entryOf admits one tool.
func entryOf(t *testing.T, tool schemas.Tool) *catalog.Entry {
	t.Helper()
	if tool.Owner == "" {
		tool.Owner = "lab"
	}
	cat, problems := catalog.Build([]schemas.Tool{tool}, catalog.Options{Servers: map[string]schemas.ServerInfo{"files": {Resources: true, Prompts: true}}})
	entry, ok := cat.Callable(0)
	if len(problems) > 0 || !ok {
		t.Fatal(problems)
	}
	return entry
}

func TestUnderstudies_AnswerInTheShapeOfTheTool(t *testing.T) {
	for _, c := range []struct {
		tool            schemas.Tool
		args, want, err string
	}{
		{tool: schemas.Tool{Source: schemas.SourceNative, Name: "issue", Output: schemas.JSON(`{"type":"object","properties":{"id":{"type":"integer","minimum":1}},"required":["id"]}`)},
			args: `{}`, want: `{"id":1}`},
		{tool: schemas.Tool{Source: schemas.SourceNative, Name: "send"}, args: `{"to":"a"}`, want: `{"placeholder":true,"tool":"send"}`},
		{tool: schemas.Tool{Source: schemas.SourceNative, Name: "odd", Output: schemas.JSON(`{"not":{}}`)}, want: `{"placeholder":true,"tool":"odd"}`},
		{tool: schemas.Tool{Source: schemas.SourceMCP, Owner: "files", Name: "write_file"},
			want: `{"content":[{"type":"text","text":"placeholder: MCP.files.writeFile was not called (dry run)"}]}`},
		{tool: schemas.Tool{Source: schemas.SourceMCP, Owner: "files", Name: "stat", Output: schemas.JSON(`{"type":"object","properties":{"size":{"type":"integer"}}}`)},
			want: `{"content":[{"type":"text","text":"placeholder: MCP.files.stat was not called (dry run)"}],"structuredContent":{"size":0}}`},
		{tool: schemas.Tool{Source: schemas.SourceNative, Name: "strict", Parameters: schemas.JSON(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
			args: `{"pth":"a"}`, err: `strict: path: expected a string, but it is missing (got "pth": did you mean "path"?)`},
		{tool: schemas.Tool{Source: schemas.SourceNative, Name: "list"}, args: `[1]`, err: "list takes one object of named arguments, not an array"},
		{tool: schemas.Tool{Source: schemas.SourceNative, Name: "broken", Output: schemas.JSON(`{"type":"nonsense"}`)}, args: `{}`, err: "broken can't be called: its output schema is invalid"},
	} {
		entry := entryOf(t, c.tool)
		u := newUnderstudies()
		for range 2 {
			a := u.answer(&entry.Tool, entry.CallableName, &schemas.Call{ID: "7", Args: schemas.JSON(c.args)})
			if a.ID != "7" || a.Untrusted != (c.tool.Source == schemas.SourceMCP) || string(a.Value) != c.want {
				t.Errorf("%s: %+v\n value %s\n want  %s", c.tool.Name, a, a.Value, c.want)
			}
			if (a.Err != nil) != (c.err != "") || a.Err != nil && (!strings.Contains(a.Err.Message, c.err) || a.Err.Effect != schemas.NotStarted) {
				t.Errorf("%s: error %+v, want %q", c.tool.Name, a.Err, c.err)
			}
		}
	}
}

// The operations of a server have placeholders of their native shape: programs go through lists.
func TestUnderstudies_Operations(t *testing.T) {
	cat, _ := catalog.Build(nil, catalog.Options{Servers: map[string]schemas.ServerInfo{"files": {Resources: true, Prompts: true}}})
	u := newUnderstudies()
	for ref, args := range []string{`{}`, `{"uri":"a:b"}`, `{}`, `{"name":"a"}`} {
		entry, ok := cat.Callable(ref)
		if !ok {
			t.Fatal("no operation", ref)
		}
		a := u.answer(&entry.Tool, entry.CallableName, &schemas.Call{ID: "1", Args: schemas.JSON(args)})
		if a.Err != nil || !json.Valid(a.Value) || !strings.Contains(string(a.Value), "placeholder") && !strings.Contains(string(a.Value), "messages") || !a.Untrusted {
			t.Errorf("%s: %+v", entry.CallableName, a)
		}
		if bad := u.answer(&entry.Tool, entry.CallableName, &schemas.Call{ID: "1", Args: schemas.JSON(`{"x":1}`)}); bad.Err == nil || bad.Err.Code != schemas.CallInputContract {
			t.Errorf("%s with a wrong argument: %+v", entry.CallableName, bad)
		}
	}
}

// The list of a dry run is bounded, says what it leaves out, and is the reader's own.
func TestPlaybill_IsBounded(t *testing.T) {
	b := newPlaybill()
	large := schemas.JSON(`"` + strings.Repeat("x", 40<<10) + `"`)
	b.add("1", "a", large, true)
	b.add("2", "b", large, false)
	b.add("3", "c", schemas.JSON(`{"small":1}`), true)
	got := b.copied()
	if len(got.Calls) != 3 || got.Dropped != 0 || got.Calls[0].OmittedBytes != 0 || string(got.Calls[1].Args) != "null" || got.Calls[1].OmittedBytes != len(large) ||
		string(got.Calls[2].Args) != `{"small":1}` || got.Calls[1].Placeholder || !got.Calls[2].Placeholder {
		t.Errorf("list = %.300v", got)
	}
	got.Calls[0].Tool = "changed"
	for i := range 1000 {
		b.add(strconv.Itoa(i+4), "d", schemas.JSON(`{}`), true)
	}
	got = b.copied()
	if len(got.Calls) != schemas.MaxDryCalls || got.Dropped != 1003-schemas.MaxDryCalls || got.Calls[0].Tool != "a" {
		t.Errorf("%d listed, %d dropped, first %s", len(got.Calls), got.Dropped, got.Calls[0].Tool)
	}
	if b.made("3") || !b.made("2") {
		t.Error("placeholders and calls are confused")
	}
}
