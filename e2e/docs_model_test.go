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
}
