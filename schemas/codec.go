package schemas

import (
	"bytes"
	"fmt"
	"reflect"
	"sync"

	"github.com/vmihailenco/msgpack/v5"
)

// Encode gives the message's bytes: MessagePack, structs as maps, integers in their shortest
// form. Equal values have equal bytes.
func Encode(v any) ([]byte, error) { return Append(nil, v) }

// Append appends the message's bytes to b. On an error b is returned as it was.
func Append(b []byte, v any) ([]byte, error) {
	if out, ok := appendForm(b, v); ok {
		return out, nil
	}
	w := writers.Get().(*writer)
	w.b = b
	w.enc.Reset(w)
	w.enc.UseCompactInts(true)
	err := w.enc.Encode(v)
	out := w.b
	w.b = nil
	writers.Put(w)
	if err != nil {
		return b, fmt.Errorf("encode %T: %w", v, err)
	}
	return out, nil
}

// Decode reads one message into v, a pointer to a zero message. It is the only way in: whatever
// the bytes are, it returns a value or an error, never panics, and allocates at most
// [MaxAmplification] times their length and a constant (B4). Fields that the receiver doesn't
// know are skipped, since within a version fields are only added. Nothing of b is kept.
func Decode(b []byte, v any) error {
	if err := walk(b, weigh(reflect.TypeOf(v))); err != nil {
		return fmt.Errorf("decode %T: %w", v, err)
	}
	if readForm(b, v) {
		return nil
	}
	r := readers.Get().(*reader)
	r.src.Reset(b)
	r.dec.Reset(&r.src)
	err := r.dec.Decode(v)
	r.src.Reset(nil)
	if len(b) <= pooledBytes { // a decoder keeps a buffer as long as the longest string it read
		readers.Put(r)
	}
	if err != nil {
		return fmt.Errorf("decode %T: %w", v, err)
	}
	return nil
}

// pooledBytes is the largest message whose decoder is used again.
const pooledBytes = 64 << 10

// writer is an encoder that appends to b.
type writer struct {
	b   []byte
	enc *msgpack.Encoder
}

var writers = sync.Pool{New: func() any {
	w := new(writer)
	w.enc = msgpack.NewEncoder(w)
	return w
}}

func (w *writer) Write(p []byte) (int, error) {
	w.b = append(w.b, p...)
	return len(p), nil
}

func (w *writer) WriteByte(c byte) error {
	w.b = append(w.b, c)
	return nil
}

type reader struct {
	src bytes.Reader
	dec *msgpack.Decoder
}

var readers = sync.Pool{New: func() any { return &reader{dec: msgpack.NewDecoder(nil)} }}

// EncodeMsgpack writes the text as MessagePack bin; undefined is nil.
func (j JSON) EncodeMsgpack(e *msgpack.Encoder) error {
	if len(j) == 0 {
		return e.EncodeNil()
	}
	return e.EncodeBytes(j)
}

// DecodeMsgpack reads the text with a single copy. It trusts the length in front of the text:
// [Decode] has checked it against the bytes that are left.
func (j *JSON) DecodeMsgpack(d *msgpack.Decoder) error {
	n, err := d.DecodeBytesLen()
	if err != nil {
		return err
	}
	if n <= 0 {
		*j = nil
		return nil
	}
	*j = make(JSON, n)
	return d.ReadFull(*j)
}
