package schemas

import (
	"encoding/binary"
	"reflect"
	"sync"
)

// formed is a message that travels several times a call. It lists its fields once, for both
// directions, in the order of its declaration and with the names of its tags.
//
// The list is a short cut and changes nothing: what it writes are the bytes that the general way
// writes, and whatever a form can't do (a negative number, fields in another order or unknown to
// us, a null) is left to the general way, which decides.
type formed interface{ fields(*form) }

// form writes a message's fields or reads them, one after the other.
type form struct {
	b       []byte
	reading bool
	// odd: the message is one for the general way. Nothing is read or written any more.
	odd bool
	// fields of the open object: those written, or those still to be read
	count int

	at   int    // how far b is read
	text string // b, if it is short, to share among the texts
}

// sharedBytes is the longest message whose texts share one copy of it: what keeps one of them keeps
// no more than this.
const sharedBytes = 1 << 10

var forms = sync.Pool{New: func() any { return new(form) }}

// appendForm appends a message to b, if it has a form that can.
func appendForm(b []byte, v any) ([]byte, bool) {
	m, ok := v.(formed)
	if !ok || reflect.ValueOf(v).IsNil() {
		return b, false
	}
	f := forms.Get().(*form)
	*f = form{b: b}
	f.object(m)
	out, odd := f.b, f.odd
	*f = form{}
	forms.Put(f)
	if odd {
		return b, false
	}
	return out, true
}

// readForm reads a zero message, if it has a form that can; else the message is still zero. Bytes must
// have passed [walk]: their lengths are trusted.
func readForm(b []byte, v any) bool {
	m, ok := v.(formed)
	if !ok || reflect.ValueOf(v).IsNil() {
		return false
	}
	f := forms.Get().(*form)
	*f = form{b: b, reading: true}
	if len(b) <= sharedBytes {
		f.text = string(b)
	}
	f.object(m)
	odd := f.odd
	*f = form{}
	forms.Put(f)
	if odd {
		reflect.ValueOf(v).Elem().SetZero()
	}
	return !odd
}

// object is a message or a part of one.
func (f *form) object(m formed) {
	around, start := f.count, len(f.b)
	f.count = 0
	if f.reading {
		c := f.b[f.at]
		if c&0xf0 != 0x80 { // none of ours has more fields than the short head can tell
			f.odd = true
			return
		}
		f.at++
		f.count = int(c & 0x0f)
	} else {
		f.b = append(f.b, 0x80)
	}
	m.fields(f)
	if f.reading {
		f.odd = f.odd || f.count > 0
	} else {
		f.b[start] |= byte(f.count)
	}
	f.count = around
}

// field tells whether the field of this name is to be read or written now, and steps over its name.
func (f *form) field(name string) bool {
	switch {
	case f.odd:
		return false
	case !f.reading:
		f.count++
		f.b = append(append(f.b, 0xa0|byte(len(name))), name...)
		return true
	case f.count == 0:
		return false
	}
	end := f.at + 1 + len(name)
	if f.b[f.at] != 0xa0|byte(len(name)) || string(f.b[f.at+1:min(end, len(f.b))]) != name {
		return false
	}
	f.at = end
	f.count--
	return true
}

// part is a field that is an object.
func (f *form) part(name string, m formed) {
	if f.field(name) {
		f.object(m)
	}
}

// textField is a field of text.
func textField[S ~string](f *form, name string, s *S) {
	if !f.field(name) {
		return
	}
	if !f.reading {
		f.b = append(appendLength(f.b, len(*s), 0xd9), *s...)
		return
	}
	n, start := f.length(), f.at
	f.at += n
	if f.text != "" {
		*s = S(f.text[start:f.at])
	} else {
		*s = S(f.b[start:f.at])
	}
}

// maybeText is a field of text that is left out when it is empty.
func maybeText[S ~string](f *form, name string, s *S) {
	if f.reading || *s != "" {
		textField(f, name, s)
	}
}

