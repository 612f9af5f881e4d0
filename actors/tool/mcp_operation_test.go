package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codecell/codecell/schemas"
)

func TestSpec_M3_ResourcesAndPromptsAreNative(t *testing.T) {
	s := connected(t, serverConfig("docs"))
	if offer := s.Offer(); len(offer.Problems) > 0 || len(offer.Tools) > 0 || !offer.Server.Resources || !offer.Server.Prompts {
		t.Fatalf("%+v", offer)
	}
	for _, c := range []struct{ name, args, want string }{
		{schemas.ListResources, ``, `{"resources":[` + docEntry("a") + `,` + docEntry("b") + `,` + docEntry("c") + `]}`},
		{schemas.ListPrompts, `{}`, `{"prompts":[` + docEntry("a") + `,` + docEntry("b") + `,` + docEntry("c") + `]}`},
		{schemas.ReadResource, `{"uri":"file:///a b"}`, `{"contents":[{"uri":"file:///a b","text":"<b>","_meta":{"n":9007199254740993}},{"uri":"x:","blob":"AAE="}]}`},
		{schemas.GetPrompt, `{"name":"p"}`, `{"messages":[{"role":"user","content":{"type":"text","text":"hi","_meta":{"args":null}}}]}`},
		{schemas.GetPrompt, `{"name":"p","arguments":{"__proto__":"1"}}`, `{"description":"says p","messages":[{"role":"user","content":{"type":"text","text":"hi","_meta":{"args":{"__proto__":"1"}}}}]}`},
	} {
		got, err := through(t, s, c.name, c.args)
		if err != nil || string(got) != c.want {
			t.Errorf("%s %s: %s, %v\nwant %s", c.name, c.args, got, err, c.want)
		}
	}
}

func TestSpec_M3_Case62_ListingsEnd(t *testing.T) {
	for kind, want := range map[string]struct{ tools, problem string }{
		"same-cursor":  {"[a]", `cursor "same" again`},
		"cycle":        {"[a b c]", `cursor "x" again`},
		"empty-cursor": {"[first second]", ""},
	} {
		offer := connected(t, serverConfig(kind)).Offer()
		if got := fmt.Sprint(toolNames(offer)); got != want.tools {
			t.Errorf("%s: %s", kind, got)
		}
		if got := strings.Join(offer.Problems, "|"); (want.problem == "") != (got == "") || !strings.Contains(got, want.problem) {
			t.Errorf("%s: %q", kind, got)
		}
	}
	if testing.Short() {
		return
	}
	cfg := serverConfig("pages")
	patience := 120_000.0 // ten thousand questions and answers
	cfg.ConnectTimeoutMs = &patience
	offer := connected(t, cfg).Offer()
	if len(offer.Tools) != maxPages || !strings.Contains(strings.Join(offer.Problems, ""), "cut after 10000 pages") {
		t.Errorf("%d tools, %q", len(offer.Tools), offer.Problems)
	}
}

func TestSpec_M3_Case62_ListsEnd(t *testing.T) {
	for kind, want := range map[string]struct{ names, incomplete string }{
		"docs-same-cursor":  {"[a a b]", `cut after page 2: the server gave the cursor "same" again`},
		"docs-cycle":        {"[a b c]", `cut after page 3: the server gave the cursor "x" again`},
		"docs-empty-cursor": {"[first second]", ""},
		"docs-empty-circle": {"[first second]", `the cursor "" again`},
		"docs-refused-page": {"[a]", "ends after page 1: the MCP server refused: no page [x]"},
		"docs-broken-page":  {"[a]", "its nextCursor is no string"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := connected(t, serverConfig(kind))
			for _, name := range []string{schemas.ListResources, schemas.ListPrompts} {
				got, err := through(t, s, name, `{}`)
				if err != nil {
					t.Fatal(err)
				}
				names, incomplete := listed(t, got)
				if fmt.Sprint(names) != want.names || !strings.Contains(incomplete, want.incomplete) || (incomplete == "") != (want.incomplete == "") {
					t.Errorf("%s: %v, incomplete %q", name, names, incomplete)
				}
			}
		})
	}
}

// listed gives the names in a list of resources or prompts, and why it is incomplete.
func listed(t *testing.T, value schemas.JSON) (names []string, incomplete string) {
	t.Helper()
	var list struct {
		Resources, Prompts []struct{ Name string }
		Incomplete         *string
	}
	if err := json.Unmarshal(value, &list); err != nil {
		t.Fatal(err)
	}
	for _, item := range append(list.Resources, list.Prompts...) {
		names = append(names, item.Name)
	}
	if list.Incomplete != nil {
		incomplete = *list.Incomplete
	}
	return names, incomplete
}

