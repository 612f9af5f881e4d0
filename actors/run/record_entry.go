package run

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/codecell/codecell/actors/cell"
	"github.com/codecell/codecell/schemas"
)

// Bounds of what a transcript keeps whole, in bytes of JSON. Of what is longer it has the beginning.
const (
	maxInputKept  = 256 << 10
	maxArgsKept   = 32 << 10
	maxValueKept  = 64 << 10
	maxResultKept = 64 << 10
	// maxErrorKept bounds one text of a call's error.
	maxErrorKept = 4 << 10
)

// maxIDKept bounds an id that a caller made up, in bytes. It is in many entries.
const maxIDKept = 256

func idOf(id string) string { return strings.Clone(schemas.Prefix(id, maxIDKept)) }

// bounded gives a JSON text as a transcript keeps it: whole, or its beginning as a JSON string. What isn't JSON is
// kept as a string, too.
func bounded(text schemas.JSON, limit int) (kept schemas.JSON, truncated bool) {
	switch {
	case len(text) == 0:
		return nil, false
	case len(text) > limit || !json.Valid(text):
		return beginning(text, limit), true
	case !utf8.Valid(text):
		return schemas.JSON(strings.ToValidUTF8(string(text), "\ufffd")), false
	}
	return text, false
}

// beginning quotes the beginning of a text as a JSON string of at most limit bytes.
func beginning(text schemas.JSON, limit int) schemas.JSON {
	start := strings.ToValidUTF8(schemas.Prefix(string(text), limit), "\ufffd")
	for {
		quoted := quote(start)
		if len(quoted) <= limit {
			return quoted
		}
		start = schemas.Prefix(start, len(start)*limit/len(quoted))
	}
}

func resultEntry(callID, parent, cell string, result *schemas.Result) schemas.SessionEntry {
	text, err := result.JSON()
	if err != nil { // a value in it isn't JSON
		text = quote("the result can't be shown: " + err.Error())
	}
	e := &schemas.ResultEntry{
		CallID: callID, ParentID: parent, Cell: cell, Status: result.Status, Code: result.Code,
		ReplaySafe: result.ReplaySafe, Untrusted: result.Untrusted,
	}
	e.Result, e.Truncated = bounded(text, maxResultKept)
	return schemas.SessionEntry{Kind: schemas.EntryResult, Result: e}
}

func outcomeEntry(parent, cell string, s *cell.Settled) schemas.SessionEntry {
	e := &schemas.OutcomeEntry{
		ParentID: parent, Cell: cell, Call: s.ID, Outcome: s.Outcome, Untrusted: s.Untrusted, DurationUs: s.Duration.Microseconds(),
	}
	e.Value, e.Truncated = bounded(s.Value, maxValueKept)
	if s.Err != nil { // an executor's words, of any length
		short := *s.Err
		for _, text := range []*string{&short.Name, &short.Message, &short.Location, (*string)(&short.Code), (*string)(&short.Effect)} {
			*text = schemas.Prefix(*text, maxErrorKept)
		}
		e.Err = &short
	}
	return schemas.SessionEntry{Kind: schemas.EntryOutcome, Outcome: e}
}
