package schemas

import (
	"bytes"
	"math"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// formedMessages are those that have a form.
var formedMessages = []formed{
	new(Address), new(Answer), new(Call), new(CallEnded), new(CallError), new(CallSent), new(CallStarted), new(CellEnded), new(CellStarted), new(Exec),
	new(Identity), new(SlotFreed), new(SlotTaken),
}

// plainType is the message's type without its methods: it travels the general way.
func plainType(m formed) reflect.Type {
	t := reflect.TypeOf(m).Elem()
	var fields []reflect.StructField
	for f := range t.Fields() {
		fields = append(fields, f)
	}
	return reflect.StructOf(fields)
}

// TestFormWritesTheSameBytes holds forms against the general way, with lengths and numbers about
// the borders of their encodings.
func TestFormWritesTheSameBytes(t *testing.T) {
	for _, m := range formedMessages {
		t.Run(reflect.TypeOf(m).Elem().Name(), rapid.MakeCheck(func(t *rapid.T) {
			v := reflect.New(reflect.TypeOf(m).Elem())
			fill(t, v.Elem())
			want, err := Encode(v.Elem().Interface()) // not a pointer, so without a form
			if err != nil {
				t.Fatal(err)
			}
			got, err := Append([]byte("head"), v.Interface())
			if err != nil || !bytes.Equal(got, append([]byte("head"), want...)) {
				t.Fatalf("%+v\n got %x, %v\nwant %x", v.Elem(), got[4:], err, want)
			}
			back := reflect.New(v.Elem().Type())
			if err := Decode(want, back.Interface()); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(v.Interface(), back.Interface()) {
				t.Fatalf("it came back changed (-want +got):\n%s", cmp.Diff(v.Interface(), back.Interface()))
			}
		}))
	}
}

// TestFormReadsTheSame gives damaged and foreign bytes to both ways.
func TestFormReadsTheSame(t *testing.T) {
	for _, m := range formedMessages {
		t.Run(reflect.TypeOf(m).Elem().Name(), rapid.MakeCheck(func(t *rapid.T) {
			v := reflect.New(reflect.TypeOf(m).Elem())
			fill(t, v.Elem())
			b, err := Encode(v.Interface())
			if err != nil {
				t.Fatal(err)
			}
			for range rapid.IntRange(1, 3).Draw(t, "damages") {
				at := rapid.IntRange(0, min(len(b)-1, 200)).Draw(t, "at")
				switch rapid.IntRange(0, 2).Draw(t, "damage") {
				case 0:
					b[at] = rapid.Byte().Draw(t, "byte")
				case 1: // a null, an empty text, bytes, map or list, a number
					b[at] = rapid.SampledFrom([]byte{0xc0, 0xa0, 0xc4, 0x80, 0x90, 0xd0, 0xc2}).Draw(t, "code")
				default: // a field of a newer version, if in front of one and counted
					b = append(b[:at:at], append([]byte("\xa3new\xc0"), b[at:]...)...)
					b[0]++
				}
			}
			readAlike(t, m, b)
		}))
	}
}

// FuzzForm looks for bytes that the two ways read differently.
func FuzzForm(f *testing.F) {
	for i, m := range formedMessages {
		b, err := Encode(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), b)
	}
	f.Fuzz(func(t *testing.T, i uint8, b []byte) {
		readAlike(t, formedMessages[int(i)%len(formedMessages)], b)
	})
}

// fatal is a test of either kind.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

func readAlike(t fatal, m formed, b []byte) {
	t.Helper()
	got := reflect.New(reflect.TypeOf(m).Elem())
	want := reflect.New(plainType(m))
	gotErr, wantErr := Decode(b, got.Interface()), Decode(b, want.Interface())
	if (gotErr == nil) != (wantErr == nil) {
		t.Fatalf("%x: %v; the general way says %v", b, gotErr, wantErr)
	}
	if w, g := want.Elem().Convert(got.Elem().Type()).Interface(), got.Elem().Interface(); gotErr == nil && !reflect.DeepEqual(w, g) {
		t.Fatalf("%x is read in another way (-want +got):\n%s", b, cmp.Diff(w, g))
	}
}

