package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/codecell/codecell/schemas"
)

// folder makes a workspace of files.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// coreTools are the core tools of a folder with their contracts, as an executor has them.
type coreTools struct {
	Provider
	made contracts
}

// coreOf opens the core tools on a folder.
func coreOf(t testing.TB, dir string, names ...string) *coreTools {
	t.Helper()
	p, err := Core(dir, names...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close(context.Background()) })
	made, problems := compileOffer(p.Offer(), nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return &coreTools{p, made}
}

// use runs one core tool through the pipeline.
func use(t testing.TB, p *coreTools, tool string, args any) (page, error) {
	t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var pipe Pipeline
	value, fail := pipe.run(ctx, callOf(tool, "1", string(text)), p.made[tool], func(ctx context.Context, call *schemas.Call) (schemas.JSON, error) {
		return p.Call(ctx, call, nil)
	}, quiet)
	if fail != nil {
		return page{}, fail
	}
	return decode[page](t, value), nil
}

type in map[string]any

// next gives the arguments of the next page as programs write them: {...args, ...continuation}.
func next(t testing.TB, args in, c *continuation) in {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	args = maps.Clone(args)
	delete(args, "offset")
	delete(args, "cursor")
	if err := json.Unmarshal(text, &args); err != nil {
		t.Fatal(err)
	}
	return args
}

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

