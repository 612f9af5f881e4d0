package run

import (
	"strings"
	"testing"

	"github.com/codecell/codecell/actors/catalog"
	"github.com/codecell/codecell/schemas"
)

// L1, B1: whatever a guest of Tool Search asks for, it's answered searches and descriptions, and which tool an id means.
func TestSpec_L1_B1_NothingElseIsAnswered(t *testing.T) {
	read := schemas.Tool{Source: schemas.SourceNative, Owner: "core", Name: "read"}
	shown := schemas.Tool{Source: schemas.SourceNative, Owner: "core", Name: "screen"}
	cat, _ := catalog.Build([]schemas.Tool{read}, catalog.Options{Contract: catalog.ContractToolSearch})
	p := &port{
		admission: &Admission{Catalog: cat, Direct: []DirectTool{{"screen", shown}}}, counters: newCounters(), searching: true,
		skills: NewSkills([]Skill{{}}), results: &results{},
	}
	for _, kind := range []string{"store", "load", "results.save", "results.load", "results.delete", "skills.list", "skills.read", "skills.search", "steal", ""} {
		if got := p.Local(kind, schemas.JSON(`{"key":"k","id":"i","name":"n","query":"q","value":1}`), false); got.Err == nil || got.Err.Message != "unknown request "+kind {
			t.Errorf("%s: %+v", kind, got)
		}
	}
	for _, kind := range []string{"search", "describe"} {
		if got := p.Local(kind, schemas.JSON(`{"query":"read","ref":0}`), false); got.Err != nil || !strings.Contains(string(got.Value), `"openclaw:core:read"`) {
			t.Errorf("%s: %s, %+v", kind, got.Value, got.Err)
		}
	}
	for method, want := range map[string]string{
		"tool.find": `{"ok":0}`, "api.list": "unknown look-up", "api.read": "unknown look-up", "mcp.api": "unknown look-up", noteMethod: "unknown look-up",
	} {
		if got, _ := p.Sync(method, []byte(`{"id":"openclaw:core:read"}`)); !strings.Contains(string(got), want) {
			t.Errorf("%s: %s, want %s", method, got, want)
		}
	}
	if got, _ := p.Sync("tool.find", []byte(`{"id":"screen"}`)); !strings.Contains(string(got), "call directly") {
		t.Errorf("a tool that is shown: %s", got)
	}
	if _, err := p.Keep(schemas.JSON(`[1]`), false); err == nil || p.Unsaved() {
		t.Errorf("kept: %v, unsaved %v", err, p.Unsaved())
	}
}

// The parser of a run's programs follows its surface first, then its contract.
func TestSpec_L1_J1_WhoseInputIsParsed(t *testing.T) {
	for _, c := range []struct{ search, contract, input string }{
		{"", "", `{"title":"t","code":"1","awaitResults":true}`},
		{"", schemas.Contract202607, `{"code":"1","language":"typescript"}`},
		{schemas.ToolSearchCode, "", `{"code":"1"}`},
		{schemas.ToolSearchCode, schemas.Contract202607, `{"code":"1"}`},
	} {
		a := &Admission{Surface: schemas.Surface{Search: c.search}}
		for _, input := range []string{`{"title":"t","code":"1","awaitResults":true}`, `{"code":"1","language":"typescript"}`, `{"code":"1"}`} {
			wanted := input == c.input || input == `{"code":"1"}` && c.contract != ""
			if _, err := a.parser(c.contract)(schemas.JSON(input)); (err == nil) != wanted {
				t.Errorf("search %q, contract %q: %s: %v", c.search, c.contract, input, err)
			}
		}
	}
}