// TestFormLeavesTheRestToTheGeneralWay: what a newer or a foreign peer may send.
func TestFormLeavesTheRestToTheGeneralWay(t *testing.T) {
	for name, text := range map[string]string{
		"another order":         "\x83\xa4cell\xa1c\xa4host\xa1h\xa3run\xa1r",
		"a field unknown to us": "\x84\xa4host\xa1h\xa3new\x91\x01\xa3run\xa1r\xa4cell\xa1c",
		"a long map head":       "\xde\x00\x03\xa4host\xa1h\xa3run\xa1r\xa4cell\xa1c",
		"long name heads":       "\x83\xd9\x04host\xa1h\xd9\x03run\xa1r\xa4cell\xd9\x01c",
		"a field twice":         "\x84\xa4host\xa1x\xa4host\xa1h\xa3run\xa1r\xa4cell\xa1c",
	} {
		var a Address
		if err := Decode([]byte(text), &a); err != nil || a != (Address{Host: "h", Run: "r", Cell: "c"}) {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
	var none *Call
	if b, err := Encode(none); err != nil || !bytes.Equal(b, []byte{0xc0}) {
		t.Errorf("no call: %x, %v", b, err)
	}
	if err := Decode([]byte{0x80}, none); err == nil {
		t.Error("decoded into nothing")
	}
}

// TestFormedMessagesTakeTheShortCut: a form whose names or order are wrong would go unnoticed, only
// slower.
func TestFormedMessagesTakeTheShortCut(t *testing.T) {
	for _, m := range formedMessages {
		t.Run(reflect.TypeOf(m).Elem().Name(), rapid.MakeCheck(func(t *rapid.T) {
			v := reflect.New(reflect.TypeOf(m).Elem())
			fill(t, v.Elem())
			negative, null := strange(v.Elem())
			b, ok := appendForm(nil, v.Interface())
			if ok == negative {
				t.Fatalf("%+v: written by its form: %v", v.Elem(), ok)
			}
			if ok && readForm(b, reflect.New(v.Elem().Type()).Interface()) == null {
				t.Fatalf("%+v: read by its form: %v", v.Elem(), !null)
			}
		}))
	}
}

// strange tells whether a message has a number below zero, and whether it has a JSON text that must
// be there and isn't.
func strange(v reflect.Value) (negative, null bool) {
	for f, field := range v.Fields() {
		switch {
		case field.Kind() == reflect.Struct:
			n, u := strange(field)
			negative, null = negative || n, null || u
		case field.CanInt():
			negative = negative || field.Int() < 0
		case field.Type() == reflect.TypeFor[JSON]():
			null = null || field.Len() == 0 && f.Name != "Value"
		}
	}
	return negative, null
}

// fill draws a value for every field.
func fill(t *rapid.T, v reflect.Value) {
	length := rapid.OneOf(rapid.SampledFrom([]int{0, 1, 31, 32, 255, 256}), rapid.IntRange(0, 40), rapid.SampledFrom([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 65535, 65536}))
	switch v.Kind() {
	case reflect.Struct:
		for _, f := range v.Fields() {
			fill(t, f)
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem())
		}
	case reflect.String:
		v.SetString(string(bytes.Repeat([]byte("s"), length.Draw(t, "text"))))
	case reflect.Slice:
		if n := length.Draw(t, "json"); n > 0 {
			v.SetBytes(bytes.Repeat([]byte("7"), n))
		}
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int, reflect.Int64:
		borders := rapid.SampledFrom([]int64{0, 127, 128, 255, 256, 65535, 65536, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64, -1, -33, math.MinInt64})
		v.SetInt(rapid.OneOf(borders, rapid.Int64()).Draw(t, "number"))
	default:
		t.Fatalf("a field of kind %s: teach the test", v.Kind())
	}
}

func benchmarkForm(b *testing.B, m any) {
	t := reflect.TypeOf(m).Elem()
	enc, err := Encode(m)
	if err != nil {
		b.Fatal(err)
	}
	for name, target := range map[string]func() any{
		"form":    func() any { return reflect.New(t).Interface() },
		"general": func() any { return reflect.New(plainType(m.(formed))).Interface() },
	} {
		b.Run("decode/"+name, func(b *testing.B) {
			v := target()
			b.ReportAllocs()
			for b.Loop() {
				if err := Decode(enc, v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for name, from := range map[string]any{"form": m, "general": reflect.ValueOf(m).Elem().Interface()} {
		b.Run("encode/"+name, func(b *testing.B) {
			buf := make([]byte, 0, 1024)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Append(buf, from); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkForm compares both ways.
func BenchmarkForm(b *testing.B) {
	address := Address{Host: "host-1", Run: "run-12345678", Cell: "cell-12345678"}
	b.Run("Call", func(b *testing.B) {
		benchmarkForm(b, &Call{
			ID: "1", Address: address, Source: SourceNative, Owner: "core", Tool: "read", Args: JSON(`{"path":"a"}`), ParentID: "toolu_1",
			Identity: Identity{Agent: "default", SessionID: "s-1", SessionKey: "main", Run: "turn-7"},
		})
	})
	b.Run("Answer", func(b *testing.B) {
		benchmarkForm(b, &Answer{ID: "1", Executor: "e1", State: AnswerDone, Value: JSON(`{"a":1}`)})
	})
	b.Run("CallSent", func(b *testing.B) {
		benchmarkForm(b, &CallSent{At: 1767225600000000000, Address: address, Call: "1", Source: SourceNative, Owner: "core", Tool: "read"})
	})
}
