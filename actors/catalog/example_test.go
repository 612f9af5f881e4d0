package catalog_test

import (
	"fmt"

	"github.com/codecell/codecell/actors/catalog"
	"github.com/codecell/codecell/schemas"
)

func ExampleBuild() {
	c, problems := catalog.Build([]schemas.Tool{
		{
			Source: schemas.SourceNative, Tier: schemas.TierCore, Owner: "core", Name: "read", Description: "Read a text file.",
			Parameters: schemas.JSON(`{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"}},"required":["path"]}`),
			Output:     schemas.JSON(`{"type":"object","properties":{"content":{"type":"string"}},"required":["content"]}`),
		},
		{Source: schemas.SourceMCP, Tier: schemas.TierMCP, Owner: "git-hub", Name: "create_issue", Description: "Opens a ticket."},
		{Source: schemas.SourceNative, Tier: schemas.TierPlugin, Owner: "demo", Name: ""},
	}, catalog.Options{})

	for _, e := range c.Entries() {
		fmt.Printf("%s takes %q\n", e.CallableName, e.Input)
	}
	fmt.Println(problems[0])
	fmt.Print(c.QuickIndex(0))
	// Output:
	// read takes "{ path: string; limit?: number }"
	// MCP.gitHub.createIssue takes ""
	// tool "" of plugin "demo" isn't available: its name is blank
	// read({ path: string; limit?: number }) -> { content: string }
}

func ExampleCatalog_Search() {
	c, _ := catalog.Build([]schemas.Tool{
		{Source: schemas.SourceMCP, Owner: "mail", Name: "send_email"},
		{Source: schemas.SourceMCP, Owner: "mail", Name: "send_email_to_list"},
		{Source: schemas.SourceMCP, Owner: "mail", Name: "delete_folder"},
	}, catalog.Options{})
	refs, err := c.Search("sending emails", 5)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, ref := range refs {
		e, _ := c.Tool(ref)
		fmt.Println(e.CallableName)
	}
	// Output:
	// MCP.mail.sendEmail
	// MCP.mail.sendEmailToList
}

func ExampleCatalog_Sync() {
	c, _ := catalog.Build([]schemas.Tool{{Source: schemas.SourceNative, Owner: "core", Name: "now", Description: "The time."}}, catalog.Options{})
	fmt.Printf("%s\n", c.Sync("api.read", []byte(`{"path":"tools/now.d.ts"}`)))
	fmt.Printf("%s\n", c.Sync("api.read", []byte(`{"path":"../etc"}`)))
	// Output:
	// {"ok":{"path":"tools/now.d.ts","content":"/** The time. */\ndeclare function now(input?: Record<string, unknown>): Promise<unknown>;\n","bytes":90}}
	// {"error":{"name":"Error","message":"Invalid API path: \"../etc\". Paths look like \"tools/read.d.ts\", without \".\" or \"..\"."}}
}
