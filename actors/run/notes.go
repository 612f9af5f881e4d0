package run

import (
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/codecell/codecell/schemas"
)

// noteMethod is the look-up by which a program tells of its progress (G10).
const noteMethod = "note"

// noted answers every note: a program can't tell whether anybody hears it.
var noted = []byte(`{"ok":null}`)

// notes counts what one cell has told. Only programs that have the swarm's globals can tell anything.
type notes struct{ told atomic.Int32 }

// note publishes a program's word on its progress. What is too much, or isn't one, is dropped: no program fails by that.
func (p *port) note(payload []byte) []byte {
	var in struct{ Phase, Text string }
	if !p.admission.Catalog.Swarm() || p.identity.Restricted || json.Unmarshal(payload, &in) != nil || p.notes.told.Add(1) > schemas.MaxNotes {
		return noted
	}
	p.Fact(&schemas.CellNoted{
		At: time.Now().UnixNano(), Address: p.address, Phase: firstRunes(in.Phase, schemas.MaxPhase), Text: firstRunes(in.Text, schemas.MaxNote),
	})
	return noted
}

// firstRunes cuts a text to so many characters.
func firstRunes(text string, most int) string {
	for i := range text {
		if most == 0 {
			return text[:i]
		}
		most--
	}
	return text
}
