package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for something that has no reason to take long. It is generous: a run on a busy machine is
// slow, and a test that fails for that says nothing.
const patience = 60 * time.Second

// process is a running program. It ends with its test, together with all it started, and none may be left over.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	lines  chan string // of stdout, closed at its end
	stdin  io.WriteCloser
	stderr logBuffer
	ended  chan struct{} // closed when the process was waited for
	err    error         // of Wait; read it after ended
}

// command is what to start: a program, its arguments, and variables that are added to the environment.
type command struct {
	path string
	args []string
	env  []string
	dir  string
}

// codecell returns the command for the built binary.
func codecell(t *testing.T, args ...string) command {
	t.Helper()
	return command{path: binary(t), args: args}
}

// start starts a command.
func start(t *testing.T, c command) *process {
	t.Helper()
	p := &process{t: t, lines: make(chan string, 4096), ended: make(chan struct{})}
	p.cmd = exec.Command(c.path, c.args...) //nolint:noctx // ended by stop, which gives it time to drain
	p.cmd.Dir = c.dir
	p.cmd.Env = append(cleanEnv(t), c.env...)
	p.cmd.Stderr = &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.WaitDelay = 5 * time.Second
	stdout, w := io.Pipe()
	p.cmd.Stdout = w
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.read(stdout)
	go func() {
		p.err = p.cmd.Wait() // no later than WaitDelay after the end, even if a child holds the pipe
		_ = w.Close()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.stop(syscall.SIGTERM)
		if t.Failed() && p.stderr.String() != "" {
			t.Logf("stderr of %s %s:\n%s", c.path, strings.Join(c.args, " "), p.stderr.String())
		}
	})
	return p
}

// cleanEnv is the environment of started programs: the machine's, without settings for codecell and with a home of its own.
func cleanEnv(t *testing.T) []string {
	t.Helper()
	env := []string{"HOME=" + t.TempDir(), "NO_COLOR=1"}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if name != "HOME" && !strings.HasPrefix(name, "CODECELL_") {
			env = append(env, v)
		}
	}
	return env
}

func (p *process) read(stdout io.Reader) {
	scanner := bufio.NewScanner(stdout)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		p.lines <- scanner.Text()
	}
	close(p.lines)
}

// line returns the next line of stdout that contains the text, and fails the test when there is none.
func (p *process) line(text string) string {
	p.t.Helper()
	over := time.After(patience)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.t.Fatalf("%s ended without printing %q:\n%s", p.cmd.Path, text, p.stderr.String())
			}
			if strings.Contains(line, text) {
				return line
			}
		case <-over:
			p.t.Fatalf("%s did not print %q within %v:\n%s", p.cmd.Path, text, patience, p.stderr.String())
		}
	}
}

// stop sends the signal, and kills what is still there when patience is over. It reports everything that the process
// had started and that outlived it.
func (p *process) stop(signal syscall.Signal) {
	p.t.Helper()
	family := descendants(p.cmd.Process.Pid)
	select {
	case <-p.ended:
		return
	default:
	}
	_ = p.cmd.Process.Signal(signal)
	go func() {
		for range p.lines { // so that a chatty process can end
		}
	}()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Errorf("%s did not end within %v of %v", p.cmd.Path, patience, signal)
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.ended
	}
	p.noOrphans(family)
}

// noOrphans fails the test for every member of the family that lives on, and ends it.
func (p *process) noOrphans(family []member) {
	p.t.Helper()
	for _, m := range family {
		if !eventually(patience, func() bool { return !m.alive() }) {
			p.t.Errorf("%s left a process behind: %d %s", p.cmd.Path, m.pid, m.name)
			_ = syscall.Kill(m.pid, syscall.SIGKILL)
		}
	}
}

// exitCode waits for the end of the process and returns its exit code.
func (p *process) exitCode() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("%s did not end within %v:\n%s", p.cmd.Path, patience, p.stderr.String())
	}
	if _, exited := errors.AsType[*exec.ExitError](p.err); p.err != nil && !exited && !errors.Is(p.err, exec.ErrWaitDelay) {
		p.t.Fatal(p.err)
	}
	return p.cmd.ProcessState.ExitCode()
}

// result is what a program printed, and its exit code.
type result struct {
	stdout, stderr string
	code           int
}

// do runs a command to its end with the given standard input.
func do(t *testing.T, c command, stdin string) result {
	t.Helper()
	p := start(t, c)
	go func() {
		_, _ = io.WriteString(p.stdin, stdin)
		_ = p.stdin.Close()
	}()
	var out strings.Builder
	for line := range p.lines {
		out.WriteString(line + "\n")
	}
	code := p.exitCode()
	return result{stdout: out.String(), stderr: p.stderr.String(), code: code}
}

// eventually reports whether the condition comes true within the limit.
func eventually(limit time.Duration, condition func() bool) bool {
	over := time.After(limit)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-over:
			return condition()
		}
	}
	return true
}

// logBuffer keeps what a process says while others read it.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
