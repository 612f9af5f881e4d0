package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/codecell/codecell/schemas"
)

func TestSpec_M7_Case65_ADeadChildFailsItsCallsAtOnceAndComesBack(t *testing.T) {
	s := connected(t, serverConfig("good"))
	var wg sync.WaitGroup
	fails := make([]error, 4)
	running := make(chan struct{}, len(fails))
	for i := range fails {
		wg.Go(func() {
			_, fails[i] = s.Call(soon(t), callOf("never", "1", "{}"), func(float64, float64, string) { running <- struct{}{} })
		})
	}
	for range fails {
		<-running
	}
	begun := time.Now()
	if _, err := through(t, s, "dies", `{}`); err == nil || err.Effect != schemas.Unknown {
		t.Errorf("%+v", err)
	}
	wg.Wait()
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	for _, err := range fails {
		var ce *schemas.CallError
		if !errors.As(err, &ce) || ce.Code != schemas.CallToolError || ce.Effect != schemas.Unknown {
			t.Errorf("%+v", err)
		}
	}
	// The tools stay offered for the restart, and a call meanwhile waits for it.
	if got, err := through(t, s, "echo", `{"a":1}`); err != nil {
		t.Errorf("%s %+v", got, err)
	}
	eventually(t, s, "without problems again", func(r schemas.Registration) bool { return len(r.Problems) == 0 && len(r.Tools) == len(goodTools) })
}

func TestSpec_M7_AKilledChildComesBack(t *testing.T) {
	s := connected(t, serverConfig("good"))
	for range 2 {
		got, cerr := through(t, s, "pid", `{}`)
		if cerr != nil {
			t.Fatal(cerr)
		}
		var pid int
		type block struct{ Text string }
		if _, err := fmt.Sscan(decode[struct{ Content []block }](t, got).Content[0].Text, &pid); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, s, "troubled", func(r schemas.Registration) bool {
			return len(r.Problems) > 0 && strings.Contains(r.Problems[0], "signal: killed")
		})
		eventually(t, s, "back", func(r schemas.Registration) bool { return len(r.Problems) == 0 })
	}
}

func TestSpec_M7_BannersOnStdoutAreIgnored(t *testing.T) {
	s := connected(t, serverConfig("banner"))
	if got, err := through(t, s, "echo", `{"a":1}`); err != nil {
		t.Errorf("%s %v", got, err)
	}
}

func TestSpec_B5_ServersGetNoSecretsOfOurs(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hush")
	s := connected(t, serverConfig("good", "TOKEN", "given", "LANG", "xx"))
	got, err := through(t, s, "env", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	env := string(got)
	if strings.Contains(env, "hush") || !strings.Contains(env, `TOKEN=given`) || !strings.Contains(env, "LANG=xx") || strings.Count(env, "LANG=") != 1 || !strings.Contains(env, "PATH=") {
		t.Error(env)
	}
}

// A server that ignores the end of its input and SIGTERM, with a child of its own that
// holds its pipes, is gone after Close, and so is the child.
func TestSpec_M7_Case65_NoOrphans(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	s := MCP("test", serverConfig("stubborn", pidFileEnv, pids), quiet)
	if err := s.Ready(soon(t)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took > 4*time.Second {
		t.Errorf("took %v", took)
	}
	text, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	var parent, child int
	if _, err := fmt.Sscan(string(text), &parent, &child); err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{parent, child} {
		gone := false
		for range 1000 {
			if gone = dead(pid); gone {
				break
			}
			time.Sleep(10 * time.Millisecond) // real: the kernel tells nobody but the parent
		}
		if pid == 0 || !gone {
			t.Errorf("process %d lives", pid)
		}
	}
}

// dead tells whether a process has ended; one that its parent hasn't waited for has.
func dead(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestSpec_M7_NamesAMissingFolder(t *testing.T) {
	s := MCP("test", schemas.MCPServer{Command: os.Args[0], Cwd: filepath.Join(t.TempDir(), "nowhere")}, quiet)
	defer func() { _ = s.Close(soon(t)) }()
	if err := s.Ready(soon(t)); err != nil {
		t.Fatal(err)
	}
	if problems := strings.Join(s.Offer().Problems, "|"); !strings.Contains(problems, "its cwd can't be used") {
		t.Errorf("problems %q", problems)
	}
}
