package tool

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/codecell/codecell/schemas"
)

func TestSpec_G8_Grep(t *testing.T) {
	long := strings.Repeat("é", 3000) + "needle"
	p := coreOf(t, folder(t, map[string]string{
		"a.txt": "One\ntwo needle\r\n" + long + "\n", "b.md": "a.c\nabc\nNEEDLE\n", "bin": "needle\x00", "inv": "needle \xff\n",
		"data": strings.Repeat("z", 2<<20) + "needle", "empty": "",
	}))
	got, err := use(t, p, "grep", in{"pattern": "needle"})
	if err != nil || len(got.Matches) != 2 || got.Skipped != 3 {
		t.Fatalf("%+v %v", got, err)
	}
	if m := got.Matches[0]; m != (match{Path: "a.txt", Line: 2, Text: "two needle"}) {
		t.Errorf("%+v", m)
	}
	if m := got.Matches[1]; !m.Cut || m.Line != 3 || !utf8.ValidString(m.Text) || len(m.Text) != shownLineBytes {
		t.Errorf("line %d, %d bytes, cut %v", m.Line, len(m.Text), m.Cut)
	}
	for _, c := range []struct {
		args in
		want string
	}{
		{in{"pattern": "needle", "ignoreCase": true, "glob": "*.md"}, "b.md:3:NEEDLE"},
		{in{"pattern": "a.c", "literal": true}, "b.md:1:a.c"},
		{in{"pattern": "a.c", "path": "b.md"}, "b.md:1:a.c\nb.md:2:abc"},
		{in{"pattern": "^$"}, ""},
	} {
		if got, err := use(t, p, "grep", c.args); err != nil || got.Content != c.want {
			t.Errorf("%v: %q %v", c.args, got.Content, err)
		}
	}
	for _, bad := range []in{{"pattern": "("}, {"pattern": "(?=x)"}, {"pattern": "x", "glob": "["}, {"pattern": "x", "glob": "{a"}} {
		_, err := use(t, p, "grep", bad)
		if !errors.Is(err, schemas.CallInputContract) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func TestSpec_G8_GrepIsLinear(t *testing.T) {
	p := coreOf(t, folder(t, map[string]string{"f": strings.Repeat("a", 200_000) + "!\n"}))
	begun := time.Now()
	if _, err := use(t, p, "grep", in{"pattern": "^(a+)+$"}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}
