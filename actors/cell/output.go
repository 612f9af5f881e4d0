package cell

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/codecell/codecell/schemas"
)

// guidance tells a model what to do about a truncated result.
const guidance = "Over the output limit: return or print less, or narrow the request."

// errorCut ends an error that was too long (O2).
const errorCut = " [error truncated]"

const (
	// endReserve is what cut output of waiting results leaves of the budget, so that later results have room to say something.
	endReserve = 512
	// lastReserve is what waiting results always leave of it, so that the last result can say that something is missing: room
	// for a marker of output, and for a reference to a value.
	lastReserve = markerRoom + 220
	// markerRoom is what a marker needs in an array of output, without any of the text that it stands for.
	markerRoom = 164
	// finalReserve is what output leaves for the final value or error.
	finalReserve = 256
	// notSavedLimit bounds the JSON text of why a value isn't kept, which has at most a quarter of the room.
	notSavedLimit = 200
)

// Item is one thing that the program emitted.
type Item struct {
	// Type is "text" or "json".
	Type string
	// JSON is the emitted value: a JSON string for text. If Omitted isn't 0, it's only the beginning of
	// the JSON text, and Omitted is the number of bytes that are missing.
	JSON    []byte
	Omitted int
}

// Output is the cumulative budget of all that a cell says in its life: output, and the final value or
// error (O2). It counts bytes of compact JSON: of each result's output array, of the value, and of the
// error as a JSON string.
//
// What doesn't fit is replaced by a marker that holds the beginning of the original compact JSON and
// the exact number of bytes that are missing. Output comes first; the value or error gets what is left,
// and at least finalReserve bytes unless earlier results have taken them.
type Output struct {
	// Max is the budget in bytes, at least 1024.
	Max int

	used  int                  // by results that were given
	items []schemas.OutputItem // not given yet; nil when over
	size  int                  // bytes of the JSON array of what hasn't been given, 0 for nothing
	over  bool                 // that array can't be given whole
	head  []byte               // the beginning of that array, when over
	full  bool                 // head ends before the array's next item
}

// Add takes one item.
func (o *Output) Add(i Item) {
	if o.size == 0 {
		o.size = len("[")
	}
	item, ok := i.decode()
	o.size += i.size(item) + len(",") // or "]"
	if ok && !o.over && o.used+o.size <= o.Max {
		o.items = append(o.items, item)
		return
	}
	o.overflow()
	if !ok {
		o.keep(i)
		return
	}
	o.keep(encodeItem(item))
}

// Dropped counts output that nobody kept: items of both types, and the bytes of their values.
type Dropped struct{ Texts, Values, Bytes int }

// Drop counts items that can't be given any more.
func (o *Output) Drop(d Dropped) {
	if d == (Dropped{}) {
		return
	}
	o.overflow()
	o.full = true
	o.size = max(o.size, len("[")) + d.Bytes + d.Texts*(len(opening("text"))+len("},")) + d.Values*(len(opening("json"))+len("},"))
}

// overflow turns the items into the beginning of their text.
func (o *Output) overflow() {
	if o.over {
		return
	}
	o.over = true
	for _, item := range o.items {
		o.keep(encodeItem(item))
	}
	o.items = nil
}

// keep adds an item to the head, as far as the budget could ever need it.
func (o *Output) keep(i Item) {
	if o.full {
		return
	}
	if len(o.head) == 0 {
		o.head = append(o.head, '[')
	} else {
		o.head = append(o.head, ',')
	}
	o.head = append(o.head, opening(i.Type)...)
	o.head = append(o.head, i.JSON...)
	if i.Omitted > 0 {
		o.full = true
	} else {
		o.head = append(o.head, '}')
	}
	if len(o.head) > o.Max {
		o.head, o.full = o.head[:o.Max:o.Max], true
	}
}

// Waiting gives the output of a waiting result: whole if there is room for it, and otherwise its beginning.
func (o *Output) Waiting() []schemas.OutputItem {
	if room := o.Max - o.used - lastReserve; !o.over && o.size <= room {
		return o.give(room)
	}
	return o.give(o.Max - o.used - endReserve)
}

// Completed gives the output and the value of a completed result. An oversized object or array is handed to keep, if there
// is one, and a reference stands for it (O3).
func (o *Output) Completed(value schemas.JSON, keep keeper) ([]schemas.OutputItem, schemas.JSON) {
	items := o.last(len(value))
	if left := o.Max - o.used; len(value) > left {
		value = instead(value, left, keep)
	}
	o.used += len(value)
	return items, value
}

// Failed gives the output and the error of a failed result.
func (o *Output) Failed(text string) ([]schemas.OutputItem, string) {
	items := o.last(stringSize(text))
	if left := o.Max - o.used; stringSize(text) > left {
		text = text[:fit(text, left-stringSize(errorCut))] + errorCut
	}
	o.used += stringSize(text)
	return items, text
}

// last gives the output of the last result, whose value or error has size bytes.
func (o *Output) last(size int) []schemas.OutputItem {
	left := o.Max - o.used
	return o.give(max(left-min(size, finalReserve), min(markerRoom, left-min(size, lastReserve-markerRoom))))
}

