package catalog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/codecell/codecell/schemas"
)

// Limits of a tool that can be admitted.
const (
	// MaxNameLength bounds the names of tools and owners, in characters; it is MCP's bound too.
	MaxNameLength = 128
	// MaxSchemaBytes bounds each of a tool's two schemas.
	MaxSchemaBytes = 1 << 20
)

// Problem says why a tool or a namespace isn't in the catalog. It is for operators: its texts may come from
// outside.
type Problem struct {
	Source schemas.Source
	Owner  string
	Tool   string
	// Namespace, if set, is the id of the namespace that it is about; then there is no Tool.
	Namespace string
	Reason    string
}

// String names the tool and the reason in one line.
func (p Problem) String() string {
	if p.Namespace != "" {
		return fmt.Sprintf("namespace %s of %s %s isn't available: %s", quoteShort(p.Namespace), sourceNoun(p.Source), quoteShort(p.Owner), p.Reason)
	}
	return fmt.Sprintf("tool %s of %s %s isn't available: %s", quoteShort(p.Tool), sourceNoun(p.Source), quoteShort(p.Owner), p.Reason)
}

func sourceNoun(s schemas.Source) string {
	switch s {
	case schemas.SourceMCP:
		return "MCP server"
	case schemas.SourceClient:
		return "client"
	default:
		return "plugin"
	}
}

// admit chooses the tools of a catalog, in catalog order.
func admit(tools []schemas.Tool) (entries []*Entry, problems []Problem) {
	quarantine := func(t *schemas.Tool, reason string) {
		problems = append(problems, Problem{Source: t.Source, Owner: t.Owner, Tool: t.Name, Reason: reason})
	}
	sorted := make([]*schemas.Tool, 0, len(tools))
	for i := range tools {
		t := &tools[i]
		if t.DirectOnly || t.Source == schemas.SourceNative && t.Owner == "core" && schemas.IsControlName(t.Name) {
			continue
		}
		if reason := unfit(t); reason != "" {
			quarantine(t, reason)
			continue
		}
		sorted = append(sorted, t)
	}
	slices.SortStableFunc(sorted, compareTools)

	// One winner a name (C3). MCP tools live in their server's object, all others share the global one.
	type place struct{ server, name string }
	winners := make(map[place]*schemas.Tool, len(sorted))
	at := func(t *schemas.Tool) place {
		if t.Source == schemas.SourceMCP {
			return place{server: t.Owner, name: t.Name}
		}
		return place{name: t.Name}
	}
	for _, t := range sorted {
		first, taken := winners[at(t)]
		switch {
		case !taken, t.Source == schemas.SourceClient && first.Source == schemas.SourceNative:
			winners[at(t)] = t
		case t.ID() == first.ID() && compareTools(t, first) == 0:
			// Offered alike by several executors.
		case t.ID() == first.ID():
			quarantine(t, "it is registered twice, with different contents; the other one is used")
		default:
			quarantine(t, fmt.Sprintf("the name is taken by the tool of %s %s", sourceNoun(first.Source), quoteShort(first.Owner)))
		}
	}
	for _, t := range sorted {
		if winners[at(t)] == t {
			e := &Entry{Tool: *t}
			e.Tier = tierOf(t)
			entries = append(entries, e)
		}
	}
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Reason, b.Reason))
	})
	return entries, problems
}

// unfit says why a tool can't be admitted whatever the others are, or is empty.
func unfit(t *schemas.Tool) string {
	switch t.Source {
	case schemas.SourceNative, schemas.SourceMCP, schemas.SourceClient:
	default:
		return fmt.Sprintf("its source is %s; expected %q, %q or %q", quoteShort(string(t.Source)), schemas.SourceNative, schemas.SourceMCP, schemas.SourceClient)
	}
	if reason := unfitName("name", t.Name); reason != "" {
		return reason
	}
	if reason := unfitName("owner", t.Owner); reason != "" {
		return reason
	}
	if t.Source == schemas.SourceMCP && schemas.IsOperation(t.Name) {
		return "its name is reserved for the resources and prompts of servers"
	}
	if reason := unfitSchema("input schema", t.Parameters); reason != "" {
		return reason
	}
	return unfitSchema("output schema", t.Output)
}

func unfitName(what, name string) string {
	switch {
	case !utf8.ValidString(name):
		return "its " + what + " isn't valid UTF-8"
	case strings.TrimSpace(name) == "":
		return "its " + what + " is blank"
	case utf8.RuneCountInString(name) > MaxNameLength:
		return fmt.Sprintf("its %s has %d characters; at most %d are allowed", what, utf8.RuneCountInString(name), MaxNameLength)
	}
	return ""
}

func unfitSchema(what string, schema schemas.JSON) string {
	switch {
	case len(schema) == 0:
		return ""
	case len(schema) > MaxSchemaBytes:
		return fmt.Sprintf("its %s has %d bytes; at most %d are allowed", what, len(schema), MaxSchemaBytes)
	case !json.Valid(schema) || !utf8.Valid(schema):
		return "its " + what + " isn't JSON"
	}
	return ""
}

// compareTools is the catalog's order (C1). It tells any two different tools apart, so that the
// order in which they were registered never shows.
func compareTools(a, b *schemas.Tool) int {
	return cmp.Or(
		cmp.Compare(tierOf(a), tierOf(b)),
		cmp.Compare(a.Owner, b.Owner),
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Label, b.Label),
		cmp.Compare(a.Description, b.Description),
		bytes.Compare(a.Parameters, b.Parameters),
		bytes.Compare(a.Output, b.Output),
		compareBool(a.ReplaySafe, b.ReplaySafe),
		compareBool(a.Idempotent, b.Idempotent),
		compareBool(b.OwnerOnly, a.OwnerOnly), // of two alike, the stricter one
		compareBool(b.Sequential, a.Sequential),
	)
}

// tierOf doesn't believe a tier that contradicts the source: where a tool comes from decides
// whether it is trusted.
func tierOf(t *schemas.Tool) schemas.Tier {
	switch t.Source {
	case schemas.SourceMCP:
		return schemas.TierMCP
	case schemas.SourceClient:
		return schemas.TierClient
	default:
		return min(t.Tier, schemas.TierPlugin)
	}
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}
