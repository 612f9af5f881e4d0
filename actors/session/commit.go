package session

import (
	"fmt"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// commit is what one program has stored, on its way.
type commit struct {
	cell     string
	writes   []schemas.StoreWrite
	done     func(error)
	deadline time.Time
	// parts are its entries, of which the first sent are in the stream. tried: the next one may be there too.
	parts []schemas.SessionEntry
	sent  int
	tried bool
}

func newCommit(cell string, writes []schemas.StoreWrite, done func(error)) *commit {
	c := &commit{cell: cell, writes: writes, done: done, deadline: time.Now().Add(commitPatience)}
	c.renew()
	return c
}

// renew begins the commit anew. Parts that are in the stream stay without the rest of theirs, and never count.
func (c *commit) renew() {
	id, at := bus.NewEntryID(), time.Now().UnixNano()
	c.parts, c.sent, c.tried = nil, 0, false
	parts := split(c.writes)
	for i, writes := range parts {
		c.parts = append(c.parts, schemas.SessionEntry{
			ID: bus.NewEntryID(), At: at, Kind: schemas.EntryStore,
			Store: &schemas.StoreEntry{Commit: id, Part: i + 1, Parts: len(parts), Cell: c.cell, Writes: writes},
		})
	}
}

// kept tells that another part is in the stream, and whether it was the last.
func (c *commit) kept() bool {
	c.sent++
	c.tried = false
	return c.sent == len(c.parts)
}

// expired is what a program is told whose commit couldn't be made in time.
func (c *commit) expired(why error) error {
	if c.uncertain() {
		return fmt.Errorf("the bus has not confirmed it within %v (%w), so it may be kept after all: load it to see", commitPatience, why)
	}
	return fmt.Errorf("the bus has not taken it within %v (%w): store it again later", commitPatience, why)
}

// uncertain tells whether it may be kept as a whole without our knowing.
func (c *commit) uncertain() bool { return c.tried && c.sent == len(c.parts)-1 }