func TestSpec_B1_CoreToolsStayInTheWorkspace(t *testing.T) {
	outside := folder(t, map[string]string{"secret": "hush"})
	dir := folder(t, map[string]string{"a/f": "fine", "b": "text"})
	for link, to := range map[string]string{
		"abs": filepath.Join(outside, "secret"), "up": "../../../../../../../../etc/passwd", "dir": outside,
		"loop": "loop", "a/in": "../b", "a/out": "../../" + filepath.Base(outside) + "/secret", "none": "nothing",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	p := coreOf(t, dir)
	for _, bad := range []string{
		"abs", "up", "dir/secret", "loop", "a/out", "none", "../secret", "a/../../x", "/etc/passwd", filepath.Join(dir, "b"),
		"\x00", "b\x00", "nope", "b/x", strings.Repeat("x", 5000), strings.Repeat("a/", 3000) + "f", "a",
	} {
		got, err := use(t, p, "read", in{"path": bad})
		if err == nil {
			t.Errorf("read %.40q gave %.40q", bad, got.Content)
			continue
		}
		if strings.Contains(err.Error(), outside) || (strings.Contains(err.Error(), dir) && !strings.Contains(bad, dir)) {
			t.Errorf("read %.40q told a path of the host: %v", bad, err)
		}
		var ce *schemas.CallError
		if !errors.As(err, &ce) || ce.Code != schemas.CallToolError {
			t.Errorf("read %.40q: %v", bad, err)
		}
	}
	for _, good := range []string{"b", "a/in", "./b", "a/../b", "a/f"} {
		if _, err := use(t, p, "read", in{"path": good}); err != nil {
			t.Error(err)
		}
	}
	for _, tool := range []string{"ls", "find", "grep"} {
		for _, bad := range []string{"dir", "..", "/", "a/../../", "abs", "up", "\x00"} {
			args := in{"path": bad}
			if tool != "ls" {
				args["pattern"] = "*"
			}
			if tool == "grep" {
				args["pattern"] = "."
			}
			if got, err := use(t, p, tool, args); err == nil {
				t.Errorf("%s %q gave %q", tool, bad, got.Content)
			}
		}
	}
	got, err := use(t, p, "grep", in{"pattern": "hush|root:"})
	if err != nil || got.Content != "" {
		t.Errorf("grep followed a link: %q %v", got.Content, err)
	}
	got, err = use(t, p, "find", in{"pattern": "secret"})
	if err != nil || got.Content != "" {
		t.Errorf("find followed a link: %q %v", got.Content, err)
	}
}

// A link that is swapped between a file and the outside must never be read through.
func TestSpec_B1_LinkRace(t *testing.T) {
	outside := folder(t, map[string]string{"secret": "hush"})
	dir := folder(t, map[string]string{"d/secret": "fine", "e/secret": "fine"})
	p := coreOf(t, dir)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		link := filepath.Join(dir, "x")
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			to := []string{"d", outside, "e", ".."}[i%4]
			os.Remove(link)
			if err := os.Symlink(to, link); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for range 2000 {
		if got, err := use(t, p, "read", in{"path": "x/secret"}); err == nil && got.Content != "fine" {
			t.Fatalf("read %q", got.Content)
		}
	}
	close(stop)
	<-stopped
}

func TestSpec_B2_PipesAndDevicesNeverBlock(t *testing.T) {
	dir := folder(t, map[string]string{"f": "needle\n"})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Skip(err)
	}
	p := coreOf(t, dir)
	begun := time.Now()
	if _, err := use(t, p, "read", in{"path": "pipe"}); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Error(err)
	}
	got, err := use(t, p, "grep", in{"pattern": "needle"})
	if err != nil || got.Content != "f:1:needle" {
		t.Errorf("%+v %v", got, err)
	}
	got, err = use(t, p, "ls", in{})
	if err != nil || got.Content != "f\npipe" || got.Entries[1].Type != "other" {
		t.Errorf("%+v %v", got, err)
	}
	// A device can be made by root only; a whole device folder as workspace does as well.
	if _, err := use(t, coreOf(t, "/dev", "read"), "read", in{"path": "zero"}); err == nil {
		t.Error("read a device")
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("took %v", took)
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

func TestSpec_G8_ListsArePaged(t *testing.T) {
	files := map[string]string{".git/config": "x", "sub/deep/a.go": "func A\nfunc B\n", "sub/b.GO": "func C\n", "bad\nname.go": "func D\n"}
	for i := range 25 {
		files[fmt.Sprintf("f%02d.txt", i)] = fmt.Sprintf("line\nfunc %d\n", i)
	}
	p := coreOf(t, folder(t, files))
	for _, c := range []struct {
		tool string
		args in
	}{
		{"ls", in{}}, {"find", in{"pattern": "**/*"}}, {"find", in{"pattern": "*.txt"}}, {"grep", in{"pattern": "^func"}}, {"grep", in{"pattern": "e"}},
	} {
		whole, err := use(t, p, c.tool, c.args)
		if err != nil || whole.Kind != kindText || whole.Continuation != nil {
			t.Fatalf("%s: %+v %v", c.tool, whole, err)
		}
		for _, limit := range []int{1, 4, 25} {
			var pages []string
			for offset := 0; ; {
				args := in{"offset": offset, "limit": limit}
				maps.Copy(args, c.args)
				got, err := use(t, p, c.tool, args)
				if err != nil {
					t.Fatal(err)
				}
				if n := len(got.Entries) + len(got.Paths) + len(got.Matches); n > limit || n != strings.Count(got.Content, "\n")+1 {
					t.Fatalf("%s: %d entries by %d in %q", c.tool, n, limit, got.Content)
				}
				pages = append(pages, got.Content)
				if got.Continuation == nil {
					break
				}
				offset = got.Continuation.Offset
			}
			if got := strings.Join(pages, "\n"); got != whole.Content {
				t.Errorf("%s by %d:\n%s\nwant\n%s", c.tool, limit, got, whole.Content)
			}
		}
	}
	got, _ := use(t, p, "find", in{"pattern": "*.go"})
	if got.Content != "\"bad\\nname.go\"\nsub/deep/a.go" || got.Paths[0] != "bad\nname.go" {
		t.Errorf("%q %q", got.Content, got.Paths)
	}
	got, _ = use(t, p, "find", in{"pattern": "deep/*", "path": "sub"})
	if got.Content != "sub/deep/a.go" {
		t.Errorf("%q", got.Content)
	}
	got, _ = use(t, p, "find", in{"pattern": "config"})
	if got.Content != "" {
		t.Errorf("find entered .git: %q", got.Content)
	}
}

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

func TestCore_NamedToolsOnly(t *testing.T) {
	p, err := Core(t.TempDir(), "read", "ls")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(context.Background())
	offer := p.Offer()
	if offer.Owner != CoreOwner || len(offer.Tools) != 2 {
		t.Errorf("%+v", offer)
	}
	for _, tool := range offer.Tools {
		if !tool.ReplaySafe || tool.Tier != schemas.TierCore || tool.Source != schemas.SourceNative || len(tool.Output) == 0 {
			t.Errorf("%+v", tool)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, tool.Parameters); err != nil {
			t.Error(err)
		}
	}
	if _, err := Core(t.TempDir(), "write"); err == nil {
		t.Error("an unknown tool is taken")
	}
	if _, err := Core(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a missing folder is taken")
	}
}
