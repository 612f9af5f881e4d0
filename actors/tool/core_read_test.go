package tool

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// together reads all pages of a file and joins them as the continuations say.
func together(t testing.TB, p *coreTools, args in) string {
	t.Helper()
	var out strings.Builder
	for n := 0; ; n++ {
		got, err := use(t, p, "read", args)
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.ValidString(got.Content) || len(got.Content) > pageBytes {
			t.Fatalf("page %d: %d bytes, valid %v", n, len(got.Content), utf8.ValidString(got.Content))
		}
		out.WriteString(got.Content)
		c := got.Continuation
		if (c != nil) != (got.Kind == kindTruncated) {
			t.Fatalf("kind %s with continuation %v", got.Kind, c)
		}
		if c == nil {
			return out.String()
		}
		args = next(t, args, c)
		if c.Cursor == 0 {
			out.WriteByte('\n')
		}
		if n > 10_000 {
			t.Fatal("no end")
		}
	}
}

func TestSpec_G8_PagesPutTogetherAreTheFile(t *testing.T) {
	long := strings.Repeat("é😀x", 3*pageBytes/7)
	files := map[string]string{
		"empty": "", "newline": "\n", "newlines": "\n\n\n", "one": "a", "one-n": "a\n", "crlf": "a\r\nb\r\n",
		"no-final": "a\nb\nc", "long": long, "long-n": long + "\n", "long-mid": "a\n" + long + "\nb\n" + long,
		"exact": strings.Repeat("x", pageBytes), "exact-n": strings.Repeat("x", pageBytes-1) + "\n",
		"exact+n": strings.Repeat("x", pageBytes) + "\n", "exact+1": strings.Repeat("x", pageBytes+1),
		"nul": "a\x00b\n", "bom": "\ufeffa\n",
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 15 {
		var b strings.Builder
		for range rnd.IntN(60) {
			b.WriteString(strings.Repeat([]string{"a", "é", "😀", "\r", " "}[rnd.IntN(5)], rnd.IntN(3000)))
			if rnd.IntN(3) > 0 {
				b.WriteByte('\n')
			}
		}
		files[fmt.Sprint("random", i)] = b.String()
	}
	p := coreOf(t, folder(t, files))
	for name, want := range files {
		for _, limit := range []int{1, 7, 2000} {
			if limit < 7 && strings.Count(want, "\n") > 500 {
				continue
			}
			if got := together(t, p, in{"path": name, "limit": limit}); got != want {
				t.Errorf("%s by %d lines: %d bytes, want %d", name, limit, len(got), len(want))
			}
		}
	}
}

func TestSpec_G8_ReadSaysWhereToGoOn(t *testing.T) {
	p := coreOf(t, folder(t, map[string]string{"f": "1\n2\n3\n4\n", "long": strings.Repeat("y", 2<<20)}))
	got, err := use(t, p, "read", in{"path": "f", "offset": 2, "limit": 2})
	if err != nil || got.Content != "2\n3" || *got.Continuation != (continuation{Kind: byLine, Offset: 4, Limit: 2}) {
		t.Errorf("%+v %v", got, err)
	}
	got, err = use(t, p, "read", in{"path": "long"})
	if err != nil || *got.Continuation != (continuation{Kind: byCursor, Offset: 1, Cursor: pageBytes, Limit: defaultLines}) {
		t.Errorf("%+v %v", got.Continuation, err)
	}
	for _, c := range []struct {
		args in
		want string
	}{
		{in{"path": "f", "offset": 9}, `has no line 9`},
		{in{"path": "f", "cursor": 99}, `past its end`},
		{in{"path": "f", "offset": 0}, `offset`},
		{in{"path": "f", "lines": 5}, `lines`},
		{in{"pth": "f"}, `did you mean "path"`},
	} {
		if _, err := use(t, p, "read", c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.args, err, c.want)
		}
	}
}

func TestSpec_G8_BinaryFilesAreRefusedNotRewritten(t *testing.T) {
	p := coreOf(t, folder(t, map[string]string{"b": "ok\n\xff\xfe\x00", "late": strings.Repeat("x\n", 40_000) + "\xc3"}))
	if _, err := use(t, p, "read", in{"path": "b"}); err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Error(err)
	}
	if got, err := use(t, p, "read", in{"path": "b", "limit": 1}); err != nil || got.Content != "ok" {
		t.Errorf("%+v %v", got, err)
	}
}

func TestSpec_G8_HugeSparseFile(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "huge"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(8 << 30); err != nil {
		t.Skip(err)
	}
	f.Close()
	p := coreOf(t, dir)
	got, err := use(t, p, "read", in{"path": "huge", "cursor": int64(8<<30) - 10})
	if err != nil || got.Content != strings.Repeat("\x00", 10) || got.Kind != kindText {
		t.Errorf("%d bytes, %s, %v", len(got.Content), got.Kind, err)
	}
	got, err = use(t, p, "grep", in{"pattern": "x"})
	if err != nil || got.Skipped != 1 {
		t.Errorf("%+v %v", got, err)
	}
}
