package tool

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

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
