package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codecell/codecell/schemas"
)

// do runs one core tool through the pipeline, as a session's program would.
func do[T any](t testing.TB, p *coreTools, tool string, args any) (T, error) {
	t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	value, err := useAs(soon(t), p, callOf(tool, "1", string(text)))
	if err != nil {
		var none T
		return none, err
	}
	return decode[T](t, value), nil
}

// wants runs a tool that must do its work.
func wants[T any](t testing.TB, p *coreTools, tool string, args any) T {
	t.Helper()
	got, err := do[T](t, p, tool, args)
	if err != nil {
		t.Fatalf("%s %v: %v", tool, args, err)
	}
	return got
}

func fileText(t testing.TB, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCore_Write(t *testing.T) {
	dir := folder(t, map[string]string{"a/f": "old", "run.sh": "#!/bin/sh\n"})
	if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o750); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link": "a/f", "a/up": "../run.sh", "new": "a/made"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	p := coreOf(t, dir, "write")
	for _, c := range []struct {
		args in
		want written
		file string
	}{
		{in{"path": "a/f", "content": "new é\n"}, written{Changed: true, Bytes: 7}, "a/f"},
		{in{"path": "a/f", "content": "new é\n"}, written{Bytes: 7}, "a/f"},
		{in{"path": "a/g", "content": ""}, written{Changed: true, Created: true}, "a/g"},
		{in{"path": "x/y/z", "content": "deep", "createDirs": true}, written{Changed: true, Created: true, Bytes: 4}, "x/y/z"},
		{in{"path": "link", "content": "through"}, written{Changed: true, Bytes: 7}, "a/f"},
		{in{"path": "a/up", "content": "#!/bin/true"}, written{Changed: true, Bytes: 11}, "run.sh"},
		{in{"path": "new", "content": "1"}, written{Changed: true, Created: true, Bytes: 1}, "a/made"},
		{in{"path": "x/../a/./f", "content": "same place"}, written{Changed: true, Bytes: 10}, "a/f"},
	} {
		if got := wants[written](t, p, "write", c.args); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.args, got, c.want)
		}
		if got := fileText(t, dir, c.file); got != c.args["content"] {
			t.Errorf("%v: the file is %q", c.args, got)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "run.sh")); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("the permissions became %v %v", info.Mode(), err)
	}
	if info, err := os.Lstat(filepath.Join(dir, "link")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v %v", info.Mode(), err)
	}
	noTemps(t, dir)
}

// noTemps checks that nothing half-written is left.
func noTemps(t testing.TB, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), ".codecell-") {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestSpec_B1_WritesStayInTheWorkspace(t *testing.T) {
	outside := folder(t, map[string]string{"secret": "hush"})
	dir := folder(t, map[string]string{"a/f": "fine", "ro": "keep"})
	if err := os.Chmod(filepath.Join(dir, "ro"), 0o444); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		"abs": filepath.Join(outside, "secret"), "up": "../" + filepath.Base(outside) + "/secret", "dir": outside, "loop": "loop",
		"far": "../" + filepath.Base(outside) + "/new",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	p := coreOf(t, dir, "write", "edit")
	for path, why := range map[string]string{
		"abs": "out of the workspace", "up": "out of the workspace", "far": "out of the workspace", "dir/secret": "out of the workspace",
		"dir/new": "out of the workspace", "../x": "out of the workspace", "a/../../x": "out of the workspace", "loop": "loop of links",
		"/etc/x": "absolute", "a": "folder", "a/": "folder", "a/..": "folder", ".": "folder", "\x00": "NUL",
		"none/x": "createDirs: true", "a/f/x": "doesn't exist", "ro": "read-only", strings.Repeat("x", 5000): "too long",
	} {
		for _, tool := range []string{"write", "edit"} {
			args := in{"path": path, "content": "gone"}
			if tool == "edit" {
				args = in{"path": path, "edits": []in{{"oldText": "hush", "newText": "gone"}}}
			}
			_, err := do[in](t, p, tool, args)
			if err == nil || tool == "write" && !strings.Contains(err.Error(), why) {
				t.Errorf("%s %.40q: %v, want %q", tool, path, err, why)
			}
			if err != nil && (strings.Contains(err.Error(), outside) || strings.Contains(err.Error(), dir)) {
				t.Errorf("%s %.40q told a path of the host: %v", tool, path, err)
			}
		}
	}
	if got := fileText(t, outside, "secret"); got != "hush" {
		t.Errorf("the secret became %q", got)
	}
	if _, err := os.Stat(filepath.Join(outside, "new")); err == nil {
		t.Error("a file outside was created")
	}
	if _, err := do[in](t, p, "write", in{"path": "dir/sub/x", "content": "", "createDirs": true}); err == nil {
		t.Error("a folder outside was created")
	}
	noTemps(t, dir)
}

// A folder that is swapped for a link to the outside must never be written through.
func TestSpec_B1_WriteRace(t *testing.T) {
	outside := folder(t, map[string]string{"secret": "hush"})
	dir := folder(t, map[string]string{"d/secret": "fine"})
	p := coreOf(t, dir, "write")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			err := os.Symlink([]string{"d", outside, "../" + filepath.Base(outside)}[i%3], filepath.Join(dir, "y"))
			if err = errors.Join(err, os.Rename(filepath.Join(dir, "y"), filepath.Join(dir, "x"))); err != nil {
				t.Error(err)
				return
			}
			time.Sleep(rand.N(time.Millisecond)) // real: a write is under way, or not
		}
	}()
	done := 0
	for i := 0; i < 300 || done < 10 && i < 30_000; i++ {
		if _, err := do[written](t, p, "write", in{"path": "x/secret", "content": fmt.Sprint(i)}); err == nil {
			done++
		}
	}
	close(stop)
	<-stopped
	entries, err := os.ReadDir(outside)
	if got := fileText(t, outside, "secret"); got != "hush" || err != nil || len(entries) != 1 {
		t.Errorf("the secret became %q, %d entries, %v", got, len(entries), err)
	}
	if done == 0 {
		t.Error("nothing was written at all")
	}
	noTemps(t, dir)
}

