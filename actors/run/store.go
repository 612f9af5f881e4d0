package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/codecell/codecell/actors/cell"
	"github.com/codecell/codecell/schemas"
)

// storage is what one cell sees of its session's values (T1): what the cell itself has stored, over what is committed
// at that moment. Its writes wait for the cell's end (T2).
//
// The leg goroutine loads and stores; the cell's actor commits when no leg runs any more.
type storage struct {
	session Session
	// dry: nothing is committed.
	dry bool

	mu sync.Mutex
	// writes are the cell's own. Those that delete are of keys that were committed: so there are no more than the limits allow.
	writes map[string]schemas.StoreWrite
	// committed are the values that total counts, together with the writes over them.
	committed map[string]schemas.StoreWrite
	total     int
}

func newStorage(session Session, dry bool) *storage {
	return &storage{session: session, dry: dry, writes: make(map[string]schemas.StoreWrite)}
}

// load gives a value, whose JSON is empty if there is none.
func (s *storage) load(key string) schemas.StoreWrite {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w, own := s.writes[key]; own {
		return w
	}
	return s.session.Values()[key]
}

// put keeps a write until the cell's end, or says why it is too large, and then changes nothing.
func (s *storage) put(w schemas.StoreWrite) error {
	if n := len(w.Value); n > schemas.MaxStoreValue {
		return fmt.Errorf("the value is %d bytes as JSON, and a key may hold %d: store less of it, or split it over several keys",
			n, schemas.MaxStoreValue)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count()
	old, own := s.writes[w.Key]
	if !own {
		old = s.committed[w.Key]
	}
	total := s.total - size(w.Key, old) + w.Bytes()
	if total > schemas.MaxStoreBytes && total > s.total {
		return fmt.Errorf("the session would hold %d bytes of keys and values, and %d is the most: "+
			"delete what is not needed any more with store(key, undefined)", total, schemas.MaxStoreBytes)
	}
	s.total = total
	if _, there := s.committed[w.Key]; len(w.Value) == 0 && !there {
		delete(s.writes, w.Key)
		return nil
	}
	s.writes[w.Key] = w
	return nil
}

// count brings the total up to date if another cell has committed.
func (s *storage) count() {
	committed := s.session.Values()
	if reflect.ValueOf(committed).UnsafePointer() == reflect.ValueOf(s.committed).UnsafePointer() {
		return
	}
	s.committed, s.total = committed, 0
	for key, w := range committed {
		s.total += size(key, w)
	}
	for key, w := range s.writes {
		s.total += size(key, w) - size(key, committed[key])
	}
}

// size is what a value takes under its key.
func size(key string, w schemas.StoreWrite) int {
	w.Key = key
	return w.Bytes()
}

// unsaved tells whether there is something to commit.
func (s *storage) unsaved() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.writes) > 0
}

// commit keeps the writes, and calls done once with why it could not. Data that reached the program after it stored
// something may have come with it, so that tainted marks every write.
func (s *storage) commit(cell string, tainted bool, done func(warning string)) {
	s.mu.Lock()
	writes := make([]schemas.StoreWrite, 0, len(s.writes))
	for _, key := range slices.Sorted(maps.Keys(s.writes)) {
		writes = append(writes, s.writes[key])
	}
	clear(s.writes)
	s.mu.Unlock()
	if s.dry {
		done("dry run: what the program stored was not kept")
		return
	}
	for i := range writes {
		writes[i].Untrusted = writes[i].Untrusted || tainted
	}
	s.session.Commit(cell, writes, func(err error) {
		if err != nil {
			done("completed, but what the program stored was not kept: " + err.Error())
			return
		}
		done("")
	})
}

// keep gives a cell's port what outlives its program.
func (r *run) keep(p *port, m *prepared) {
	p.results, p.sessionErr, p.skills = &r.results, m.sessionErr, m.skills
	if m.session != nil && !m.input.RestartSafe {
		p.store = newStorage(m.session, r.spec.DryRun)
	}
}

// storeLocal answers store and load.
func (p *port) storeLocal(kind string, payload schemas.JSON, tainted bool) cell.Local {
	if why := p.noStore(); why != "" {
		return refuse("Error", kind+" is unavailable: "+why)
	}
	var ask struct {
		Key   string       `json:"key"`
		Value schemas.JSON `json:"value"`
	}
	if err := json.Unmarshal(payload, &ask); err != nil {
		return refuse("TypeError", "malformed "+kind+" request")
	}
	if !schemas.ValidStoreKey(ask.Key) {
		return refuse("TypeError", kind+": the key must be a non-empty string of at most "+strconv.Itoa(schemas.MaxStoreKey)+" characters")
	}
	if kind == "load" {
		w := p.store.load(ask.Key)
		return cell.Local{Value: w.Value, Untrusted: w.Untrusted}
	}
	if err := p.store.put(schemas.StoreWrite{Key: ask.Key, Value: wellFormed(ask.Value), Untrusted: tainted}); err != nil {
		return refuse("RangeError", "store: "+err.Error())
	}
	return cell.Local{}
}

// noStore says why the cell can't use its session's values, or nothing (T3).
func (p *port) noStore() string {
	switch {
	case p.restartSafe:
		return "a restart-safe cell may run again, and must find what it found before; run the program without restartSafe"
	case p.store != nil:
		return ""
	case p.sessionErr != nil:
		return "the session can't be opened: " + p.sessionErr.Error()
	}
	return "this run has no session; return the data, or keep it for later programs of this run with results.save(value)"
}

// wellFormed makes JSON text valid UTF-8.
func wellFormed(text schemas.JSON) schemas.JSON {
	if utf8.Valid(text) {
		return text
	}
	return bytes.ToValidUTF8(text, []byte("\ufffd"))
}

// Unsaved tells whether the program has stored something that Commit would keep.
func (p *port) Unsaved() bool { return p.store != nil && p.store.unsaved() }

// Commit keeps what the program has stored (T2).
func (p *port) Commit(tainted bool, done func(warning string)) {
	if p.store == nil {
		done("")
		return
	}
	p.store.commit(p.address.Cell, tainted, done)
}
