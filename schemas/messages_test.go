package schemas_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

var (
	anIdentity = schemas.Identity{Agent: "default", SessionID: "s-1", SessionKey: "main", Run: "turn-7", Sender: "ada", Channel: "cli", Sandbox: "box", Depth: 1, Restricted: true}
	anAddress  = schemas.Address{Host: "h1", Run: "r1", Cell: "c1"}
	aGrant     = &schemas.Grant{Scope: schemas.GrantCell, Calls: 10, Used: 1, Match: schemas.JSON(`{"type":"object"}`), Expires: 1767225600000000000,
		Source: schemas.SourceNative, Owner: "core", Tool: "write", Approval: "e1-a1", By: "ada"}
	aFailure = &schemas.CallError{Code: schemas.CallToolError, Name: "TypeError", Message: "no", Location: "tool", Effect: schemas.Failed}
	anError  = &schemas.Error{Code: schemas.InvalidInput, Message: "title: give a short title", Field: "title"}
	aTool    = schemas.Tool{
		Source: schemas.SourceMCP, Tier: schemas.TierMCP, Owner: "fs", Name: "read_file", Label: "Read", Description: "Reads a file.",
		Parameters: schemas.JSON(`{"type":"object"}`), Output: schemas.JSON(`{"type":"string"}`),
		ReplaySafe: true, Idempotent: true, DirectOnly: true, OwnerOnly: true, Sequential: true, Approval: true, Awaitable: true,
	}
	aSurface = schemas.Surface{Tools: []schemas.SurfaceTool{{
		Direct: true, Name: "exec", Title: "Run", Description: "Runs a program.",
		InputSchema: schemas.JSON(`{"type":"object"}`), OutputSchema: schemas.JSON(`{}`),
		Control: true,
	}}, Version: "v-1", Mode: schemas.ModeSearch, Search: schemas.ToolSearchTools, Prompt: "Tools: read.", CatalogSize: 3,
		Sources: schemas.SourceCounts{Native: 1, MCP: 1, Client: 1}}
	anEntry  = schemas.CatalogEntry{CallableName: "read", ToolName: "read", Owner: "core", Source: schemas.SourceNative, Description: "Reads.", Input: "{path: string}", Output: "{content: string}"}
	aCommand = schemas.NodeCommand{Name: "backup.start", Description: "Backs up.", Params: schemas.JSON(`{"type":"object"}`)}
	aTotal   = &schemas.RunTotals{Searches: 1, Describes: 2, Calls: 3, Called: []schemas.CalledTool{{ID: "mcp:fs:read", Source: schemas.SourceMCP, Count: 3}}, Dropped: 1}
	aUsage   = schemas.Usage{InputTokens: 1000, CachedTokens: 500, OutputTokens: 20}
	aCounted = schemas.Telemetry{
		CatalogSize: 3, Sources: schemas.SourceCounts{Native: 1, MCP: 1, Client: 1}, CounterScope: "run-1", SearchCount: 1, DescribeCount: 2, CallCount: 3,
		VisibleTools: []string{"exec", "wait"}, Calls: []schemas.CallOutcome{{ID: "1", Tool: "read", Outcome: schemas.Done}},
	}
)

