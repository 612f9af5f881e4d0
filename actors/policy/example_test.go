package policy_test

import (
	"fmt"

	"github.com/codecell/codecell/actors/policy"
	"github.com/codecell/codecell/schemas"
)

func ExampleEffective() {
	c, err := schemas.ParseConfig([]byte(`{tools: {allow: ["read", "github"], deny: ["*delete*"]}}`), "codecell.json5")
	if err != nil {
		panic(err)
	}
	rules := policy.RulesFor(c, schemas.Identity{Agent: "default"})
	for _, t := range policy.Effective([]schemas.Tool{
		{Source: schemas.SourceNative, Owner: "core", Name: "read"},
		{Source: schemas.SourceNative, Owner: "core", Name: "write"},
		{Source: schemas.SourceMCP, Owner: "github", Name: "create_issue"},
		{Source: schemas.SourceMCP, Owner: "github", Name: "delete_repo"},
		{Source: schemas.SourceMCP, Owner: "other", Name: "read"},
	}, rules) {
		fmt.Println(t.ID())
	}
	// Output:
	// openclaw:core:read
	// mcp:github:create_issue
}
