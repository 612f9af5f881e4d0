package run

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/codecell/codecell/actors/cell"
	"github.com/codecell/codecell/schemas"
)

// maxResults is how many results a run keeps at a time (T4).
const maxResults = 64

// results are what the cells of a run have saved for later ones (T4). They end with the run.
type results struct {
	mu    sync.Mutex
	byID  map[string]saved
	bytes int
}

// saved is one result.
type saved struct {
	value schemas.JSON
	// untrusted: data of an MCP server or a client took part in the program that saved it (O5).
	untrusted bool
}

// save keeps a result if all of them are limit bytes then at most, and gives its id. Nothing makes room for it.
func (r *results) save(s saved, limit int) (id string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(s.value)
	switch {
	case n > limit:
		return "", fmt.Errorf("the value is %d bytes as JSON, and a run keeps at most %d: save less of it", n, limit)
	case len(r.byID) >= maxResults:
		return "", fmt.Errorf("this run keeps %d results, which is the most: delete some with results.delete(id)", len(r.byID))
	case r.bytes+n > limit:
		return "", fmt.Errorf("the value is %d bytes as JSON, and this run keeps %d of at most %d: delete some results with results.delete(id)",
			n, r.bytes, limit)
	}
	if r.byID == nil {
		r.byID = make(map[string]saved)
	}
	id = "result_" + strings.ToLower(rand.Text())
	r.byID[id] = s
	r.bytes += n
	return id, nil
}

func (r *results) load(id string) (saved, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.byID[id]
	return s, ok
}

func (r *results) delete(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.byID[id]
	r.bytes -= len(s.value)
	delete(r.byID, id)
	return ok
}

// unrepeatable says why a restart-safe cell has no saved results.
const unrepeatable = "a restart-safe cell may run again when the results are gone; run the program without restartSafe"

// resultsLocal answers results.save, results.load and results.delete.
func (p *port) resultsLocal(kind string, payload schemas.JSON, tainted bool) cell.Local {
	if p.restartSafe {
		return refuse("Error", kind+" is unavailable: "+unrepeatable)
	}
	var ask struct {
		ID    string       `json:"id"`
		Value schemas.JSON `json:"value"`
	}
	if err := json.Unmarshal(payload, &ask); err != nil || kind == "results.save" && len(ask.Value) == 0 {
		return refuse("TypeError", "malformed "+kind+" request")
	}
	switch kind {
	case "results.save":
		record, err := p.save(ask.Value, tainted)
		if err != nil {
			return refuse("RangeError", kind+": "+err.Error())
		}
		return cell.Local{Value: record}
	case "results.load":
		if s, ok := p.results.load(ask.ID); ok {
			return cell.Local{Value: s.value, Untrusted: s.untrusted}
		}
	case "results.delete":
		if p.results.delete(ask.ID) {
			return cell.Local{Value: schemas.JSON("true")}
		}
	}
	return refuse("Error", kind+": this run has no result "+strconv.QuoteToGraphic(prefix(ask.ID, 80))+
		": it was deleted, or another run saved it. Results are gone when their run ends.")
}

// Keep saves an oversized final value (O3).
func (p *port) Keep(value schemas.JSON, tainted bool) (schemas.JSON, error) {
	switch {
	case p.searching:
		return nil, errors.New(nothingKept)
	case p.older:
		return nil, errors.New("programs of this contract can't load what another has returned")
	case p.restartSafe:
		return nil, errors.New(unrepeatable)
	}
	return p.save(value, tainted)
}

func (p *port) save(value schemas.JSON, tainted bool) (record schemas.JSON, err error) {
	value = wellFormed(value)
	limits := &p.admission.Limits
	id, err := p.results.save(saved{value: value, untrusted: tainted}, min(limits.MemoryBytes, limits.SnapshotBytes))
	if err != nil {
		return nil, err
	}
	return describeResult(id, value), nil
}

// maxRecord is the longest description of a result, in bytes of its JSON (T4); maxShape bounds the shape in it.
const (
	maxRecord = 768
	maxShape  = 240
)

// resultRecord is what results.save resolves to.
type resultRecord struct {
	ID    string `json:"id"`
	Bytes int    `json:"bytes"`
	// Count is the number of elements or keys, and 1 for what has neither.
	Count int    `json:"count"`
	Shape string `json:"shape"`
	// Preview is the value's JSON, or as much of its beginning as the record has room for.
	Preview          string `json:"preview"`
	PreviewTruncated bool   `json:"previewTruncated"`
}

// describeResult gives the record of a result. The value is one valid JSON text.
func describeResult(id string, value schemas.JSON) schemas.JSON {
	r := resultRecord{ID: id, Bytes: len(value), PreviewTruncated: true}
	r.Shape, r.Count = shapeOf(value, maxShape)
	room := maxRecord - len(compact(&r))
	r.Preview = escapedPrefix(string(value), room)
	r.PreviewTruncated = len(r.Preview) < len(value) // "false" is longer than "true" by a byte
	if record := compact(&r); len(record) <= maxRecord {
		return record
	}
	r.Preview, r.PreviewTruncated = escapedPrefix(string(value), room-1), true
	return compact(&r)
}

// compact gives the JSON text of a value that has one.
func compact(v any) schemas.JSON {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // only text and numbers are in it
		return schemas.JSON("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// prefix is the longest beginning of a valid text that has at most so many bytes and no part of a character.
func prefix(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	return text[:n]
}

// escapedPrefix is the longest beginning of a valid text that takes at most so many bytes in a JSON string.
func escapedPrefix(text string, room int) string {
	for i, c := range text {
		switch {
		case c == '"' || c == '\\':
			room -= 2
		case c < ' ' || c == '\u2028' || c == '\u2029':
			room -= len(`\u2028`)
		default:
			room -= len(string(c))
		}
		if room < 0 {
			return text[:i]
		}
	}
	return text
}
