package cell

import (
	"encoding/json"

	"github.com/codecell/codecell/schemas"
)

// savedGuidance tells a model what to do with a reference.
const savedGuidance = "Over the output limit: the whole value is kept for this run. A later program gets it by results.load(reference.id)."

// keeper keeps the final value of a program, and gives the reference to it.
type keeper func() (reference schemas.JSON, err error)

// keeper is how an oversized final value of this cell is kept; nil where there are no saved results.
func (m *Machine) keeper() keeper {
	if m.spec.Keep == nil {
		return nil
	}
	return func() (schemas.JSON, error) { return m.spec.Keep(m.main.Value, m.untrusted) }
}

// instead makes what stands for an oversized final value: a reference if it's an object or array that could be kept (O3),
// and otherwise its beginning, with why it wasn't.
func instead(value schemas.JSON, room int, keep keeper) schemas.JSON {
	if keep == nil || value[0] != '{' && value[0] != '[' {
		return truncated(value, len(value), room, "")
	}
	reference, err := keep()
	if err != nil {
		return truncated(value, len(value), room, err.Error())
	}
	for _, r := range []schemas.JSON{reference, brief(reference)} {
		const open, mid, end = `{"truncated":true,"reference":`, `,"guidance":"`, `"}`
		if len(open)+len(r)+len(mid)+len(savedGuidance)+len(end) <= room {
			return schemas.JSON(open + string(r) + mid + savedGuidance + end)
		}
	}
	return truncated(value, len(value), room, "there is no room for a reference")
}

// brief is a reference without what only describes the value.
func brief(reference schemas.JSON) schemas.JSON {
	var r struct {
		ID    string `json:"id"`
		Bytes int    `json:"bytes"`
	}
	if err := json.Unmarshal(reference, &r); err != nil {
		return reference
	}
	b, err := json.Marshal(r)
	if err != nil {
		return reference
	}
	return b
}