// json is a field of JSON text; undefined is a null.
func (f *form) json(name string, j *JSON) {
	switch {
	case !f.field(name):
	case !f.reading && len(*j) == 0:
		f.b = append(f.b, 0xc0)
	case !f.reading:
		f.b = append(appendLength(f.b, len(*j), 0xc4), *j...)
	default:
		if n := f.length(); n > 0 {
			*j = append(make(JSON, 0, n), f.b[f.at:f.at+n]...)
			f.at += n
		}
	}
}

// maybeJSON is a field of JSON text that is left out when it is undefined.
func (f *form) maybeJSON(name string, j *JSON) {
	if f.reading || len(*j) > 0 {
		f.json(name, j)
	}
}

// maybeTrue is a field that is left out when it is false.
func (f *form) maybeTrue(name string, set *bool) {
	switch {
	case !f.reading && !*set, !f.field(name):
	case !f.reading:
		f.b = append(f.b, 0xc3)
	default:
		c := f.b[f.at]
		f.at++
		*set = c == 0xc3
		f.odd = c&^1 != 0xc2
	}
}

// number is a field of a number.
func number[N ~int | ~int64](f *form, name string, n *N) {
	switch {
	case !f.field(name):
	case f.reading:
		*n = N(f.uint())
	case *n < 0:
		f.odd = true
	default:
		f.b = appendUint(f.b, uint64(*n))
	}
}

// maybeNumber is a number that is left out when it is 0.
func maybeNumber[N ~int | ~int64](f *form, name string, n *N) {
	if f.reading || *n != 0 {
		number(f, name, n)
	}
}

// length reads the head of a text or of bytes.
func (f *form) length() int {
	c, b := f.b[f.at], f.b[f.at+1:]
	f.at++
	switch {
	case c&0xe0 == 0xa0:
		return int(c & 0x1f)
	case c == 0xc4 || c == 0xd9:
		f.at++
		return int(b[0])
	case c == 0xc5 || c == 0xda:
		f.at += 2
		return int(binary.BigEndian.Uint16(b))
	case c == 0xc6 || c == 0xdb:
		f.at += 4
		return int(binary.BigEndian.Uint32(b))
	}
	f.odd = true
	return 0
}

// uint reads a number that isn't negative.
func (f *form) uint() uint64 {
	c, b := f.b[f.at], f.b[f.at+1:]
	f.at++
	switch {
	case c <= 0x7f:
		return uint64(c)
	case c == 0xcc:
		f.at++
		return uint64(b[0])
	case c == 0xcd:
		f.at += 2
		return uint64(binary.BigEndian.Uint16(b))
	case c == 0xce:
		f.at += 4
		return uint64(binary.BigEndian.Uint32(b))
	case c == 0xcf:
		f.at += 8
		return binary.BigEndian.Uint64(b)
	}
	f.odd = true
	return 0
}

// appendLength writes the head of a text (short is str8) or of bytes (short is bin8).
func appendLength(b []byte, n int, short byte) []byte {
	switch {
	case n < 32 && short == 0xd9:
		return append(b, 0xa0|byte(n))
	case n <= 0xff:
		return append(b, short, byte(n))
	case n <= 0xffff:
		return binary.BigEndian.AppendUint16(append(b, short+1), uint16(n))
	default:
		return binary.BigEndian.AppendUint32(append(b, short+2), uint32(n))
	}
}

// appendUint writes a number in its shortest form.
func appendUint(b []byte, n uint64) []byte {
	switch {
	case n <= 0x7f:
		return append(b, byte(n))
	case n <= 0xff:
		return append(b, 0xcc, byte(n))
	case n <= 0xffff:
		return binary.BigEndian.AppendUint16(append(b, 0xcd), uint16(n))
	case n <= 0xffffffff:
		return binary.BigEndian.AppendUint32(append(b, 0xce), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(b, 0xcf), n)
	}
}
