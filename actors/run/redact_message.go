package run

import "github.com/codecell/codecell/schemas"

// ForSessions is the redactor of what sessions keep: nil, which keeps all, unless the configuration asks for it (P8).
func (r *Redactor) ForSessions(c *schemas.Config) *Redactor {
	if c.History.Redact == "" {
		return nil
	}
	return r
}

// Message masks the credentials in the programs that a model's message asks to run: what a session keeps of a turn has them
// once more, besides the entries of their runs (P8).
func (r *Redactor) Message(m schemas.MessageEntry) schemas.MessageEntry {
	if r == nil || m.Role != schemas.RoleAssistant {
		return m
	}
	said, changed := m.Said(), false
	for i := range said.ToolCalls {
		c := &said.ToolCalls[i]
		if c.Name != schemas.ExecTool && c.Name != schemas.ToolSearchCodeTool {
			continue
		}
		if masked, differs := r.Input(schemas.JSON(c.Arguments)); differs {
			c.Arguments, changed = string(masked), true
		}
	}
	if !changed {
		return m
	}
	return schemas.NewMessage(m.Role, said)
}
