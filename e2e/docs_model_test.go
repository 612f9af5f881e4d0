package e2e

import "github.com/codecell/codecell/e2e/provider/script"

// docsProvider is the provider that the documents ask. A test asks docsModel in its place.
const docsProvider = "https://api.openai.com/v1"

// docsAgents is what the agents of the documents' programs say.
var docsAgents = []script.Step{
	{For: "^How many orders has customer C-101", Text: "2"},
	{For: "^How many orders has customer C-102", Text: "1"},
}

// docsModel is what the model of the documents says.
var docsModel = []script.Step{
	{
		For: "^How many orders", Expect: script.Expect{Tools: []string{"exec", "wait"}},
		Calls: []script.Call{{Name: "exec", Args: map[string]any{
			"title": "Count the orders", "code": `return JSON.parse((await read({ path: "orders.json" })).content).length`,
		}}},
	},
	{For: "^How many orders", Text: `There are {{last "value"}} orders.`},
	{For: "^Is that more", Expect: script.Expect{Messages: 5}, Text: "No, it is two less."},
	// The same question in each mode.
	{
		For: dearest, Expect: script.Expect{Absent: []string{"exec", "tool_search", "tool_search_code"}},
		Calls: []script.Call{{Name: "read", Args: map[string]any{"path": "products.json"}}},
	},
	{For: dearest, Expect: script.Expect{Last: []string{"SIDAMO"}}, Text: "Sidamo washed, at $31.80."},
	{
		For: dearest, Expect: script.Expect{Tools: []string{"exec", "wait"}},
		Calls: []script.Call{{Name: "exec", Args: map[string]any{
			"title": "Find the dearest", "code": `const all = JSON.parse((await read({ path: "products.json" })).content);
				return all.reduce((a, b) => (b.cents > a.cents ? b : a)).name`,
		}}},
	},
	{For: dearest, Expect: script.Expect{Last: []string{"Sidamo washed"}}, Text: "Sidamo washed, at $31.80."},
	{
		For: dearest, Expect: script.Expect{Tools: []string{"tool_search_code"}},
		Calls: []script.Call{{Name: "tool_search_code", Args: map[string]any{
			"code": `const { content } = await openclaw.tools.call("openclaw:core:read", { path: "products.json" });
				return JSON.parse(content).reduce((a, b) => (b.cents > a.cents ? b : a)).name`,
		}}},
	},
	{For: dearest, Expect: script.Expect{Last: []string{"Sidamo washed"}}, Text: "Sidamo washed, at $31.80."},
	{
		For: dearest, Expect: script.Expect{Tools: []string{"tool_search", "tool_describe", "tool_call"}, System: []string{"(?m)^- read: "}},
		Calls: []script.Call{{Name: "tool_call", Args: map[string]any{"name": "read", "args": map[string]any{"path": "products.json"}}}},
	},
	{For: dearest, Expect: script.Expect{Last: []string{`"tool":.*SIDAMO`}}, Text: "Sidamo washed, at $31.80."},
}

// dearest is what the model is asked in each mode.
const dearest = "^Which product is the dearest"
