package catalog

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/codecell/codecell/schemas"
)

func TestSpec_C9_Terms(t *testing.T) {
	for text, want := range map[string]string{
		"createIssue create_issue create-issue CreateIssue": "creat issu creat issu creat issu creat issu",
		"HTTPServer parseJSON2CSV sha256":                   "http server pars json 2 csv sha 256",
		"the files are listed":                              "fil list",
		"running queries and boxes":                         "run query box",
		"Größe ÜBER naïve":                                  "größe über naïve",
		"搜索关键词 検索":                                          "搜索 索关 关键 键词 検索",
		"词 a1b":                                             "词 1 b",
		"":                                                  "",
		"… -- 🚀!":                                           "",
	} {
		tokens := &tokenizer{stems: make(map[string]string)}
		var got []string
		tokens.each(text, true, func(term string) { got = append(got, term) })
		if strings.Join(got, " ") != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}

func library(t testing.TB) *Catalog {
	t.Helper()
	return build(t,
		native("core", "read", describedAs("Read a text file"), taking(`{"properties":{"path":{"type":"string","description":"where the document is"}}}`)),
		native("core", "write", describedAs("Write a text file"), taking(`{"properties":{"zebrastripe":{"type":"string"}}}`)),
		native("mail", "send_email", describedAs("Sends a message to somebody")),
		native("mail", "send_email_template_to_list", describedAs("Sends an email made from a template to a list")),
		mcp("git-hub", "create_issue", describedAs("Opens a ticket"), taking(`{"properties":{"untrustedword":{"description":"hiddenword"}}}`)),
		client("pick_color", describedAs("Lets the user choose a color"), taking(`{"properties":{"clientword":{}}}`)),
	)
}

func TestSpec_C5_C9_Ranking(t *testing.T) {
	c := library(t)
	for query, want := range map[string]string{
		"read":                                   "read",
		"READ":                                   "read",
		"where is the document":                  "read",
		"zebrastripe":                            "write",
		"zebra":                                  "",
		"send an email":                          "send_email",
		"emails to lists":                        "send_email_template_to_list",
		"opening tickets":                        "MCP.gitHub.createIssue",
		"github issue":                           "MCP.gitHub.createIssue",
		"create-issue":                           "MCP.gitHub.createIssue",
		"MCP.gitHub.createIssue":                 "MCP.gitHub.createIssue",
		" mcp.github.createissue":                "MCP.gitHub.createIssue",
		"call MCP.gitHub.createIssue, then read": "MCP.gitHub.createIssue",
		"choose color":                           "pick_color",
		"untrustedword":                          "", "hiddenword": "", "clientword": "",
		"": "", "   ": "", "the of and": "", "🚀": "", "raed fiel": "",
	} {
		got := search(t, c, query, 5)
		if want == "" && len(got) > 0 || want != "" && (len(got) == 0 || got[0] != want) {
			t.Errorf("%q gives %v, want %q first", query, got, want)
		}
	}
}

func TestSpec_C5_ExactNamesFirst(t *testing.T) {
	c := build(t,
		native("p", "get", describedAs("x")),
		native("p", "getAll", describedAs(strings.Repeat("get ", 50))),
		native("p", "the", describedAs("a name that is a stop word")),
		native("p", "class", describedAs("x")),
		mcp("m", "get"), mcp("m", "GET"),
	)
	if got := search(t, c, "get", 10); !slices.Equal(got[:3], []string{"get", "MCP.m.get", "MCP.m.GET"}) {
		t.Errorf("get gives %v", got)
	}
	if got := search(t, c, "GET", 10); got[0] != "MCP.m.GET" {
		t.Errorf("GET gives %v", got)
	}
	if got := search(t, c, "the", 10); len(got) != 1 || got[0] != "the" {
		t.Errorf("the gives %v", got)
	}
	class := callable(c)["p/class"]
	if got := search(t, c, class, 1); len(got) != 1 || got[0] != class {
		t.Errorf("%s gives %v", class, got)
	}
}

func TestSpec_C5_Limits(t *testing.T) {
	// CASES 51.
	var tools []schemas.Tool
	for i := range 60 {
		tools = append(tools, native("p", "t_"+strings.Repeat("x", i+1)))
	}
	c, _ := Build(tools, Options{SearchDefault: 4, SearchMax: 7})
	for limit, want := range map[int]int{0: 4, 1: 1, 7: 7, 8: 7, math.MaxInt: 7} {
		if got := search(t, c, "t", limit); len(got) != want {
			t.Errorf("limit %d gives %d hits, want %d", limit, len(got), want)
		}
	}
	if _, err := c.Search("t", -1); !errors.Is(err, schemas.InvalidInput) {
		t.Errorf("limit -1: %v", err)
	}
	for payload, want := range map[string]int{
		`{"query":"t"}`: 4, `{"query":"t","limit":6}`: 6, `{"query":"t","limit":1e300}`: 7, `{"query":"t","limit":null}`: 4, `{"query":"nothing"}`: 0,
		`{"query":"t","limit":0}`: -1, `{"query":"t","limit":-3}`: -1, `{"query":"t","limit":1.5}`: -1, `{"query":"t","limit":"x"}`: -1,
		`{"limit":3}`: -1, `{"query":7}`: -1, `{"query":null}`: -1, `[]`: -1, `{`: -1, ``: -1,
	} {
		records, _, err := c.SearchRequest([]byte(payload))
		if want < 0 {
			if !errors.Is(err, schemas.InvalidInput) {
				t.Errorf("%s: %v", payload, err)
			}
			continue
		}
		var got []record
		if err != nil {
			t.Errorf("%s: %v", payload, err)
			continue
		}
		unmarshal(t, records, &got)
		if len(got) != want || string(records) == "null" {
			t.Errorf("%s gives %s", payload, records)
		}
	}
	big, _ := Build(tools, Options{SearchDefault: 99, SearchMax: 7})
	if got := search(t, big, "t", 0); len(got) != 7 {
		t.Errorf("a default over the maximum gives %d hits", len(got))
	}
}

func TestSpec_M6_SearchSaysWhatIsUntrusted(t *testing.T) {
	c := library(t)
	for query, want := range map[string]bool{"read": false, "github issue": true, "pick color": true} {
		if _, untrusted, err := c.SearchRequest([]byte(`{"query":"` + query + `","limit":1}`)); err != nil || untrusted != want {
			t.Errorf("%q: untrusted %v, %v", query, untrusted, err)
		}
	}
}

func TestSpec_C7_HandleRecords(t *testing.T) {
	long := strings.Repeat("x", 511) + "🚀🚀"
	c := build(t,
		native("p", "a", describedAs(long), taking(`{"properties":{"x":{"type":"string"}}}`), giving(`{"type":"string"}`), func(t *schemas.Tool) { t.Label = "A" }),
		mcp("m", "b", describedAs(long), taking(`{"properties":{"x":{}}}`), giving(`{"type":"string"}`)),
		client("c", describedAs("y")),
	)
	want := []string{
		`{"ref":0,"callableName":"a","toolName":"a","label":"A","description":"` + long + `","source":"openclaw","apiPath":"tools/a.d.ts","input":"{ x?: string }","output":"string"}`,
		`{"ref":1,"callableName":"MCP.m.b","toolName":"b","description":"` + long[:511] + `","source":"mcp","apiPath":"mcp/m.d.ts"}`,
		`{"ref":2,"callableName":"c","toolName":"c","description":"y","source":"client","apiPath":"tools/c.d.ts","input":"unknown"}`,
	}
	for ref, want := range want {
		if got := string(c.HandleRecord(ref)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if c.HandleRecord(-1) != nil || c.HandleRecord(3) != nil {
		t.Error("a ref outside the catalog has a record")
	}
}

// naive scores every tool as the book has BM25F: every term, no index.
func naive(c *Catalog, query string) map[int]float64 {
	tokens := &tokenizer{stems: make(map[string]string)}
	terms := func(text string) (list []string) {
		tokens.each(text, true, func(term string) { list = append(list, term) })
		return list
	}
	texts := func(e *Entry) [fieldCount][]string {
		owner := e.Owner
		if owner == "core" || e.Source == schemas.SourceClient {
			owner = ""
		}
		return [fieldCount][]string{fieldName: append(terms(e.Name), terms(e.Label)...), fieldOwner: terms(owner), fieldDescription: terms(e.Description)}
	}
	var average [fieldCount]float64
	documents := make([][fieldCount][]string, c.Size())
	for i, e := range c.entries {
		documents[i] = texts(e)
	}
	for f := range average {
		filled := 0.0
		for _, d := range documents {
			average[f] += float64(len(d[f]))
			if len(d[f]) > 0 {
				filled++
			}
		}
		average[f] /= max(filled, 1)
	}
	occurrences := func(list []string, term string) (n float64) {
		for _, t := range list {
			if t == term {
				n++
			}
		}
		return n
	}
	rarity := func(term string) float64 {
		having := 0.0
		for _, d := range documents {
			if occurrences(slices.Concat(d[:]...), term) > 0 {
				having++
			}
		}
		return math.Log(1 + (float64(len(documents))-having+0.5)/(having+0.5))
	}
	distinct := terms(query)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	scores := make(map[int]float64)
	for i, d := range documents {
		score, covered, whole := 0.0, 0.0, 0.0
		name := slices.Clone(d[fieldName])
		slices.Sort(name)
		for _, term := range slices.Compact(name) {
			whole += rarity(term)
		}
		for _, term := range distinct {
			frequency := 0.0
			for f := range d {
				n := occurrences(d[f], term)
				if n > 0 {
					frequency += fields[f].weight * n / (1 - fields[f].normalise + fields[f].normalise*float64(len(d[f]))/average[f])
				}
			}
			score += rarity(term) * frequency * (saturation + 1) / (frequency + saturation)
			if occurrences(d[fieldName], term) > 0 {
				covered += rarity(term)
			}
		}
		if score > 0 {
			scores[i] = score + nameBonus*covered*covered/max(whole, 1e-9)
		}
	}
	return scores
}

func TestSpec_C9_AgreesWithTheBook(t *testing.T) {
	word := rapid.SampledFrom([]string{"alpha", "beta", "gamma", "delta", "files", "email", "x"})
	phrase := rapid.Map(rapid.SliceOfN(word, 1, 5), func(w []string) string { return strings.Join(w, " ") })
	rapid.Check(t, func(rt *rapid.T) {
		var tools []schemas.Tool
		for i, name := range rapid.SliceOfNDistinct(phrase, 1, 12, rapid.ID).Draw(rt, "names") {
			tool := native([]string{"core", "alpha"}[i%2], strings.ReplaceAll(name, " ", "_"), describedAs(phrase.Draw(rt, "description")))
			if i%3 == 0 {
				tool.Source = schemas.SourceMCP
			}
			tools = append(tools, tool)
		}
		c, _ := Build(tools, Options{})
		query := phrase.Draw(rt, "query") + " beta"
		got, err := c.Search(query, 50)
		if err != nil {
			rt.Fatal(err)
		}
		want := naive(c, query)
		if len(got) != len(want) {
			rt.Fatalf("%q gives %v, want the tools of %v", query, got, want)
		}
		for i, ref := range got {
			// float32 sums may differ from the book's in the last digits.
			if i > 0 && want[ref] > want[got[i-1]]+1e-4 {
				rt.Fatalf("%q gives %v; %d before %d, with scores %v", query, got, got[i-1], ref, want)
			}
		}
	})
}

func TestSpec_C9_TopHitsAreTheBestOfAll(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		hits := rapid.SliceOfNDistinct(rapid.Custom(func(rt *rapid.T) hit {
			return hit{
				doc:   rapid.Int32Range(0, 1000).Draw(rt, "doc"),
				exact: rapid.Uint8Range(0, 3).Draw(rt, "exact"),
				score: float32(rapid.IntRange(0, 5).Draw(rt, "score")),
			}
		}), 0, 60, func(h hit) int32 { return h.doc }).Draw(rt, "hits")
		limit := rapid.IntRange(1, 20).Draw(rt, "limit")
		var heap []hit
		for _, h := range hits {
			heap = keep(heap, h, limit)
		}
		slices.SortFunc(heap, compareHits)
		slices.SortFunc(hits, compareHits)
		if !slices.Equal(heap, hits[:min(limit, len(hits))]) {
			rt.Fatalf("kept %v of %v", heap, hits)
		}
	})
}

func TestSpec_C9_SearchesDontMix(t *testing.T) {
	c := library(t)
	queries := []string{"read a file", "send an email", "github issue", "nothing at all", "choose color", "write"}
	want := make([]string, len(queries))
	for i, query := range queries {
		want[i] = strings.Join(search(t, c, query, 5), " ")
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 300 {
				query := queries[i%len(queries)]
				refs, err := c.Search(query, 5)
				var got []string
				for _, ref := range refs {
					got = append(got, c.entries[ref].CallableName)
				}
				if err != nil || strings.Join(got, " ") != want[i%len(queries)] {
					t.Errorf("%q gives %v, %v", query, got, err)
					return
				}
			}
		})
	}
	all.Wait()
}

func FuzzSpec_C9_Search(f *testing.F) {
	c := library(f)
	f.Add("MCP.gitHub.createIssue read the file")
	f.Add("\xff\xfe ÄÖ 搜索 _._")
	f.Fuzz(func(t *testing.T, query string) {
		refs, err := c.Search(query, 3)
		if err != nil || len(refs) > 3 {
			t.Fatalf("%q: %v, %v", query, refs, err)
		}
		payload, _ := json.Marshal(map[string]string{"query": query})
		if _, _, err := c.SearchRequest(payload); err != nil {
			t.Fatal(err)
		}
	})
}
