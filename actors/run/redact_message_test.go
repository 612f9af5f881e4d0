package run

import (
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

func TestSpec_P8_ProgramsInMessagesAreMasked(t *testing.T) {
	c := &schemas.Config{}
	c.History.Redact = schemas.RedactCredentials
	all, err := NewRedactor(c)
	if err != nil {
		t.Fatal(err)
	}
	const program = `{"title":"T","code":"const apiKey = \"hunter2hunter2\"; return 1"}`
	said := schemas.Said{Text: "I look.", ToolCalls: []schemas.SaidCall{
		{ID: "a", Name: schemas.ExecTool, Arguments: program}, {ID: "b", Name: schemas.ToolSearchCodeTool, Arguments: program},
		{ID: "c", Name: "other", Arguments: program}, {ID: "d", Name: schemas.ExecTool, Arguments: `{"code": "const apiKey = 'hunter2hunter2'`},
	}}
	m := schemas.NewMessage(schemas.RoleAssistant, said)
	masked := all.ForSessions(c).Message(m)
	got := masked.Said()
	if got.Text != said.Text || len(got.ToolCalls) != 4 || got.ToolCalls[2] != said.ToolCalls[2] || got.ToolCalls[0].ID != "a" {
		t.Errorf("%+v", got)
	}
	for _, i := range []int{0, 1, 3} {
		if a := got.ToolCalls[i].Arguments; strings.Contains(a, "hunter2") || !strings.Contains(a, "apiKey") {
			t.Errorf("kept %s", a)
		}
	}
	if again := all.Message(schemas.NewMessage(schemas.RoleAssistant, got)); string(again.Content) != string(schemas.NewMessage(schemas.RoleAssistant, got).Content) {
		t.Errorf("masked again it is %s", again.Content)
	}
	c.History.Redact = ""
	if kept := all.ForSessions(c).Message(m); string(kept.Content) != string(m.Content) {
		t.Errorf("without redact: %s", kept.Content)
	}
	tool := schemas.NewMessage(schemas.RoleTool, schemas.Said{Text: program, ToolCallID: "a", Name: schemas.ExecTool})
	if kept := all.Message(tool); string(kept.Content) != string(tool.Content) {
		t.Errorf("a result: %s", kept.Content)
	}
}
