package run

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/codecell/codecell/schemas"
)

// keeping is the port of a cell whose run keeps so many bytes of results.
func keeping(kept *results, limit int) *port {
	return &port{results: kept, admission: &Admission{Limits: schemas.Limits{MemoryBytes: limit, SnapshotBytes: 2 * limit}}}
}

// keep saves and gives the record.
func keep(t testing.TB, p *port, value string, tainted bool) (record resultRecord) {
	t.Helper()
	got := p.Local("results.save", schemas.JSON(`{"value":`+value+`}`), tainted)
	if got.Err != nil {
		t.Fatalf("save: %v", got.Err)
	}
	if len(got.Value) > maxRecord {
		t.Errorf("the record has %d bytes", len(got.Value))
	}
	if err := json.Unmarshal(got.Value, &record); err != nil {
		t.Fatal(err)
	}
	return record
}

func idPayload(id string) schemas.JSON { return compact(map[string]string{"id": id}) }

func TestSpec_T4_Case82_ResultsAreDetachedAndStay(t *testing.T) {
	var kept results
	first := keep(t, keeping(&kept, 1<<20), `{"rows":[1,2,3]}`, false)
	if first.Count != 1 || first.Bytes != 16 || first.Shape != "{ rows: number[] }" || first.Preview != `{"rows":[1,2,3]}` || first.PreviewTruncated {
		t.Errorf("record %+v", first)
	}
	next := keeping(&kept, 1<<20) // a later cell
	for range 2 {
		if got := next.Local("results.load", idPayload(first.ID), false); string(got.Value) != `{"rows":[1,2,3]}` || got.Untrusted {
			t.Errorf("load gives %+v", got)
		}
	}
	if got := next.Local("results.delete", idPayload(first.ID), false); string(got.Value) != "true" {
		t.Errorf("delete gives %+v", got)
	}
	for _, kind := range []string{"results.load", "results.delete"} {
		refused(t, next.Local(kind, idPayload(first.ID), false), "Error", kind+`: this run has no result "`+first.ID+`"`)
	}
}

func TestSpec_T4_Case82_CapacityIsRefusedAndNothingIsEvicted(t *testing.T) {
	t.Run("entries", func(t *testing.T) {
		p := keeping(&results{}, 1<<20)
		var ids []string
		for i := range maxResults {
			ids = append(ids, keep(t, p, fmt.Sprint(i), false).ID)
		}
		refused(t, p.Local("results.save", schemas.JSON(`{"value":64}`), false), "RangeError", "keeps 64 results")
		for i, id := range ids {
			if got := p.Local("results.load", idPayload(id), false); string(got.Value) != fmt.Sprint(i) {
				t.Errorf("result %d is %+v", i, got)
			}
		}
		p.Local("results.delete", idPayload(ids[7]), false)
		keep(t, p, `64`, false)
	})
	t.Run("bytes in UTF-8", func(t *testing.T) {
		p := keeping(&results{}, 1000)
		first := keep(t, p, `"`+strings.Repeat("é", 299)+`"`, false) // 600 bytes
		refused(t, p.Local("results.save", schemas.JSON(`{"value":"`+strings.Repeat("x", 399)+`"}`), false), "RangeError", "401 bytes as JSON, and this run keeps 600 of at most 1000")
		refused(t, p.Local("results.save", schemas.JSON(`{"value":"`+strings.Repeat("x", 999)+`"}`), false), "RangeError", "1001 bytes as JSON, and a run keeps at most 1000")
		keep(t, p, `"`+strings.Repeat("x", 398)+`"`, false)
		if got := p.Local("results.load", idPayload(first.ID), false); len(got.Value) != 600 {
			t.Errorf("the first one is %+v", got)
		}
		p.Local("results.delete", idPayload(first.ID), false)
		keep(t, p, `"`+strings.Repeat("x", 598)+`"`, false)
	})
}