// messages holds one full value of every type that travels, and so one row of every golden file.
var messages = []any{
	schemas.Ack{Err: anError, Totals: aTotal},
	schemas.Approval{ID: "e1-a1", Executor: "e1", State: schemas.ApprovalApproved, Tool: "write", Source: schemas.SourceNative, Owner: "core",
		Input: schemas.JSON(`{"path":"a"}`), Call: "1", ParentID: "toolu_1", Address: anAddress, Identity: anIdentity, Reason: "tools.approve includes it",
		Opened: 1767225600000000000, Deadline: 1767225900000000000, DecidedAt: 1767225660000000000, By: "ada", Note: "fine", Grant: aGrant},
	schemas.ApprovalClosed{At: 1767225600000000000, Address: anAddress, Call: "1", Approval: "e1-a1", State: schemas.ApprovalDenied, By: "ada",
		Granted: 10, Scope: schemas.GrantCell},
	schemas.ApprovalOpened{At: 1767225600000000000, Address: anAddress, Call: "1", Approval: "e1-a1", Source: schemas.SourceNative, Owner: "core", Tool: "write",
		Deadline: 1767225900000000000},
	schemas.Decision{Approval: "e1-a1", Approve: true, By: "ada", Note: "fine", Grant: aGrant},
	schemas.GrantUsed{At: 1767225600000000000, Address: anAddress, Call: "2", Approval: "e1-a1", Tool: "write", Scope: schemas.GrantCell, Left: 9},
	schemas.Grants{Grants: []schemas.Grant{*aGrant}},
	schemas.HookEvent{Phase: schemas.AfterToolCall, Hook: "audit", Tool: "exec", ToolKind: schemas.ToolKindExec, ToolInputKind: schemas.ToolInputJavaScript,
		Source: schemas.SourceNative, Owner: "core", Call: "1", ParentID: "toolu_1", Address: anAddress, Identity: anIdentity,
		TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", Input: schemas.JSON(`{"path":"a"}`), Value: schemas.JSON(`1`), Err: aFailure, DurationUs: 12},
	schemas.SessionBatch{Key: "main", Entries: []schemas.JSON{schemas.JSON(`{"id":"e2","parent":"e1","at":1767225600000000000,"kind":"wait","wait":{"callId":"toolu_2","cell":"c1"}}`)}},
	schemas.Verdict{Block: true, Ask: true, Reason: "no", Input: schemas.JSON(`{"path":"b"}`), Err: anError},
	schemas.Answer{ID: "1", Executor: "e1", State: schemas.AnswerFailed, Value: schemas.JSON(`{"n":12345678901234567890}`), Untrusted: true,
		Err: &schemas.CallError{Code: schemas.CallToolError, Name: "TypeError", Message: "no", Location: "tool", Effect: schemas.Failed}},
	schemas.Bring{Identity: anIdentity, Client: "c1", Tools: []schemas.Tool{aTool}},
	schemas.Brought{Surface: aSurface, Problems: []string{"bad tool"}, Err: anError},
	schemas.Call{ID: "1", Address: anAddress, Source: schemas.SourceMCP, Owner: "fs", Tool: "read", Args: schemas.JSON(`{"path":"a"}`), Identity: anIdentity,
		ParentID: "toolu_1", TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", IdempotencyKey: "k", BudgetMs: 9000, Bound: true},
	schemas.CallEnded{At: 1767225600000000000, Address: anAddress, Call: "1", Outcome: schemas.Done, Code: schemas.CallToolError, DurationUs: 1500},
	schemas.CallProgressed{At: 1767225600000000000, Address: anAddress, Call: "1", Done: 1, Total: 2, Message: "half"},
	schemas.CallSent{At: 1767225600000000000, Address: anAddress, Call: "1", Source: schemas.SourceNative, Owner: "core", Tool: "read"},
	schemas.CallStarted{At: 1767225600000000000, Address: anAddress, Call: "1", Executor: "e1"},
	schemas.Cancel{Identity: anIdentity, Operator: true, Reason: "asked"},
	schemas.CellEnded{At: 1767225600000000000, Address: anAddress, Status: schemas.StatusFailed, Code: schemas.Timeout, Calls: 2, DurationUs: 10_000_000},
	schemas.CellNoted{At: 1767225600000000000, Address: anAddress, Phase: "collect", Text: "3 of 4"},
	schemas.CellParked{At: 1767225600000000000, Address: anAddress, Reason: schemas.ReasonYield, Pending: 2, SnapshotBytes: 44000},
	schemas.CellResumed{At: 1767225600000000000, Address: anAddress},
	schemas.CellStarted{At: 1767225600000000000, Address: anAddress, Title: "Count the files"},
	schemas.Close{Identity: anIdentity, Reason: "done", CallID: "toolu_1"},
	schemas.Describe{Known: "v1"},
	schemas.Described{Surface: aSurface, Catalog: []schemas.CatalogEntry{anEntry}, Problems: []string{"server gone"}, Err: anError},
	schemas.Direct{CallID: "toolu_1", Name: "screenshot", Args: schemas.JSON(`{"page":1}`), TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
	schemas.Directed{Source: schemas.SourceMCP, Value: schemas.JSON(`{"content":[]}`),
		Call: &schemas.CallError{Code: schemas.CallToolError, Name: "TypeError", Message: "no", Location: "tool", Effect: schemas.Failed}, Err: anError,
		Untrusted: true, Telemetry: &aCounted},
	schemas.Exec{CallID: "toolu_1", Input: schemas.JSON(`{"title":"t","code":"return 1"}`), TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", Recovers: "toolu_0"},
	schemas.ExecutorJoined{At: 1767225600000000000, Executor: "e1", Owner: "fs", Tools: 4},
	schemas.ExecutorLeft{At: 1767225600000000000, Executor: "e1", Owner: "fs", Reason: "drained"},
	schemas.ExecutorTrouble{At: 1767225600000000000, Executor: "e1", Owner: "fs", Problem: "not found"},
	schemas.Found{Hits: []schemas.CatalogEntry{anEntry}, Err: anError},
	schemas.Hold{Identity: anIdentity},
	schemas.HostStarted{At: 1767225600000000000, Host: "h1", Version: "1.0.0", Slots: 64},
	schemas.HostStatus{Host: "h1", Version: "1.0.0", Draining: true, Slots: schemas.SlotCount{Held: 1, Limit: 64}, Workers: schemas.SlotCount{Held: 2, Limit: 4},
		Cells:        []schemas.CellStatus{{Address: anAddress, Title: "t", State: "parked", Pending: 1, Slot: true, AgeMs: 12}},
		FactsDropped: 3, Problems: []string{"disk full"}},
	schemas.HostStopped{At: 1767225600000000000, Host: "h1", Reason: "signal", Dropped: 1},
	schemas.Node{ID: "UA", Name: "mac", Platform: "darwin/arm64", Version: "1", Commands: []schemas.NodeCommand{aCommand}, At: 1767225600000000000,
		Pairing: &schemas.NodePairing{Salt: []byte("salt"), Hash: []byte("hash"), Expires: 1767225700000000000}},
	schemas.NodeCall{ID: "c1", Command: "backup.start", Params: schemas.JSON(`{"n":1}`), TimeoutMs: 1000, Withdrawn: true},
	schemas.NodeOutcome{Call: "c1", Node: "UA", Value: schemas.JSON(`{"n":1}`), Err: aFailure},
	schemas.Open{Identity: anIdentity, Ephemeral: true, Bind: true, DryRun: true, LeaseMs: 60000, Mode: schemas.ModeAuto, Model: "openai/m", Raw: true, Front: true},
	schemas.Opened{Host: "h1", Run: "r1", Surface: aSurface, Err: anError},
	schemas.PairedNode{ID: "UA", Name: "mac", Platform: "darwin/arm64", At: 1767225600000000000, By: "ada", Revoked: 1767225700000000000, RevokedBy: "bob"},
	schemas.Ping{Calls: []string{"c1.1"}},
	schemas.Pong{Executor: "e1", Gone: []string{"c1.1"}},
	schemas.Registration{Executor: "e1", Source: schemas.SourceMCP, Owner: "fs", Tools: []schemas.Tool{aTool}, Problems: []string{"bad tool"},
		Namespaces: []schemas.Namespace{{ID: "n1", Global: "crm", Description: "Customers.", Prompt: "Ask crm first.", RequiredTools: []string{"read_file"}}},
		Server:     schemas.ServerInfo{Title: "Files", Version: "2", Instructions: "Be kind.", Resources: true, Prompts: true}},
	schemas.Result{Status: schemas.StatusCompleted, Value: schemas.JSON(`{"a":1.10}`), Warnings: []string{"w"}, RunID: "c1", Reason: schemas.ReasonPendingTools,
		Pending: []schemas.PendingCall{{ID: "1", Kind: "call", Tool: "read", State: "sent"}}, Error: "Error: no", Code: schemas.InternalError,
		Output:     []schemas.OutputItem{{Type: "text", Text: "hi"}, {Type: "json", Value: schemas.JSON(`[1]`)}},
		ReplaySafe: true, Telemetry: aCounted, Untrusted: true,
		DryRun: &schemas.DryRun{Calls: []schemas.DryCall{{ID: "1", Tool: "write", Args: schemas.JSON(`{"path":"a"}`), OmittedBytes: 3, Placeholder: true}},
			Dropped: 2}},
	schemas.RunClosed{At: 1767225600000000000, Host: "h1", Run: "r1", Reason: "closed"},
	schemas.RunOpened{At: 1767225600000000000, Host: "h1", Run: "r1", Identity: anIdentity, Tools: 3},
	schemas.Scope{JSON: schemas.JSON(`{"find":{"$tool":"read_file"}}`), Err: anError},
	schemas.ScopeAsk{Namespace: "n1", Identity: anIdentity},
	schemas.Sealed{Body: []byte("body"), Signature: []byte("signature")},
	schemas.Search{Query: "read file", Limit: 8},
	schemas.SlotFreed{At: 1767225600000000000, Host: "h1", Cell: "c1", Held: 0},
	schemas.SlotTaken{At: 1767225600000000000, Host: "h1", Cell: "c1", Held: 1},
	schemas.StatusAsk{},
	schemas.Stop{Reason: "aborted"},
	schemas.TurnEnded{At: 1767225600000000000, Host: "h1", Run: "r1", Stop: schemas.StopAnswered, Requests: 2, Totals: *aTotal, Usage: aUsage, CostUSD: 0.25, DurationUs: 1500},
	schemas.TurnRequested{At: 1767225600000000000, Host: "h1", Run: "r1", Request: 1, Attempt: 2, Bytes: 2000, ToolBytes: 1000, Status: 200, Failed: true,
		DurationUs: 1500, Usage: aUsage, ToolCalls: 1},
	schemas.TurnStarted{At: 1767225600000000000, Host: "h1", Run: "r1", Identity: anIdentity, Model: "openai/m", Mode: schemas.ModeSearch,
		Search: schemas.ToolSearchCode, Tools: 2, PromptBytes: 10, CatalogSize: 3, Label: "prices", Phase: "collect"},
	schemas.Wait{CallID: "toolu_2", Identity: anIdentity, RunID: "c1"},
}

func nameOf(m any) string { return reflect.TypeOf(m).Name() }

// parts are types with msgpack tags that travel only inside a message.
var parts = map[string]bool{
	"Address": true, "CallError": true, "CallOutcome": true, "CatalogEntry": true, "CellStatus": true, "Error": true, "Identity": true, "OutputItem": true,
	"PendingCall": true, "ServerInfo": true, "SlotCount": true, "SourceCounts": true, "Surface": true, "SurfaceTool": true, "Telemetry": true, "Tool": true,
	"DryCall": true, "DryRun": true, "Grant": true, "NodeCommand": true, "NodePairing": true, "Namespace": true, "RunTotals": true, "CalledTool": true, "Usage": true,
}

// TestEveryMessageIsInTheTable reads the package's source: a struct with msgpack tags that is
// neither a message of the table nor a part of one has no golden file.
func TestEveryMessageIsInTheTable(t *testing.T) {
	known := map[string]bool{}
	for _, m := range messages {
		known[nameOf(m)] = true
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			st, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range st.Fields.List {
				if field.Tag != nil && strings.Contains(field.Tag.Value, "msgpack:") {
					seen++
					if name := spec.Name.Name; !known[name] && !parts[name] {
						t.Errorf("%s travels but is not in the table of messages: add a full value, then run the test with -update", name)
					}
					break
				}
			}
			return true
		})
	}
	if seen < len(messages) {
		t.Errorf("found only %d message types in the source", seen)
	}
}

// TestTableValuesAreFull keeps the golden files honest: a field left zero would not be in them.
func TestTableValuesAreFull(t *testing.T) {
	for _, m := range messages {
		v := reflect.ValueOf(m)
		for i := range v.NumField() {
			if f := v.Type().Field(i); v.Field(i).IsZero() && f.Type.Kind() != reflect.Int {
				t.Errorf("%s.%s is not set in the table of messages", nameOf(m), f.Name)
			}
		}
	}
}
