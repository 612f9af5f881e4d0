package run

import (
	"testing"

	"github.com/codecell/codecell/actors/catalog"
	"github.com/codecell/codecell/schemas"
)

// The controller never sends what is refused here; a program that gets hold of a request reads a sentence,
// and the code stands in a field of its own.
func TestSpec_E2_RefusedLookUpsSayWhyInASentence(t *testing.T) {
	cat, _ := catalog.Build([]schemas.Tool{{Source: schemas.SourceNative, Owner: "core", Name: "read"}}, catalog.Options{})
	p := &port{admission: &Admission{Catalog: cat}, counters: newCounters()}
	for _, c := range []struct{ kind, payload, name, message string }{
		{"search", `{"query":7}`, "TypeError", "search query must be a string"},
		{"search", `{"query":"a","limit":-1}`, "TypeError", "limit must be a positive integer"},
		{"describe", `{"ref":9}`, "Error", "there is no tool number 9 in this run; take a handle from catalog.search or catalog.all"},
		{"describe", `{}`, "TypeError", "describe wants a tool handle"},
		{"steal", `{}`, "Error", "unknown request steal"},
	} {
		got := p.Local(c.kind, schemas.JSON(c.payload), false)
		if got.Err == nil || got.Err.Name != c.name || got.Err.Message != c.message || got.Err.Code != schemas.CallInvalidInput {
			t.Errorf("%s %s: %+v", c.kind, c.payload, got.Err)
		}
	}
	if got := p.Local("search", schemas.JSON(`{"query":"read"}`), false); got.Err != nil {
		t.Error(got.Err)
	}
}

// Q4: a call keeps its cell open if its tool knows how to be awaited, and it is asked to be, and not in the background.
func TestSpec_Q4_WhichCallsAreAwaited(t *testing.T) {
	cat, _ := catalog.Build([]schemas.Tool{
		{Source: schemas.SourceNative, Owner: "core", Name: "sh", Awaitable: true},
		{Source: schemas.SourceNative, Owner: "core", Name: "plain"},
		{Source: schemas.SourceMCP, Owner: "srv", Name: "claims", Awaitable: true},
		{Source: schemas.SourceClient, Owner: "client", Name: "brought", Awaitable: true},
	}, catalog.Options{})
	p := &port{admission: &Admission{Catalog: cat}, counters: newCounters()}
	for _, c := range []struct {
		tool, args string
		want       bool
	}{
		{"sh", `{"command":"x","awaitResults":true}`, true},
		{"sh", `{"awaitResults":true,"background":false}`, true},
		{"sh", `{"awaitResults":true,"background":true}`, false},
		{"sh", `{"awaitResults":false}`, false},
		{"sh", `{"awaitResults":"true"}`, false},
		{"sh", `{"awaitresults":true}`, false},
		{"sh", `{"command":"\"awaitResults\":true"}`, false},
		{"sh", `{"env":{"awaitResults":true}}`, false},
		{"sh", `["awaitResults",true]`, false},
		{"sh", `{"command":"x"}`, false},
		{"plain", `{"awaitResults":true}`, false},
		{"claims", `{"awaitResults":true}`, false},
		{"brought", `{"awaitResults":true}`, false},
		{"no such tool", `{"awaitResults":true}`, false},
	} {
		ref := 99
		for i := range cat.Size() {
			if e, ok := cat.Callable(i); ok && e.Name == c.tool {
				ref = i
			}
		}
		if got := p.Awaits(ref, schemas.JSON(c.args)); got != c.want {
			t.Errorf("%s %s: %v", c.tool, c.args, got)
		}
	}
}
