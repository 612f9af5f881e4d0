package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/codecell/codecell/actors/tool"
)

// Case 51: a list of hits comes whole or not at all, also when nothing but the program has to wait for it.
func TestSpec_C5_O4_Case51_HitsThatDontFit(t *testing.T) {
	var tools []tool.Func
	for _, name := range []string{"big_one", "big_two", "big_three"} {
		tools = append(tools, tool.New(name, "Is big: "+strings.Repeat("x", 400), func(context.Context, struct{}) (int, error) { return 1, nil }))
	}
	n := node(t, config(t, `{tools: {codeMode: {enabled: true, maxSnapshotBytes: 1024}}}`), tools...)
	run := open(t, n, "a")
	const said = `const said = (ask) => ask.then((hits) => hits.length, (e) => [e.code, e.effectStatus, /of \d+ bytes doesn't fit/.test(e.message)]);`
	const refused = `["invalid_input","not_started",true]`
	for code, want := range map[string]string{
		`return said(catalog.search("big", {limit: 1}))`:                                                         `1`,
		`return said(catalog.search("big", {limit: 3}))`:                                                         refused,
		`return Promise.all([1, 1, 1].map((limit) => said(catalog.search("big", {limit}))))`:                     `[1,` + refused + `,` + refused + `]`,
		`return Promise.all([said(catalog.search("big", {limit: 3})), echo({n: 1}).then((r) => r.n)])`:           `[` + refused + `,1]`,
		`await said(catalog.search("big")); return said(catalog.search("big", {limit: 1}))`:                      `1`,
		`await said(catalog.search("big")); await said(catalog.search("none")); return [(await echo({n: 2})).n]`: `[2]`,
	} {
		mustComplete(t, exec(t, run, said+code), want)
	}
}