func TestSpec_M3_Case62_EndlessListsAreCut(t *testing.T) {
	if testing.Short() {
		t.Skip("reads thousands of pages")
	}
	for kind, want := range map[string]string{"docs-pages": "cut after 10000 pages", "docs-endless-megabytes": "cut after 6 pages"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			got, err := through(t, connected(t, serverConfig(kind)), schemas.ListResources, `{}`)
			if err != nil {
				t.Fatal(err)
			}
			names, incomplete := listed(t, got)
			if !strings.Contains(incomplete, want) || !strings.Contains(want, fmt.Sprint(len(names))) {
				t.Errorf("%d resources, incomplete %q", len(names), incomplete)
			}
		})
	}
}

func TestSpec_M3_FailuresSayWhereAndWhetherItRan(t *testing.T) {
	for _, c := range []struct {
		kind, name, args string
		code             schemas.CallCode
		location         string
		effect           schemas.Outcome
		says             string
	}{
		{"docs", schemas.ReadResource, `{"uri":"missing:"}`, schemas.CallToolError, atTool, schemas.Failed, "Resource not found"},
		{"docs", schemas.ReadResource, `{"uri":"odd:"}`, schemas.CallToolError, atTransport, schemas.Done, "no list of contents"},
		{"docs", schemas.ReadResource, `{"uri":"huge:"}`, schemas.CallToolError, atTransport, schemas.Done, "over the limit"},
		{"docs", schemas.ReadResource, `{"uri":"dies:"}`, schemas.CallToolError, atTransport, schemas.Unknown, "resources.read"},
		{"docs", schemas.ReadResource, `{"url":"a:"}`, schemas.CallInputContract, atInput, schemas.NotStarted, `did you mean "uri"`},
		{"docs", schemas.ReadResource, `"a:"`, schemas.CallInputContract, atInput, schemas.NotStarted, "not a string"},
		{"docs", schemas.ListResources, `{"cursor":"2"}`, schemas.CallInputContract, atInput, schemas.NotStarted, "cursor"},
		{"docs", schemas.GetPrompt, `{"name":"p","arguments":{"n":1}}`, schemas.CallInputContract, atInput, schemas.NotStarted, "expected a string"},
		{"docs-number-cursor", schemas.ListPrompts, `{}`, schemas.CallToolError, atTool, schemas.Failed, "its nextCursor is no string"},
		{"docs-no-list", schemas.ListPrompts, `{}`, schemas.CallToolError, atTool, schemas.Failed, "no list of prompts"},
		{"docs-dies-on-page-2", schemas.ListPrompts, `{}`, schemas.CallToolError, atTransport, schemas.Unknown, "broke while prompts.list ran"},
	} {
		got, err := through(t, connected(t, serverConfig(c.kind)), c.name, c.args)
		if err == nil || err.Code != c.code || err.Location != c.location || err.Effect != c.effect || !strings.Contains(err.Message, c.says) {
			t.Errorf("%s %s %s: %.100s, %+v", c.kind, c.name, c.args, got, err)
		}
	}
}

// The time limit of a call holds for all pages of a list together, and what comes too late hurts nobody.
func TestSpec_M3_Case64_ASlowAnswerDoesNotPoisonTheSession(t *testing.T) {
	for _, c := range []struct{ kind, name, args string }{
		{"docs", schemas.ReadResource, `{"uri":"never:"}`}, {"docs-hangs", schemas.ListResources, `{}`},
	} {
		s := connected(t, serverConfig(c.kind))
		for range 2 {
			if _, err := hurried(t, s, c.name, c.args); err == nil || err.Effect != schemas.Unknown || !strings.Contains(err.Message, "within 300ms") {
				t.Errorf("%s: %+v", c.name, err)
			}
			if got, err := through(t, s, schemas.GetPrompt, `{"name":"p"}`); err != nil {
				t.Errorf("%s then: %s %v", c.name, got, err)
			}
		}
	}
}

