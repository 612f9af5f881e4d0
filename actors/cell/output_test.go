package cell

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/codecell/codecell/schemas"
)

// naive encodes the way encoding/json does, without escapes for HTML.
func naive(t require, v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatalf("encoding: %v", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

type require interface {
	Fatalf(format string, args ...any)
}

type naiveText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func naiveItem(t require, i schemas.OutputItem) []byte {
	if i.Type == "text" {
		return naive(t, naiveText{i.Type, i.Text})
	}
	b := append([]byte(`{"type":"json","value":`), i.Value...)
	return append(b, '}')
}

func naiveArray(t require, items []schemas.OutputItem) []byte {
	parts := make([][]byte, len(items))
	for i, item := range items {
		parts[i] = naiveItem(t, item)
	}
	return append(append([]byte{'['}, bytes.Join(parts, []byte{','})...), ']')
}

type marker struct {
	Truncated    bool
	Prefix       string
	OmittedBytes int
	Guidance     string
}

func isMarker(value schemas.JSON) (marker, bool) {
	var m marker
	if json.Unmarshal(value, &m) != nil || !m.Truncated {
		return m, false
	}
	return m, true
}

// checkMarker checks a marker against the whole text that it stands for.
func checkMarker(t require, m marker, whole []byte) {
	if !utf8.ValidString(m.Prefix) || !bytes.HasPrefix(whole, []byte(m.Prefix)) {
		t.Fatalf("not a prefix: %.100q of %.100q", m.Prefix, whole)
	}
	if m.OmittedBytes != len(whole)-len(m.Prefix) {
		t.Fatalf("omittedBytes %d, want %d", m.OmittedBytes, len(whole)-len(m.Prefix))
	}
	if m.Guidance == "" {
		t.Fatalf("no guidance")
	}
}

var texts = rapid.OneOf(
	rapid.StringN(0, 20, 60),
	rapid.StringOfN(rapid.RuneFrom([]rune("\"\\\n\t\x00\u2028😀äx")), 0, 700, -1),
	rapid.Map(rapid.IntRange(0, 3000), func(n int) string { return strings.Repeat("x", n) }),
	rapid.Map(rapid.IntRange(0, 3000), func(n int) string { return "heading " + strings.Repeat(`\`, n) }),
)

// TestSpec_O2_OutputAgainstNaiveTwin checks every delivery of random cells against encoding/json.
func TestSpec_O2_OutputAgainstNaiveTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1024, 5000).Draw(t, "limit")
		o := Output{Max: limit}
		total := 0
		var added []schemas.OutputItem
		given := func(items []schemas.OutputItem, last bool) {
			if len(items) == 0 {
				if last && len(added) > 0 {
					t.Fatalf("the last result says nothing of %d items", len(added))
				}
				return
			}
			total += len(naiveArray(t, items))
			if m, ok := isMarker(items[0].Value); ok && len(items) == 1 {
				checkMarker(t, m, naiveArray(t, added))
			} else if got, want := naiveArray(t, items), naiveArray(t, added); !bytes.Equal(got, want) {
				t.Fatalf("output changed: %q, want %q", got, want)
			}
			added = nil
		}
		for range rapid.IntRange(0, 8).Draw(t, "legs") {
			for range rapid.IntRange(0, 4).Draw(t, "items") {
				text := texts.Draw(t, "text")
				item := schemas.OutputItem{Type: "text", Text: strings.ToValidUTF8(text, "\ufffd")}
				if rapid.Bool().Draw(t, "json") {
					item = schemas.OutputItem{Type: "json", Value: naive(t, text)}
				}
				added = append(added, item)
				raw := item.Value
				if item.Type == "text" {
					raw = naive(t, item.Text)
				}
				o.Add(Item{Type: item.Type, JSON: raw})
			}
			if rapid.Bool().Draw(t, "wait") {
				given(o.Waiting(), false)
			}
		}
		final := texts.Draw(t, "final")
		if rapid.Bool().Draw(t, "fails") {
			items, text := o.Failed(final)
			given(items, true)
			total += len(naive(t, text))
			if text != final && (!strings.HasSuffix(text, errorCut) || !strings.HasPrefix(final, strings.TrimSuffix(text, errorCut))) {
				t.Fatalf("error changed: %q", text)
			}
		} else {
			whole := naive(t, final)
			items, value := o.Completed(whole, nil)
			given(items, true)
			total += len(value)
			if m, ok := isMarker(value); ok {
				checkMarker(t, m, whole)
			} else if !bytes.Equal(value, whole) {
				t.Fatalf("value changed")
			}
		}
		if total > limit {
			t.Fatalf("%d bytes in all, the limit is %d", total, limit)
		}
	})
}

func TestSpec_O2_StringSizeAndEncodingAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(texts, rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "s")
		want := naive(t, s)
		if got := appendString(nil, s); !bytes.Equal(got, want) {
			t.Fatalf("encoded %q, want %q", got, want)
		}
		if got := stringSize(s); got != len(want) {
			t.Fatalf("size %d, want %d", got, len(want))
		}
	})
}

// An oversized value is a success with a useful prefix, within the limit (case 75).
func TestSpec_O2_OversizedValue(t *testing.T) {
	o := Output{Max: 1024}
	whole := []byte(`"` + strings.Repeat("x", 3000) + `"`)
	items, value := o.Completed(whole, nil)
	m, ok := isMarker(value)
	if !ok || items != nil {
		t.Fatalf("got %s", value)
	}
	checkMarker(t, m, whole)
	if len(value) > 1024 || len(m.Prefix) < 850 {
		t.Errorf("%d bytes with a prefix of %d", len(value), len(m.Prefix))
	}
}

// Output of a waiting result that leaves room for the end of the cell is given whole, and what is emitted after cut output
// isn't lost, as far as it fits.
func TestSpec_O2_Case75_WaitingOutputIsWholeIfItFits(t *testing.T) {
	o := Output{Max: 1024}
	o.Add(Item{Type: "text", JSON: naive(t, strings.Repeat("a", 600))})
	if items := o.Waiting(); len(items) != 1 || items[0].Text != strings.Repeat("a", 600) {
		t.Fatalf("cut: %+v", items)
	}
	o.Add(Item{Type: "text", JSON: naive(t, strings.Repeat("b", 600))})
	if items := o.Waiting(); items != nil {
		t.Fatalf("no room is left for the end: %+v", items)
	}
	reference := naive(t, map[string]any{"id": "result_" + strings.Repeat("x", 26), "bytes": 10 << 20})
	items, value := o.Completed(naive(t, []string{strings.Repeat("c", 1000)}), func() (schemas.JSON, error) { return reference, nil })
	if m, ok := isMarker(items[0].Value); !ok || m.OmittedBytes == 0 {
		t.Errorf("the end doesn't say what is missing: %+v", items)
	}
	if readReference(t, value).Reference.ID == "" || o.used > o.Max {
		t.Errorf("no reference, or %d bytes: %s", o.used, value)
	}

	o = Output{Max: 1024}
	o.Add(Item{Type: "text", JSON: naive(t, strings.Repeat("a", 3000))})
	o.Waiting()
	o.Add(Item{Type: "text", JSON: naive(t, "done")})
	if items := o.Waiting(); len(items) != 1 || items[0].Text != "done" {
		t.Errorf("what came after the cut is lost: %+v", items)
	}
}

// Heavily escaped output keeps its heading and about half the budget (case 77).
func TestSpec_O2_HeavilyEscaped(t *testing.T) {
	text := "heading\n" + strings.Repeat(`\`, 70_000)
	for _, where := range []string{"value", "text"} {
		o := Output{Max: 64 << 10}
		whole := appendString(nil, text)
		var value schemas.JSON
		if where == "value" {
			_, value = o.Completed(whole, nil)
		} else {
			o.Add(Item{Type: "text", JSON: whole})
			items := o.Waiting()
			value = items[0].Value
			whole = naiveArray(t, []schemas.OutputItem{{Type: "text", Text: text}})
		}
		m, ok := isMarker(value)
		if !ok {
			t.Fatalf("%s: no marker: %.200s", where, value)
		}
		checkMarker(t, m, whole)
		if !strings.Contains(m.Prefix, "heading") || len(m.Prefix) < 31<<10 {
			t.Errorf("%s: a prefix of only %d bytes", where, len(m.Prefix))
		}
	}
}

// A cut never splits a character (case 78).
func TestSpec_O2_CutsBetweenCharacters(t *testing.T) {
	for pad := range 8 {
		o := Output{Max: 1024}
		whole := appendString(nil, strings.Repeat("x", pad)+strings.Repeat("😀", 1000))
		_, value := o.Completed(whole, nil)
		m, ok := isMarker(value)
		if !ok || strings.ContainsRune(m.Prefix, utf8.RuneError) {
			t.Fatalf("pad %d: %.100s", pad, value)
		}
		checkMarker(t, m, whole)

		_, text := (&Output{Max: 1024}).Failed(strings.Repeat("x", pad) + strings.Repeat("😀", 1000))
		if strings.ContainsRune(text, utf8.RuneError) || !strings.HasSuffix(text, "😀"+errorCut) {
			t.Fatalf("pad %d: %.100s", pad, text)
		}
	}
}

// Output that the guest's host had to cut is counted exactly.
func TestSpec_O2_CutBeforeItArrived(t *testing.T) {
	o := Output{Max: 1024}
	text := strings.Repeat("y", 5000)
	whole := appendString(nil, text)
	o.Add(Item{Type: "text", JSON: whole[:1024], Omitted: len(whole) - 1024})
	items := o.Waiting()
	m, ok := isMarker(items[0].Value)
	if !ok {
		t.Fatalf("no marker: %+v", items)
	}
	checkMarker(t, m, naiveArray(t, []schemas.OutputItem{{Type: "text", Text: text}}))
}
