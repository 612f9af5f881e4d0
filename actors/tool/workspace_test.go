package tool

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/codecell/codecell/schemas"
)

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
