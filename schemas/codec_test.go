package schemas_test

import (
	"bytes"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codecell/codecell/schemas"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden proves that the bytes of every message are what they were: changing them breaks
// whoever runs an older version.
func TestGolden(t *testing.T) {
	for _, m := range messages {
		t.Run(nameOf(m), func(t *testing.T) {
			b, err := schemas.Encode(m)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", "golden", nameOf(m)+".hex")
			if *update {
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(wrap(hex.EncodeToString(b))), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v (new message? run with -update and review the diff)", err)
			}
			want, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b, want) {
				t.Errorf("the bytes changed:\n got %x\nwant %x", b, want)
			}
			got := reflect.New(reflect.TypeOf(m))
			if err := schemas.Decode(want, got.Interface()); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(m, got.Elem().Interface()); d != "" {
				t.Errorf("the golden bytes decode to something else (-want +got):\n%s", d)
			}
		})
	}
}

func TestGoldenFilesHaveAMessage(t *testing.T) {
	files, err := os.ReadDir(filepath.Join("testdata", "golden"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(messages) {
		t.Errorf("%d golden files for %d messages: remove what no message needs", len(files), len(messages))
	}
}

func wrap(s string) string {
	var b strings.Builder
	for len(s) > 100 {
		b.WriteString(s[:100] + "\n")
		s = s[100:]
	}
	return b.String() + s + "\n"
}

func TestAppend(t *testing.T) {
	b, err := schemas.Append([]byte("head"), schemas.Stop{Reason: "x"})
	if err != nil || !bytes.HasPrefix(b, []byte("head")) {
		t.Fatalf("%q, %v", b, err)
	}
	var s schemas.Stop
	if err := schemas.Decode(b[4:], &s); err != nil || s.Reason != "x" {
		t.Fatalf("%+v, %v", s, err)
	}
	b, err = schemas.Append([]byte("head"), make(chan int))
	if err == nil || string(b) != "head" {
		t.Fatalf("a value that can't be encoded: %q, %v", b, err)
	}
}

func TestDecodeKeepsNothingOfTheBytes(t *testing.T) {
	b, _ := schemas.Encode(schemas.Exec{CallID: "id", Input: schemas.JSON(`{"a":1}`)})
	var e schemas.Exec
	if err := schemas.Decode(b, &e); err != nil {
		t.Fatal(err)
	}
	for i := range b {
		b[i] = 0xff
	}
	if e.CallID != "id" || string(e.Input) != `{"a":1}` {
		t.Errorf("the message changed with the buffer: %+v", e)
	}
}

// TestSpec_B4_Malformed gives Decode what a hostile peer would.
func TestSpec_B4_Malformed(t *testing.T) {
	long := bytes.Repeat([]byte{0x91}, 20)
	for name, b := range map[string][]byte{
		"nothing":                    {},
		"array of 4G elements":       {0xdd, 0xff, 0xff, 0xff, 0xff},
		"map of 4G entries":          {0xdf, 0xff, 0xff, 0xff, 0xff},
		"bin of 4G bytes":            {0xc6, 0xff, 0xff, 0xff, 0xff},
		"string of 64K bytes":        {0xda, 0xff, 0xff, 'x'},
		"cut length":                 {0xdd, 0x00},
		"cut number":                 {0xcf, 1, 2},
		"trailing":                   {0x80, 0xc0},
		"deep":                       append(long, 0xc0),
		"fixext":                     {0xd4, 1, 2},
		"ext8":                       {0xc7, 0, 1},
		"ext in front of a map":      {0xc7, 0, 1, 0x80},
		"reserved":                   {0xc1},
		"number as key":              {0x81, 0x01, 0x01},
		"map as key":                 {0x81, 0x80, 0x01},
		"bin as key":                 {0x81, 0xc4, 0x01, 'a', 0x01},
		"long key":                   append(append([]byte{0x81, 0xd9, 65}, bytes.Repeat([]byte("k"), 65)...), 0xc0),
		"list in a field of slices":  {0x81, 0xa5, 't', 'o', 'o', 'l', 's', 0xdd, 0xff, 0xff, 0xff, 0xff},
		"string instead of a struct": {0xa1, 'x'},
	} {
		t.Run(name, func(t *testing.T) {
			for _, m := range messages {
				if err := schemas.Decode(b, reflect.New(reflect.TypeOf(m)).Interface()); err == nil {
					t.Errorf("%s decoded from %x", nameOf(m), b)
				}
			}
		})
	}
}

// TestJSONFromOtherLanguages: a peer may send a JSON text as a string, which decodes alike.
func TestJSONFromOtherLanguages(t *testing.T) {
	for name, b := range map[string][]byte{
		"bin": {0x81, 0xa5, 'v', 'a', 'l', 'u', 'e', 0xc4, 1, '7'},
		"str": {0x81, 0xa5, 'v', 'a', 'l', 'u', 'e', 0xa1, '7'},
	} {
		var a schemas.Answer
		if err := schemas.Decode(b, &a); err != nil || string(a.Value) != "7" {
			t.Errorf("%s: %q, %v", name, a.Value, err)
		}
	}
	for name, b := range map[string][]byte{
		"nil":       {0x81, 0xa5, 'v', 'a', 'l', 'u', 'e', 0xc0},
		"empty bin": {0x81, 0xa5, 'v', 'a', 'l', 'u', 'e', 0xc4, 0},
	} {
		var a schemas.Answer
		if err := schemas.Decode(b, &a); err != nil || a.Value != nil {
			t.Errorf("%s: %q, %v", name, a.Value, err)
		}
	}
	var a schemas.Answer
	if err := schemas.Decode([]byte{0x81, 0xa5, 'v', 'a', 'l', 'u', 'e', 7}, &a); err == nil {
		t.Errorf("a number: %q", a.Value)
	}
}

func TestDecodeSkipsUnknownFields(t *testing.T) {
	b := []byte{0x82, 0xa1, 'x', 0x92, 0x81, 0xa1, 'y', 0xcb, 0, 0, 0, 0, 0, 0, 0, 0, 0xc3, 0xa6, 'r', 'e', 'a', 's', 'o', 'n', 0xa1, 'k'}
	var s schemas.Stop
	if err := schemas.Decode(b, &s); err != nil || s.Reason != "k" {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestSpec_B4_Amplification: a list of a million empty maps, or nils, would decode into 150 times
// its size.
func TestSpec_B4_Amplification(t *testing.T) {
	for name, fill := range map[string]byte{"empty maps": 0x80, "nils": 0xc0, "empty strings": 0xa0} {
		t.Run(name, func(t *testing.T) {
			const n = 1 << 20
			b := append([]byte{0x81, 0xa5, 't', 'o', 'o', 'l', 's', 0xdd, n >> 24, n >> 16 & 0xff, n >> 8 & 0xff, n & 0xff}, bytes.Repeat([]byte{fill}, n)...)
			before := allocated()
			err := schemas.Decode(b, new(schemas.Registration))
			if took := allocated() - before; err == nil || took > 1<<20 {
				t.Errorf("error %v after allocating %d bytes", err, took)
			}
		})
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// TestAmplificationLeavesHonestListsAlone encodes very long lists of the smallest elements: what
// we encode we decode.
func TestAmplificationLeavesHonestListsAlone(t *testing.T) {
	for _, m := range messages {
		v := reflect.ValueOf(m)
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Type.Kind() != reflect.Slice || f.Type.Elem().Kind() == reflect.Uint8 {
				continue
			}
			t.Run(nameOf(m)+"."+f.Name, func(t *testing.T) {
				const n = 20_000
				in := reflect.New(v.Type())
				list := reflect.MakeSlice(f.Type, n, n)
				if f.Type.Elem().Kind() == reflect.String {
					for j := range n {
						list.Index(j).SetString("a name of 16 b.")
					}
				}
				if f.Type.Elem() == reflect.TypeFor[schemas.JSON]() {
					for j := range n {
						list.Index(j).SetBytes([]byte("{}"))
					}
				}
				in.Elem().Field(i).Set(list)
				b, err := schemas.Encode(in.Interface())
				if err != nil {
					t.Fatal(err)
				}
				out := reflect.New(v.Type())
				if err := schemas.Decode(b, out.Interface()); err != nil {
					t.Fatal(err)
				}
				if got := out.Elem().Field(i).Len(); got != n {
					t.Errorf("%d elements of %d", got, n)
				}
			})
		}
	}
}

func FuzzDecode(f *testing.F) {
	for i, m := range messages {
		b, err := schemas.Encode(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), b)
	}
	f.Add(uint8(0), []byte{0xdd, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, kind uint8, b []byte) {
		typ := reflect.TypeOf(messages[int(kind)%len(messages)])
		v := reflect.New(typ)
		if schemas.Decode(b, v.Interface()) != nil {
			return
		}
		// What was accepted has one encoding, which means the same.
		once, err := schemas.Encode(v.Interface())
		if err != nil {
			t.Fatalf("accepted but can't be encoded: %v", err)
		}
		again := reflect.New(typ)
		if err := schemas.Decode(once, again.Interface()); err != nil {
			t.Fatalf("own encoding refused: %v", err)
		}
		twice, err := schemas.Encode(again.Interface())
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("encodings differ: %x, %x, %v", once, twice, err)
		}
	})
}

func BenchmarkDecodeCall(b *testing.B) {
	enc, _ := schemas.Encode(messages[2])
	b.ReportAllocs()
	for b.Loop() {
		var c schemas.Call
		if err := schemas.Decode(enc, &c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendCall(b *testing.B) {
	buf := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schemas.Append(buf[:0], messages[2]); err != nil {
			b.Fatal(err)
		}
	}
}