func TestSpec_T4_Case82_ForeignIdsAreUnknown(t *testing.T) {
	mine, theirs := keeping(&results{}, 1000), keeping(&results{}, 1000)
	id := keep(t, theirs, `1`, false).ID
	if id == keep(t, theirs, `1`, false).ID || len(id) < len("result_")+20 {
		t.Errorf("the id %q can be guessed", id)
	}
	for _, wrong := range []string{id, "", "result_", "__proto__", strings.Repeat("é", 100_000), "\u2028\u202e\n"} {
		got := mine.Local("results.load", idPayload(wrong), false)
		refused(t, got, "Error", "this run has no result")
		if got.Err != nil && (len(got.Err.Message) > 400 || strings.ContainsAny(got.Err.Message, "\n\u2028\u202e")) {
			t.Errorf("message %q", got.Err.Message)
		}
	}
}

func TestSpec_T4_RestartSafeCellsKeepNothing(t *testing.T) {
	p := keeping(&results{}, 1000)
	id := keep(t, p, `1`, false).ID
	p.restartSafe = true
	refused(t, p.Local("results.save", schemas.JSON(`{"value":1}`), false), "Error", "results.save is unavailable: ")
	refused(t, p.Local("results.load", idPayload(id), false), "Error", "without restartSafe")
	refused(t, p.Local("results.delete", idPayload(id), false), "Error", "results.delete is unavailable: ")
	if _, err := p.Keep(schemas.JSON(`[1]`), false); err == nil || !strings.Contains(err.Error(), "without restartSafe") {
		t.Errorf("Keep says %v", err)
	}
}

func TestSpec_O3_J2_ProgramsWithoutResultsGetNoReference(t *testing.T) {
	p := keeping(&results{}, 1000)
	p.older = true
	if record, err := p.Keep(schemas.JSON(`[1]`), false); err == nil || !strings.Contains(err.Error(), "can't load") || len(p.results.byID) != 0 {
		t.Errorf("Keep gives %s, %v", record, err)
	}
}

func TestSpec_O3_KeepSavesUnderTheSameLimits(t *testing.T) {
	p := keeping(&results{}, 1000)
	record, err := p.Keep(schemas.JSON(`[1,2]`), true)
	if err != nil {
		t.Fatal(err)
	}
	var r resultRecord
	if err := json.Unmarshal(record, &r); err != nil {
		t.Fatal(err)
	}
	if got := p.Local("results.load", idPayload(r.ID), false); string(got.Value) != `[1,2]` || !got.Untrusted {
		t.Errorf("load gives %+v", got)
	}
	if _, err := p.Keep(schemas.JSON(`"`+strings.Repeat("x", 1000)+`"`), false); err == nil || !strings.Contains(err.Error(), "at most 1000") {
		t.Errorf("error %v", err)
	}
}

func TestSpec_O5_SavedResultsStayUntrusted(t *testing.T) {
	p := keeping(&results{}, 1000)
	web, clean := keep(t, p, `1`, true), keep(t, p, `2`, false)
	for id, want := range map[string]bool{web.ID: true, clean.ID: false} {
		if got := p.Local("results.load", idPayload(id), false); got.Untrusted != want {
			t.Errorf("%+v, want untrusted %v", got, want)
		}
	}
}

func TestSpec_B4_HostileResultRequests(t *testing.T) {
	p := keeping(&results{}, 1000)
	for _, payload := range []string{``, `[]`, `{"id":7}`, `{"id":"a"`, `{"value":` + strings.Repeat("[", 20_000) + `}`} {
		for _, kind := range []string{"results.save", "results.load", "results.delete"} {
			refused(t, p.Local(kind, schemas.JSON(payload), false), "TypeError", "malformed "+kind+" request")
		}
	}
	refused(t, p.Local("results.save", schemas.JSON(`{}`), false), "TypeError", "malformed")
	if r := keep(t, p, "\"a\xff\"", false); r.Preview != `"a`+"\ufffd"+`"` || r.Bytes != 6 {
		t.Errorf("record %+v", r)
	}
}

