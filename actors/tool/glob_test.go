package tool

import (
	"strings"
	"testing"
)

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no string
	}{
		{"*.go", "a.go,x/y/a.go", "a.gox,go"},
		{"src/*.go", "src/a.go", "src/x/a.go,a.go"},
		{"src/**/*.go", "src/a.go,src/x/y/a.go", "a.go,srcx/a.go"},
		{"**/a", "a,x/a,x/y/a", "xa,a/x"},
		{"a/**", "a/x,a/x/y", "a,b/x"},
		{"**", "a,a/b", ""},
		{"?.{js,ts{,x}}", "a.js,b.ts,c.tsx", "a.jsx,ab.js,.js"},
		{"[a-c]x", "ax,cx", "dx,x"},
		{"[!a-c]x", "dx", "ax,/x"},
		{"[]]x", "]x", "x"},
		{`\*.go`, "*.go", "a.go"},
		{"a,b", "a,b", ""},
		{"a}b(c)+.", "a}b(c)+.", "a}bc"},
	} {
		g, err := parseGlob(c.pattern)
		if err != nil {
			t.Error(err)
			continue
		}
		split := func(s string) []string {
			if c.pattern == "a,b" && s != "" {
				return []string{s}
			}
			return strings.FieldsFunc(s, func(r rune) bool { return r == ',' })
		}
		for _, s := range split(c.yes) {
			if !g.match(s) {
				t.Errorf("%s doesn't match %s", c.pattern, s)
			}
		}
		for _, s := range split(c.no) {
			if g.match(s) {
				t.Errorf("%s matches %s", c.pattern, s)
			}
		}
	}
	for _, bad := range []string{"", "[", "[]", "[!]", "{a", `x\`, "[z-a]", strings.Repeat("x", maxPatternBytes+1)} {
		if _, err := parseGlob(bad); err == nil {
			t.Errorf("%.20q is taken", bad)
		}
	}
}

func FuzzGlob(f *testing.F) {
	f.Add("src/**/[a-z]?{x,y}*.go", "src/a")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if g, err := parseGlob(pattern); err == nil {
			g.match(name)
		}
	})
}
