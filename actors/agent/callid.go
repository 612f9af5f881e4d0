package agent

import "crypto/rand"

// maxCallID bounds the ids of calls, in bytes.
const maxCallID = 128

// callIDs gives calls the ids that they have on the bus and on record: the provider's own where it isn't in use. Some
// providers give none, or the same in each answer.
type callIDs struct{ used map[string]bool }

// taken notes an id that is in use.
func (c *callIDs) taken(id string) {
	if c.used == nil {
		c.used = map[string]bool{}
	}
	c.used[id] = true
}

// take gives an id that isn't in use yet, the given one if possible.
func (c *callIDs) take(id string) string {
	if id == "" || len(id) > maxCallID || c.used[id] {
		id = "call_" + rand.Text()
	}
	c.taken(id)
	return id
}