func TestSpec_T4_Shapes(t *testing.T) {
	for value, want := range map[string]struct {
		shape string
		count int
	}{
		`1`: {"number", 1}, `-1.5e9`: {"number", 1}, `"a,]"`: {"string", 1}, `true`: {"boolean", 1}, `null`: {"null", 1},
		`[]`: {"[]", 0}, `{}`: {"{}", 0}, `[1,2]`: {"number[]", 2}, `[[],[[1]]]`: {"number[][][]", 2},
		`[true,false,null,"a",1]`:                 {"(boolean | null | string | number)[]", 5},
		`[{"a":1},{"a":"x","b":[]},{}]`:           {"{ a?: number | string; b?: [] }[]", 3},
		`{"a":{"b":{"c":{"d":1}}}}`:               {"{ a: { b: { c: { d: number } } } }", 1},
		`[[[[[1]]]]]`:                             {"unknown[][][][][]", 1},
		`{"a b":1,"\"":2,"__proto__":3}`:          {`{ "a b": number; "\"": number; __proto__: number }`, 3},
		`{"` + strings.Repeat("é", 40) + `":1}`:   {`{ "` + strings.Repeat("é", 16) + `…": number }`, 1},
		`[{"a":[{"x":"]}"},{"x":"\\\""}]},"}"]`:   {"({ a: { x: string }[] } | string)[]", 2},
		` [ { "a" : 1 } , [ 2 ] , "x" ] `:         {"({ a: number } | number[] | string)[]", 3},
		`[1` + strings.Repeat(",1", 50) + `,"x"]`: {"number[]", 52},
	} {
		shape, count := shapeOf([]byte(value), maxShape)
		if shape != want.shape || count != want.count {
			t.Errorf("%.60s is %s with %d, want %s with %d", value, shape, count, want.shape, want.count)
		}
	}
	var wide strings.Builder
	for i := range 100 {
		fmt.Fprintf(&wide, `,"field_%d":{"some_name":"%d","another_name":1}`, i, i)
	}
	shape, count := shapeOf([]byte("{"+wide.String()[1:]+"}"), maxShape)
	if count != 100 || len(shape) > maxShape || !strings.HasPrefix(shape, "{ field_0: object; field_1: object; ") && shape != "object" {
		t.Errorf("%d fields are %s", count, shape)
	}
}

// drawJSON draws JSON texts, with names and texts that need escapes.
func drawJSON(depth int) *rapid.Generator[any] {
	word := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`"`, `\`, "\u2028", "é😀", "{}[],:", strings.Repeat("x\"", 500), ""}))
	leaf := rapid.OneOf(rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.Int(), func(n int) any { return n }), rapid.Map(word, func(s string) any { return s }))
	if depth == 0 {
		return leaf
	}
	below := drawJSON(depth - 1)
	return rapid.OneOf(leaf, rapid.Map(rapid.SliceOfN(below, 0, 20), func(v []any) any { return v }),
		rapid.Map(rapid.MapOfN(word, below, 0, 15), func(v map[string]any) any { return v }))
}

func TestSpec_T4_RecordsAreBoundedAndTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawJSON(4).Draw(t, "value")
		value := compact(v)
		record := describeResult("result_"+strings.Repeat("a", 26), value)
		var r resultRecord
		if err := json.Unmarshal(record, &r); err != nil || len(record) > maxRecord {
			t.Fatalf("%d bytes, %v", len(record), err)
		}
		want := 1
		switch v := v.(type) {
		case []any:
			want = len(v)
		case map[string]any:
			want = len(v)
		}
		if r.Count != want || r.Bytes != len(value) || r.Shape == "" || len(r.Shape) > maxShape {
			t.Fatalf("record %+v", r)
		}
		if !strings.HasPrefix(string(value), r.Preview) || !utf8.ValidString(r.Preview) || r.PreviewTruncated != (len(r.Preview) < len(value)) {
			t.Fatalf("preview %q of %s", r.Preview, value)
		}
		if r.PreviewTruncated && len(record) < maxRecord-6 {
			t.Fatalf("a record of %d bytes could show more", len(record))
		}
	})
}

func FuzzShape(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"\""}],"c":null}`))
	f.Add([]byte(`[[[[`))
	f.Add([]byte(`"\`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if shape, _ := shapeOf(text, maxShape); len(shape) > maxShape { // any text: it neither panics nor goes on for ever
			t.Errorf("%d bytes of %q", len(shape), text)
		}
	})
}
