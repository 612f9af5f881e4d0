package session

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// smallDisk mounts a disk of a few megabytes. Where that isn't allowed, the test of a store that is full must do.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("codecell-test", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("no disk can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestSpec_S6_Case87_FullDiskLosesNothing(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := smallDisk(t, "8m")
	w := startWorker(t, self, dir, nil)
	w.until(t, "acked")
	if line := w.until(t, "problems"); line == "" {
		t.Error("no problem is told")
	}
	if line := w.until(t, "failed"); !strings.Contains(line, "has not taken it") {
		t.Errorf("a program is told %q", line)
	}
	kept := len(w.acked)
	if err := syscall.Mount("codecell-test", dir, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	w.until(t, "healthy") // without a restart
	w.until(t, "acked")
	w.end(t)
	if len(w.acked) <= kept {
		t.Errorf("%d acknowledged before, %d in all", kept, len(w.acked))
	}
	if !strings.Contains(w.log.String(), "no space left on device") {
		t.Errorf("the problem isn't named:\n%s", w.log.String())
	}
	keepsAcked(t, dir, w.acked)
}

// nobody is a user who owns nothing.
const nobody = 65534

func TestSpec_S6_Case87_ReadOnlyFolderLosesNothing(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can start a process as another user; root itself may write anywhere")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("", "codecell-session-") //nolint:usetesting // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	program, dir := filepath.Join(home, "worker"), filepath.Join(home, "store")
	if out, err := exec.CommandContext(t.Context(), "cp", self, program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, err := range []error{os.Chmod(home, 0o755), os.Chmod(program, 0o755), os.Mkdir(dir, 0o755), os.Chown(dir, nobody, nobody)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	asNobody := func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	w := startWorker(t, program, dir, asNobody)
	w.until(t, "acked")
	chmodAll(t, dir, 0o500)
	w.until(t, "problems")
	w.until(t, "failed")
	chmodAll(t, dir, 0o700)
	w.until(t, "healthy")
	w.until(t, "acked")
	w.end(t)
	keepsAcked(t, dir, w.acked)
	// It can't be started there at all: that is said, and changes nothing.
	chmodAll(t, dir, 0o500)
	late := startWorker(t, program, dir, asNobody)
	if line := late.until(t, "broken"); !strings.Contains(line, "bus.storeDir "+dir) {
		t.Errorf("a folder that can't be written: %s", line)
	}
	chmodAll(t, dir, 0o700)
	keepsAcked(t, dir, w.acked)
}

// chmodAll changes what may be done in all folders below dir.
func chmodAll(t *testing.T, dir string, mode fs.FileMode) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			err = os.Chmod(path, mode)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
