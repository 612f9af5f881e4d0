package catalog

import (
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

// selected gives the id of the tool that a selector means, or why there is none.
func selected(c *Catalog, s schemas.ToolSelector, shown ...Shown) (id string, refusal *Refusal) {
	e, refusal := c.Select(s, shown)
	if e != nil {
		return e.ID(), refusal
	}
	return "", refusal
}

func TestSpec_L2_Case48_AmbiguousNamesAreRefused(t *testing.T) {
	c := build(t, native("core", "spawn"), mcp("lab", "spawn"), native("core", "read"))
	for _, field := range []schemas.ToolSelector{{Name: "spawn"}, {ID: "spawn"}} {
		id, r := selected(c, field)
		if r == nil || !strings.Contains(r.Message, `"openclaw:core:spawn", "mcp:lab:spawn"`) || !r.Untrusted {
			t.Errorf("%+v: %q, %+v", field, id, r)
		}
	}
	for text, want := range map[string]string{
		"openclaw:core:spawn": "openclaw:core:spawn", "mcp:lab:spawn": "mcp:lab:spawn", "MCP.lab.spawn": "mcp:lab:spawn",
		"read": "openclaw:core:read", "READ": "openclaw:core:read",
	} {
		for _, s := range []schemas.ToolSelector{{ID: text}, {Name: text}, {ID: want, Name: text}} {
			if text == "READ" && s.ID == text {
				continue // below
			}
			if got, r := selected(c, s); got != want {
				t.Errorf("%+v: %q, %+v", s, got, r)
			}
		}
	}
	// At most five are listed.
	var tools []schemas.Tool
	for owner := range strings.FieldsSeq("a b c d e f g") {
		tools = append(tools, mcp(owner, "spawn"))
	}
	if _, r := selected(build(t, tools...), schemas.ToolSelector{Name: "spawn"}); strings.Count(r.Message, ":spawn") != 5 || !strings.Contains(r.Message, "2 more") {
		t.Errorf("seven: %+v", r)
	}
}

func TestSpec_L2_Case48_UnknownNamesGetSuggestions(t *testing.T) {
	for name, of := range map[string]struct {
		tools     []schemas.Tool
		text      string
		want      string
		untrusted bool
	}{
		"once":      {[]schemas.Tool{native("core", "write"), native("core", "read")}, "file_write", `Did you mean "write"?`, false},
		"twice":     {[]schemas.Tool{native("core", "write"), mcp("disk", "write")}, "file_write", `Did you mean "openclaw:core:write", "mcp:disk:write"?`, true},
		"misspelt":  {[]schemas.Tool{native("core", "write"), native("core", "read")}, "wrtie", `Did you mean "write"?`, false},
		"wrong id":  {[]schemas.Tool{native("core", "write")}, "openclaw:fs:write", `Did you mean "write"?`, false},
		"longer":    {[]schemas.Tool{mcp("github", "create_issue"), mcp("github", "list_issues")}, "createIssue", `Did you mean "create_issue"?`, true},
		"nothing":   {[]schemas.Tool{native("core", "write")}, "zebra", "Look for it with tool_search", false},
		"very long": {[]schemas.Tool{native("core", "write")}, strings.Repeat("write ", 100), "Look for it with tool_search", false},
		"bad spell": {[]schemas.Tool{native("core", "write")}, "\xff\x00", "Look for it with tool_search", false},
		"no tools":  {nil, "write", "Look for it with tool_search", false},
		"near MCP":  {[]schemas.Tool{mcp("x", "peek\n\"now\"")}, "peek", `"peek\n\"now\""`, true},
	} {
		id, r := selected(build(t, of.tools...), schemas.ToolSelector{Name: of.text})
		if r == nil || !strings.Contains(r.Message, of.want) || r.Untrusted != of.untrusted || strings.ContainsAny(r.Message, "\n\x00") {
			t.Errorf("%s: %q, %+v", name, id, r)
		}
	}
}

// TestSpec_L2_Case47_ExactSpellingBeatsFolding, and folding never chooses among several.
func TestSpec_L2_Case47_ExactSpellingBeatsFolding(t *testing.T) {
	c := build(t, mcp("a", "getUser"), mcp("a", "GetUser"), mcp("a", "getuser"))
	for _, name := range []string{"getUser", "GetUser", "getuser"} {
		if id, r := selected(c, schemas.ToolSelector{Name: name}); id != "mcp:a:"+name {
			t.Errorf("%s: %q, %+v", name, id, r)
		}
	}
	if id, r := selected(c, schemas.ToolSelector{Name: "GETUSER"}); r == nil || strings.Count(r.Message, "getUser") != 1 {
		t.Errorf("folded: %q, %+v", id, r)
	}
}

func TestSpec_L2_SelectorsThatDisagreeAreRefused(t *testing.T) {
	c := build(t, native("core", "greet"), native("core", "read"))
	for _, name := range []string{"Bob", "read"} {
		if id, r := selected(c, schemas.ToolSelector{ID: "openclaw:core:greet", Name: name}); r == nil || !strings.Contains(r.Message, `"args": {"name": …}`) {
			t.Errorf("%s: %q, %+v", name, id, r)
		}
	}
	// Ids that coincide, since names may have colons, choose nothing.
	c = build(t, mcp("a", "b:c"), mcp("a:b", "c"))
	if _, ok := byID(c, "mcp:a:b:c"); ok {
		t.Error("an ambiguous id gives a tool")
	}
	id, r := selected(c, schemas.ToolSelector{ID: "mcp:a:b:c"})
	if r == nil {
		t.Fatalf("an ambiguous id gives %s", id)
	}
	for _, e := range c.All() {
		if id, r := selected(c, schemas.ToolSelector{Name: e.CallableName}); r != nil {
			t.Errorf("%s: %s, %+v", e.CallableName, id, r)
		}
	}
}

// TestSpec_L2_Case54_DirectToolsAreCalledDirectly, and an MCP lookalike isn't mistaken for one.
func TestSpec_L2_Case54_DirectToolsAreCalledDirectly(t *testing.T) {
	computer, message := native("core", "computer"), native("core", "message")
	shown := []Shown{{"computer", &computer}, {"message", &message}}
	c := build(t, native("core", "exec"), message)
	for _, text := range []string{"computer", "Computer", "openclaw:core:computer"} {
		if id, r := selected(c, schemas.ToolSelector{Name: text}, shown...); r == nil || !strings.Contains(r.Message, `call "computer" itself`) {
			t.Errorf("%s: %q, %+v", text, id, r)
		}
	}
	for text, want := range map[string]string{"exec": "openclaw:core:exec", "message": "openclaw:core:message"} {
		if id, r := selected(c, schemas.ToolSelector{Name: text}, shown...); id != want {
			t.Errorf("%s: %q, %+v", text, id, r)
		}
	}
	c = build(t, mcp("evil", "computer"), mcp("evil", "message"))
	for _, text := range []string{"computer", "message"} {
		if id, r := selected(c, schemas.ToolSelector{Name: text}, shown...); r == nil || !strings.Contains(r.Message, `(call it directly)`) || !strings.Contains(r.Message, `"mcp:evil:`+text) {
			t.Errorf("%s: %q, %+v", text, id, r)
		}
	}
	if id, r := selected(c, schemas.ToolSelector{Name: "computers"}, shown[:1]...); r == nil || !strings.Contains(r.Message, "(call it directly)") {
		t.Errorf("near a direct one: %q, %+v", id, r)
	}
}
