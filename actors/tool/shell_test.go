package tool

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What a command has written is read, however late this process gets to it, although another process keeps the pipe open.
func TestShell_LateReadersGetAll(t *testing.T) {
	dir := t.TempDir()
	const command = `setsid sh -c 'echo $$ > pid.new; mv pid.new pid; exec sleep 1000' & while [ ! -e pid ]; do sleep 0.05; done; printf '%50000s'`
	s := &shell{command: command, over: make(chan struct{})}
	s.out.mu.Lock() // keeps the reader at its first piece
	if err := s.start(environment(nil), dir, "", false, time.Minute); err != nil {
		t.Fatal(err)
	}
	n := 0
	if _, err := fmt.Sscan(awaitFile(t, dir, "pid"), &n); err != nil || n <= 1 {
		t.Fatal(n, err)
	}
	defer syscall.Kill(n, syscall.SIGKILL) //nolint:errcheck // ours alone: it told its number
	ended := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.reaped
	}
	for late := soon(t); !ended(); {
		if late.Err() != nil {
			t.Fatal("the command goes on")
		}
		time.Sleep(10 * time.Millisecond) // real: a program of the system ends
	}
	time.Sleep(2 * drainGrace) // real: its output isn't waited for any longer
	s.out.mu.Unlock()
	<-s.over
	if p := s.out.read(0, 1<<20); p.text != strings.Repeat(" ", 50_000) {
		t.Errorf("%d bytes are read", len(p.text))
	}
}