// Edits of one file at once: none gets lost, and a reader sees whole texts only.
func TestCore_EditsDontGetLost(t *testing.T) {
	dir := folder(t, map[string]string{"f": strings.Repeat("x\n", 5000) + "\n"})
	p := coreOf(t, dir, "read", "edit")
	const edits = 20
	var wg sync.WaitGroup
	for i := range edits {
		wg.Go(func() {
			// The empty line at the end stands there once: each puts its own line before it.
			_, err := do[edited](t, p, "edit", in{"path": "f", "edits": []in{{"oldText": "\n\n", "newText": fmt.Sprintf("\n%d\n\n", i)}}})
			if err != nil {
				t.Error(err)
			}
		})
	}
	for range 50 {
		if text := fileText(t, dir, "f"); !strings.HasSuffix(text, "\n\n") {
			t.Errorf("a torn text of %d bytes", len(text))
		}
	}
	wg.Wait()
	text := fileText(t, dir, "f")
	for i := range edits {
		if !strings.Contains(text, fmt.Sprintf("\n%d\n", i)) {
			t.Errorf("edit %d is lost", i)
		}
	}
	noTemps(t, dir)
}

func TestCore_ChangedMeanwhile(t *testing.T) {
	dir := folder(t, map[string]string{"f": "one"})
	w, err := openWorkspace(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	at, before, err := w.target("f")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("other"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := w.replace("f", at, before, "two"); err == nil || !strings.Contains(err.Error(), "changed by somebody else") {
		t.Error(err)
	}
	if err := w.replace("f", at, nil, "two"); err == nil { // looked at before there was one
		t.Error("a file that came meanwhile was replaced")
	}
	if got := fileText(t, dir, "f"); got != "other" {
		t.Errorf("the file became %q", got)
	}
	noTemps(t, dir)
}

func TestCore_Edit(t *testing.T) {
	text := "package a\n\nfunc one() {}\nfunc two() {}\r\nlast"
	p := coreOf(t, folder(t, map[string]string{"f": text, "bin": "a\xff"}), "edit", "read")
	for _, c := range []struct {
		edits []in
		want  string
	}{
		{[]in{{"oldText": "none", "newText": ""}}, "edits[0].oldText isn't in it: read the file"},
		{[]in{{"oldText": "one", "newText": "1"}, {"oldText": "func", "newText": ""}}, "edits[1].oldText stands in it more than once (lines 3, 4)"},
		{[]in{{"oldText": "func one() {", "newText": "1"}, {"oldText": "() {}\nfunc two", "newText": ""}}, "edits[0] and edits[1] overlap in line 3"},
		{[]in{{"oldText": "", "newText": ""}}, "oldText"},
		{[]in{}, "edits"},
		{[]in{{"oldText": "two() {}\nlast", "newText": ""}}, `end in "\r\n"`},
		{[]in{{"oldText": "\tlast\n", "newText": ""}}, "line 5 has it with other blanks"},
		{[]in{{"oldText": "one"}}, "newText"},
	} {
		if _, err := do[edited](t, p, "edit", in{"path": "f", "edits": c.edits}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.edits, err, c.want)
		}
	}
	if got := wants[page](t, p, "read", in{"path": "f"}); got.Content != text {
		t.Errorf("a refused edit changed the file: %q", got.Content)
	}
	if _, err := do[edited](t, p, "edit", in{"path": "bin", "edits": []in{{"oldText": "a", "newText": "b"}}}); err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Error(err)
	}
	got := wants[edited](t, p, "edit", in{"path": "f", "edits": []in{
		{"oldText": "last", "newText": "end\n"}, {"oldText": "one", "newText": "uno"}, {"oldText": "package", "newText": "package"},
	}})
	want := edited{Changed: true, FirstChangedLine: 3, Added: 2, Removed: 2,
		Diff: "@@ -3,1 +3,1 @@\n-func one() {}\n+func uno() {}\n@@ -5,1 +5,1 @@\n-last\n+end\n"}
	if got != want {
		t.Errorf("%+v", got)
	}
	if got := wants[edited](t, p, "edit", in{"path": "f", "edits": []in{{"oldText": "uno", "newText": "uno"}}}); got != (edited{}) {
		t.Errorf("%+v", got)
	}
	after := wants[page](t, p, "read", in{"path": "f"})
	if after.Content != "package a\n\nfunc uno() {}\nfunc two() {}\r\nend\n" {
		t.Errorf("%q", after.Content)
	}
}

func TestCore_WriteToolsAreNotReplaySafe(t *testing.T) {
	p := coreOf(t, t.TempDir(), CoreNames...)
	tools := map[string]schemas.Tool{}
	for _, tool := range p.Offer().Tools {
		tools[tool.Name] = tool
		if tool.ReplaySafe != (tool.Name == "read" || tool.Name == "ls" || tool.Name == "find" || tool.Name == "grep") {
			t.Errorf("%s: replay-safe %v", tool.Name, tool.ReplaySafe)
		}
		if tool.Awaitable != (tool.Name == "exec") || len(tool.Output) == 0 || tool.Tier != schemas.TierCore {
			t.Errorf("%+v", tool)
		}
	}
	if len(tools) != len(CoreNames) {
		t.Errorf("%d tools", len(tools))
	}
}
