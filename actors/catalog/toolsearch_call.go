package catalog

import "github.com/codecell/codecell/schemas"

// CallEnvelope is the answer of tool_call: {tool: {id, name, source}, result}. The result must be JSON; an empty one becomes null.
func (e *Entry) CallEnvelope(result schemas.JSON) schemas.JSON {
	if len(result) == 0 {
		result = schemas.JSON("null")
	}
	tool := encode(toolHit{ID: e.ID(), Name: e.Name, Source: e.Source})
	envelope := make(schemas.JSON, 0, len(tool)+len(result)+len(`{"tool":,"result":}`))
	envelope = append(append(envelope, `{"tool":`...), tool...)
	envelope = append(append(envelope, `,"result":`...), result...)
	return append(envelope, '}')
}
