package session

import (
	"fmt"
	"maps"

	"github.com/codecell/codecell/schemas"
)

const (
	// maxParts bounds the parts of a commit, and maxOpen how many commits may wait for parts at once.
	maxParts = 64
	maxOpen  = 16
	// partBytes is how much one part holds, in bytes of keys and values: a message takes 1 MiB.
	partBytes = 512 << 10
)

// projection is the committed values along a path (T3).
type projection struct {
	values map[string]schemas.StoreWrite
	bytes  int
	// shared: the map was handed out, and isn't changed any more.
	shared bool
	open   []openCommit
}

// openCommit is one that lacks parts.
type openCommit struct {
	id    string
	parts []*schemas.StoreEntry
	have  int
}

func newProjection() projection {
	return projection{values: map[string]schemas.StoreWrite{}}
}

// snapshot gives the values. Nobody changes the map any more.
func (p *projection) snapshot() map[string]schemas.StoreWrite {
	p.shared = true
	return p.values
}

// add takes the next entry of the path. A commit counts when its last part is there. One that breaks the limits (T1)
// was not made by a host, and doesn't count.
func (p *projection) add(e *schemas.SessionEntry) error {
	if e.Kind != schemas.EntryStore {
		return nil
	}
	writes, complete := p.gather(e.Store)
	if !complete {
		return nil
	}
	if err := p.check(writes); err != nil {
		return err
	}
	if p.shared {
		p.values, p.shared = maps.Clone(p.values), false
	}
	for _, w := range writes {
		if old, ok := p.values[w.Key]; ok {
			p.bytes -= old.Bytes()
			delete(p.values, w.Key)
		}
		if len(w.Value) > 0 {
			p.bytes += w.Bytes()
			p.values[w.Key] = w
		}
	}
	return nil
}

// gather gives the writes of a commit when it has all of its parts.
func (p *projection) gather(part *schemas.StoreEntry) ([]schemas.StoreWrite, bool) {
	if part.Parts == 1 {
		return part.Writes, true
	}
	at := -1
	for i := range p.open {
		if p.open[i].id == part.Commit && len(p.open[i].parts) == part.Parts {
			at = i
		}
	}
	if at < 0 {
		if len(p.open) == maxOpen {
			p.open = p.open[1:] // abandoned: a host never leaves so many behind that it goes on with
		}
		p.open = append(p.open, openCommit{id: part.Commit, parts: make([]*schemas.StoreEntry, part.Parts)})
		at = len(p.open) - 1
	}
	c := &p.open[at]
	if c.parts[part.Part-1] == nil {
		c.parts[part.Part-1] = part
		c.have++
	}
	if c.have < len(c.parts) {
		return nil, false
	}
	var writes []schemas.StoreWrite
	for _, s := range c.parts {
		writes = append(writes, s.Writes...)
	}
	p.open = append(p.open[:at:at], p.open[at+1:]...)
	return writes, true
}

// check tells whether the values would be within the limits after the writes.
func (p *projection) check(writes []schemas.StoreWrite) error {
	total := p.bytes
	sizes := map[string]int{}
	for i := range writes {
		w := &writes[i]
		if !schemas.ValidStoreKey(w.Key) {
			return fmt.Errorf("a key must be a non-empty string of at most %d characters: store under another key", schemas.MaxStoreKey)
		}
		if len(w.Value) > schemas.MaxStoreValue {
			return fmt.Errorf("the value of %q has %d bytes, and at most %d may be stored under a key: store less, or in several keys", w.Key, len(w.Value), schemas.MaxStoreValue)
		}
		size, again := sizes[w.Key]
		if !again {
			old := p.values[w.Key]
			size = old.Bytes()
		}
		total += w.Bytes() - size
		sizes[w.Key] = w.Bytes()
	}
	if total > schemas.MaxStoreBytes && total > p.bytes {
		return fmt.Errorf("the session would store %d bytes, and at most %d may be: other programs of the session have stored something too; "+
			"delete what isn't needed with store(key, undefined), then store again", total, schemas.MaxStoreBytes)
	}
	return nil
}

// split makes parts of a commit that fit into messages.
func split(writes []schemas.StoreWrite) [][]schemas.StoreWrite {
	var parts [][]schemas.StoreWrite
	size := 0
	for _, w := range writes {
		if n := w.Bytes() + len(w.Key); len(parts) == 0 || size+n > partBytes {
			parts, size = append(parts, nil), 0
		}
		last := len(parts) - 1
		parts[last] = append(parts[last], w)
		size += w.Bytes() + len(w.Key)
	}
	return parts
}