func TestSpec_M3_CancellingEndsAListAtOnce(t *testing.T) {
	s := connected(t, serverConfig("docs-hangs"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Call(ctx, callOf(schemas.ListResources, "1", `{}`), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestSpec_M3_OnlyWhatTheServerAnnouncesIsServed(t *testing.T) {
	for kind, want := range map[string]int{"docs": 4, "docs-and-tools": 4, "good": 2} {
		offer := connected(t, serverConfig(kind)).Offer()
		made, problems := compileOffer(offer, nil)
		if got := len(made) - len(offer.Tools); got != want || kind == "docs" && len(problems) > 0 {
			t.Errorf("%s: %d operations, %q", kind, got, problems)
		}
	}
	offer := schemas.Registration{Source: schemas.SourceNative, Owner: "lab", Server: schemas.ServerInfo{Resources: true}}
	if made, _ := compileOffer(offer, nil); len(made) != 0 {
		t.Errorf("an owner that is no MCP server serves %v", made)
	}
}

func TestSpec_M3_F4_TheServersEntryDecides(t *testing.T) {
	cfg := serverConfig("docs")
	cfg.ExcludeTools = []string{schemas.ListPrompts, schemas.GetPrompt, schemas.ReadResource}
	s := connected(t, cfg)
	if server := s.Offer().Server; !server.Resources || server.Prompts {
		t.Errorf("%+v", server)
	}
	for _, name := range []string{schemas.ReadResource, schemas.ListPrompts} {
		var refusal *schemas.CallError
		if _, err := s.Call(soon(t), callOf(name, "1", `{"uri":"a:"}`), nil); !errors.As(err, &refusal) || refusal.Location != atPolicy || refusal.Effect != schemas.NotStarted {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := through(t, s, schemas.ListResources, `{}`); err != nil {
		t.Error(err)
	}
	cfg = serverConfig("docs-and-tools")
	cfg.IncludeTools = []string{"echo"}
	if offer := connected(t, cfg).Offer(); offer.Server.Resources || offer.Server.Prompts || fmt.Sprint(toolNames(offer)) != "[echo]" {
		t.Errorf("%v %+v", toolNames(offer), offer.Server)
	}
}

// A server's tool doesn't take the name of an operation.
func TestSpec_M3_ReservedNamesAreQuarantined(t *testing.T) {
	good, err := admit("test", json.RawMessage(`{"name":"$resources"}`))
	if err != nil || good.Name != "$resources" {
		t.Errorf("%+v %v", good, err)
	}
	for _, name := range []string{schemas.ReadResource, schemas.GetPrompt, "$resources.templates"} {
		if _, err := admit("test", json.RawMessage(`{"name":"`+name+`","inputSchema":{"type":"object"}}`)); err == nil || !strings.Contains(err.Error(), "reserved") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What some other provider offers under such a name isn't what is called.
	forged := schemas.Registration{
		Source: schemas.SourceMCP, Owner: "x", Server: schemas.ServerInfo{Resources: true},
		Tools: []schemas.Tool{{Source: schemas.SourceMCP, Owner: "x", Name: schemas.ReadResource, Parameters: schemas.JSON(`true`)}},
	}
	made, _ := compileOffer(forged, nil)
	if _, bad := made[schemas.ReadResource].CheckInput(schemas.JSON(`{}`)); bad == nil {
		t.Error("the forged contract holds")
	}
}

func TestSpec_M3_OverHTTP(t *testing.T) {
	server, web := sdkServer(t, nil, nil)
	server.AddResource(&mcp.Resource{URI: "note:1", Name: "note"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "note:1", Text: "hé"}}}, nil
	})
	server.AddPrompt(&mcp.Prompt{Name: "greet"}, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "hi " + r.Params.Arguments["who"]}}}}, nil
	})
	s := connected(t, schemas.MCPServer{URL: web.URL})
	for _, c := range []struct{ name, args, want string }{
		{schemas.ListResources, `{}`, `{"resources":[{"name":"note","uri":"note:1"}]}`},
		{schemas.ReadResource, `{"uri":"note:1"}`, `{"contents":[{"uri":"note:1","text":"hé"}]}`},
		{schemas.ListPrompts, `{}`, `{"prompts":[{"name":"greet"}]}`},
		{schemas.GetPrompt, `{"name":"greet","arguments":{"who":"Ada"}}`, `{"messages":[{"content":{"type":"text","text":"hi Ada"},"role":"user"}]}`},
	} {
		if got, err := through(t, s, c.name, c.args); err != nil || string(got) != c.want {
			t.Errorf("%s: %s %v", c.name, got, err)
		}
	}
}