// give hands out what was added since the last time, in at most room bytes. If there's no room even for
// a marker, everything stays for the next result.
func (o *Output) give(room int) []schemas.OutputItem {
	if o.size == 0 {
		return nil
	}
	var items []schemas.OutputItem
	if !o.over && o.size <= room {
		items = o.items
		o.used += o.size
	} else {
		head := o.head
		if !o.over {
			kept := Output{Max: o.Max}
			for _, item := range o.items {
				kept.keep(encodeItem(item))
			}
			head = append(kept.head, ']')
		}
		wrap := len("[") + len(opening("json")) + len("}]")
		marker := truncated(head, o.size, room-wrap, "")
		if len(marker)+wrap > room {
			return nil
		}
		items = []schemas.OutputItem{{Type: "json", Value: marker}}
		o.used += len(marker) + wrap
	}
	o.items, o.size, o.over, o.head, o.full = nil, 0, false, nil, false
	return items
}

// truncated makes the marker that stands for a JSON text of total bytes, of which head is the
// beginning. It has at most room bytes if that's possible at all. notSaved, if not empty, is why the value isn't kept.
func truncated(head []byte, total, room int, notSaved string) schemas.JSON {
	const open, mid = `{"truncated":true,"prefix":`, `,"omittedBytes":`
	end := `,"guidance":"` + guidance + `"`
	if notSaved != "" {
		end += `,"notSaved":` + string(appendString(nil, notSaved[:fit(notSaved, min(room/4, notSavedLimit))]))
	}
	end += "}"
	room -= len(open) + len(mid) + len(strconv.Itoa(total)) + len(end)
	cut := fit(head, room)
	b := make([]byte, 0, len(open)+len(mid)+len(end)+20+cut+cut/4)
	b = append(b, open...)
	b = appendString(b, string(head[:cut]))
	b = append(b, mid...)
	b = strconv.AppendInt(b, int64(total-cut), 10)
	return append(b, end...)
}

// fit is the length of the longest beginning of s, whole characters only, whose JSON string has at most
// room bytes.
func fit[S string | []byte](s S, room int) int {
	size := len(`""`)
	for i := 0; i < len(s); {
		width, encoded := char(s[i:min(len(s), i+utf8.UTFMax)])
		size += encoded
		if size > room || width == 0 {
			return i
		}
		i += width
	}
	return len(s)
}

// char measures the first character of s: its bytes, and the bytes it has in a JSON string. A character
// that is cut off at the end has width 0.
func char[S string | []byte](s S) (width, encoded int) {
	if c := s[0]; c < utf8.RuneSelf {
		switch {
		case c == '"' || c == '\\' || c == '\b' || c == '\f' || c == '\n' || c == '\r' || c == '\t':
			return 1, 2
		case c < ' ':
			return 1, 6
		}
		return 1, 1
	}
	r, width := utf8.DecodeRuneInString(string(s))
	switch {
	case r == utf8.RuneError && width == 1:
		if !utf8.FullRuneInString(string(s)) {
			return 0, 0
		}
		return 1, 6
	case r == '\u2028' || r == '\u2029':
		return width, 6
	}
	return width, width
}

// stringSize is the number of bytes of s as a JSON string, in the encoding of appendString.
func stringSize(s string) int {
	size := len(`""`)
	for i := 0; i < len(s); {
		width, encoded := char(s[i:min(len(s), i+utf8.UTFMax)])
		if width == 0 {
			width, encoded = 1, 6
		}
		size += encoded
		i += width
	}
	return size
}

// appendString appends s as a JSON string, the way encoding/json does, without escapes for HTML.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		width, encoded := char(s[i:min(len(s), i+utf8.UTFMax)])
		switch {
		case width == 0 || width == 1 && encoded == 6 && s[i] >= utf8.RuneSelf:
			b, width = append(b, `\ufffd`...), 1
		case encoded == width:
			b = append(b, s[i:i+width]...)
		case encoded == 2:
			b = append(b, '\\', escapeLetter(s[i]))
		case width == 1:
			b = append(b, '\\', 'u', '0', '0', hex[s[i]>>4], hex[s[i]&15])
		default: // the separators that JavaScript once took for line ends
			b = append(b, `\u202`...)
			b = append(b, hex[s[i+2]&15])
		}
		i += width
	}
	return append(b, '"')
}

func escapeLetter(c byte) byte {
	switch c {
	case '\b':
		return 'b'
	case '\f':
		return 'f'
	case '\n':
		return 'n'
	case '\r':
		return 'r'
	case '\t':
		return 't'
	}
	return c
}

// opening is the JSON text of an item up to its value.
func opening(kind string) string {
	if kind == "text" {
		return `{"type":"text","text":`
	}
	return `{"type":"json","value":`
}

// decode makes the item of a result; false for one that is cut off or isn't JSON.
func (i Item) decode() (schemas.OutputItem, bool) {
	switch {
	case i.Omitted > 0:
		return schemas.OutputItem{}, false
	case i.Type != "text":
		return schemas.OutputItem{Type: "json", Value: i.JSON}, true
	}
	var text string
	if json.Unmarshal(i.JSON, &text) != nil {
		return schemas.OutputItem{}, false
	}
	return schemas.OutputItem{Type: "text", Text: text}, true
}

// size is the number of bytes of the item in an output array.
func (i Item) size(decoded schemas.OutputItem) int {
	value := len(i.JSON) + i.Omitted
	if decoded.Type == "text" {
		value = stringSize(decoded.Text)
	}
	return len(opening(i.Type)) + value + len("}")
}

func encodeItem(item schemas.OutputItem) Item {
	if item.Type == "text" {
		return Item{Type: "text", JSON: appendString(nil, item.Text)}
	}
	return Item{Type: "json", JSON: item.Value}
}
