package brain

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codecell/codecell/e2e/provider/chat"
)

// ask is a tool that a test shows.
func ask(name, description string) chat.Tool {
	var t chat.Tool
	t.Function.Name, t.Function.Description = name, description
	return t
}

// converse plays a conversation: it answers the brain's calls in their order, and gives them and its last word.
func converse(t *testing.T, model string, c Case, tools []chat.Tool, answers ...string) (calls []string) {
	t.Helper()
	text, err := json.Marshal([]Case{c})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	r := &chat.Request{Model: model, Tools: tools, Messages: []chat.Message{{Role: "user", Content: chat.Text(c.Prompt)}}}
	for {
		reply, err := b.Answer(r)
		if err != nil {
			t.Fatal(err)
		}
		if len(reply.Calls) == 0 {
			return append(calls, reply.Text)
		}
		f := reply.Calls[0].Function
		calls = append(calls, f.Name+f.Arguments)
		if len(calls) > len(answers) {
			return append(calls, "and no answer is left")
		}
		r.Messages = append(r.Messages, chat.Message{Role: "assistant", ToolCalls: reply.Calls},
			chat.Message{Role: "tool", ToolCallID: reply.Calls[0].ID, Content: chat.Text(answers[len(calls)-1])})
	}
}

func TestBrain(t *testing.T) {
	native := Case{Prompt: "get it", Tool: Tool{Owner: "o", Name: "get_it", Description: "Gets it"}, Args: json.RawMessage(`{"a":1}`)}
	server := native
	server.Tool.MCP = true
	search := []chat.Tool{ask("tool_search", ""), ask("tool_describe", ""), ask("tool_call", "")}
	for name, c := range map[string]struct {
		model   string
		it      Case
		tools   []chat.Tool
		answers []string
		want    []string
	}{
		"direct":            {it: native, tools: []chat.Tool{ask("o__get_it", "Gets it"), ask("other", "")}, answers: []string{"it"}, want: []string{`o__get_it{"a":1}`, "The tool has answered: it"}},
		"direct, not shown": {it: native, tools: []chat.Tool{ask("other", "")}, want: []string{giveUp}},
		"search": {it: native, tools: search, answers: []string{`[{"id":"openclaw:o:get_it","input":"{ a: number }"}]`, "it"}, want: []string{
			`tool_search{"query":"get it"}`, `tool_call{"args":{"a":1},"id":"openclaw:o:get_it"}`, "The tool has answered: it"}},
		"search twice, and read": {it: server, tools: search, answers: []string{`[]`, `data: {"x":[{"id":"mcp:o:get_it","name":"get_it"}]} end`, "about", "it"}, want: []string{
			`tool_search{"query":"get it"}`, `tool_search{"limit":20,"query":"get it"}`, `tool_describe{"id":"mcp:o:get_it"}`,
			`tool_call{"args":{"a":1},"id":"mcp:o:get_it"}`, "The tool has answered: it"}},
		"search in vain": {it: native, tools: search, answers: []string{`[{"id":"mcp:o:get_it"}]`, `none`}, want: []string{
			`tool_search{"query":"get it"}`, `tool_search{"limit":20,"query":"get it"}`, giveUp}},
		"search by program": {it: native, tools: []chat.Tool{ask("tool_search_code", "")}, answers: []string{`{"value":[{"id":"openclaw:o:get_it","input":"{}"}]}`, "it"}, want: []string{
			`tool_search_code{"code":"return await openclaw.tools.search(\"get it\")"}`,
			`tool_search_code{"code":"return await openclaw.tools.call(\"openclaw:o:get_it\", {\"a\":1})"}`, "The tool has answered: it"}},
		"code, from the index": {it: native, tools: []chat.Tool{ask("exec", "Tools:\nget_it({ a: number }) -> ?"), ask("wait", "")}, answers: []string{"it"}, want: []string{
			`exec{"code":"return await get_it({\"a\":1})","title":"Look and call"}`, "The tool has answered: it"}},
		"code, of a server": {it: server, tools: []chat.Tool{ask("exec", "get_it({ a: number }) -> ?"), ask("wait", "")},
			answers: []string{`{"value":[{"name":"MCP.p.getIt","tool":"get_it"},{"name":"MCP.o.getIt","tool":"get_it"}]}`, "about", "it"}, want: []string{
				`exec{"code":` + mustEncode(fmt.Sprintf(look, `"get it"`, 8)) + `,"title":"Look and call"}`,
				`exec{"code":"const [tool] = await catalog.search(\"MCP.o.getIt\", { limit: 1 });\nreturn (await tool.describe()).header","title":"Look and call"}`,
				`exec{"code":"return await MCP.o.getIt({\"a\":1})","title":"Look and call"}`, "The tool has answered: it"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, converse(t, "careful", c.it, c.tools, c.answers...)); diff != "" {
				t.Error(diff)
			}
		})
	}
	native.Times = 3
	if got := converse(t, "careful", native, []chat.Tool{ask("exec", "get_it({}) -> ?"), ask("wait", "")}, "3"); !strings.Contains(got[0], `length: 3 }, () => get_it({\"a\":1}))`) {
		t.Error(got)
	}
	native.Times = 0
	bold := converse(t, Bold, native, []chat.Tool{ask("exec", "get_it({}) -> ?"), ask("wait", "")}, "it")
	if len(bold) != 2 || !strings.Contains(bold[0], "limit: 1") {
		t.Error(bold)
	}
}

func mustEncode(text string) string {
	s, err := encode(text)
	if err != nil {
		panic(err)
	}
	return s
}
