package cell

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/codecell/codecell/actors/slot"
	"github.com/codecell/codecell/schemas"
)

// reference is a value that stands for one that is kept.
type reference struct {
	Truncated bool
	Reference struct {
		ID      string
		Bytes   int
		Preview string
	}
	Guidance, NotSaved, Prefix string
	OmittedBytes               int
}

func readReference(t require, value schemas.JSON) reference {
	var r reference
	if err := json.Unmarshal(value, &r); err != nil || !r.Truncated || r.Guidance == "" {
		t.Fatalf("no marker: %.200s: %v", value, err)
	}
	return r
}

// TestSpec_O2_O3_ReferencesAgainstNaiveTwin checks what stands for random values: the value itself if it fits, a
// reference that the keeper gave, or a marker with why there is none; within the budget in each case.
func TestSpec_O2_O3_ReferencesAgainstNaiveTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Output{Max: rapid.IntRange(1024, 5000).Draw(t, "limit")}
		if n := rapid.IntRange(0, 6000).Draw(t, "output"); n > 0 {
			o.Add(Item{Type: "text", JSON: naive(t, strings.Repeat("o", n))})
		}
		if rapid.Bool().Draw(t, "waits") {
			o.Waiting()
		}
		text := texts.Draw(t, "text")
		whole := schemas.JSON(naive(t, text))
		composite := true
		switch rapid.IntRange(0, 2).Draw(t, "shape") {
		case 0:
			whole = fmt.Appendf(nil, `{"a":%s}`, whole)
		case 1:
			whole = fmt.Appendf(nil, `[%s]`, whole)
		default:
			composite = false
		}
		var err error
		preview := rapid.StringN(0, 300, 500).Draw(t, "preview")
		if rapid.Bool().Draw(t, "can't") {
			err = errors.New(rapid.StringN(1, 300, 900).Draw(t, "why"))
		}
		asked := 0
		keep := func() (schemas.JSON, error) {
			asked++
			return naive(t, map[string]any{"id": "result_0123456789abcdef", "bytes": len(whole), "preview": preview}), err
		}
		_, value := o.Completed(whole, keep)
		total := o.used
		if got := len(value); got > total || total > o.Max {
			t.Fatalf("a value of %d, %d bytes in all, of %d", got, total, o.Max)
		}
		if bytes.Equal(value, whole) {
			if asked > 0 {
				t.Fatalf("kept what was given whole")
			}
			return
		}
		if !composite {
			m, ok := isMarker(value)
			if !ok || asked > 0 {
				t.Fatalf("a string: %.200s, kept %d times", value, asked)
			}
			checkMarker(t, m, whole)
			return
		}
		r := readReference(t, value)
		switch {
		case asked != 1:
			t.Fatalf("asked %d times", asked)
		case err == nil && (r.Reference.ID != "result_0123456789abcdef" || r.Reference.Bytes != len(whole) || r.NotSaved != ""):
			t.Fatalf("kept: %.300s", value)
		case err == nil && r.Reference.Preview != "" && r.Reference.Preview != strings.ToValidUTF8(preview, "\ufffd"):
			t.Fatalf("the preview was changed: %q", r.Reference.Preview)
		case err != nil:
			m, _ := isMarker(value)
			checkMarker(t, m, whole)
			if r.NotSaved == "" || !strings.HasPrefix(strings.ToValidUTF8(err.Error(), "\ufffd"), strings.TrimSuffix(r.NotSaved, "\ufffd")) {
				t.Fatalf("why not: %q, of %q", r.NotSaved, err)
			}
		}
	})
}

// O3: an oversized final object or array is kept for the run, with its provenance, and referred to; a string has its
// beginning.
func TestSpec_O3_OversizedFinalValues(t *testing.T) {
	type kept struct {
		value   string
		tainted bool
	}
	for _, c := range []struct {
		name, code string
		err        error
		kept       []kept
	}{
		{"an array", `return Array.from({length:900}, (_, i) => i)`, nil, []kept{{"[0,1,2,3", false}}},
		{"an object", `await web({}); return {a: "b".repeat(3000)}`, nil, []kept{{`{"a":"bbb`, true}}},
		{"it fits", `return {a: 1}`, nil, nil},
		{"a string", `return "b".repeat(3000)`, nil, nil},
		{"full", `return ["b".repeat(3000)]`, errors.New("64 results are saved; delete some"), []kept{{`["bbb`, false}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtual(t, slot.Options{}, func(b *bed) {
				var got []kept
				p := b.exec(c.code, func(s *Spec) {
					s.Limits.OutputBytes = 1024
					s.Port.(*probe).keep = func(v schemas.JSON, tainted bool) (schemas.JSON, error) {
						got = append(got, kept{string(v[:min(len(v), len(c.kept[0].value))]), tainted})
						return schemas.JSON(`{"id":"result_1","bytes":3008}`), c.err
					}
				})
				r := <-p.reply
				if r.Status != schemas.StatusCompleted || len(r.Value) > 1024 {
					b.t.Fatalf("got %s", show(r))
				}
				<-p.gone
				if !slices.Equal(got, c.kept) {
					b.t.Errorf("kept %v, want %v", got, c.kept)
				}
				if c.name == "it fits" {
					return
				}
				marker := readReference(b.t, r.Value)
				switch {
				case c.err != nil && (marker.NotSaved != c.err.Error() || marker.Prefix == ""):
					b.t.Errorf("not kept: %s", r.Value)
				case c.err == nil && len(c.kept) > 0 && (marker.Reference.ID != "result_1" || !strings.Contains(marker.Guidance, "results.load(reference.id)")):
					b.t.Errorf("kept: %s", r.Value)
				case len(c.kept) == 0 && (marker.Prefix == "" || marker.NotSaved != "" || marker.Reference.ID != ""):
					b.t.Errorf("not to be kept: %s", r.Value)
				}
			})
		})
	}
}

// A reference that says more than fits is cut to what it needs; one that isn't what it should be is no reference.
func TestSpec_O3_ReferencesThatDontFit(t *testing.T) {
	whole := schemas.JSON(`["` + strings.Repeat("x", 3000) + `"]`)
	for _, c := range []struct {
		reference, want, notSaved string
	}{
		{`{"id":"result_1","bytes":3004,"preview":"x"}`, `{"id":"result_1","bytes":3004,"preview":"x"}`, ""},
		{`{"id":"result_1","bytes":3004,"preview":"` + strings.Repeat("x", 200) + `"}`, `{"id":"result_1","bytes":3004}`, ""},
		{`"` + strings.Repeat("x", 400) + `"`, "", "there is no room for a reference"},
	} {
		value := instead(whole, finalReserve+40, func() (schemas.JSON, error) { return schemas.JSON(c.reference), nil })
		var r struct {
			Reference json.RawMessage
			NotSaved  string
		}
		if err := json.Unmarshal(value, &r); err != nil || string(r.Reference) != c.want || r.NotSaved != c.notSaved || len(value) > finalReserve+40 {
			t.Errorf("%.60s: %s", c.reference, value)
		}
	}
}
