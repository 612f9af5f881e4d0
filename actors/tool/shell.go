package tool

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

const (
	// termGrace is how long a command may take to end after it was asked to, before it is killed.
	termGrace = 2 * time.Second
	// drainGrace is how long the output of an ended command is waited for: a process that left its group may keep the
	// pipe open for ever.
	drainGrace = 300 * time.Millisecond
)

// shell is one command in a process group of its own, and what came of it. What it leaves behind in the group is killed
// when it ends.
type shell struct {
	id, owner    string
	command, cwd string // cwd as the caller gave it
	// argv is a program and its arguments, in place of a command of a shell.
	argv  []string
	begun time.Time
	out   capture
	cmd   *exec.Cmd
	over  chan struct{} // closed when it has ended and its output is complete
	fed   chan struct{} // closed when the input that it was started with is written; nil without one
	open  bool          // its input takes more than that

	mu    sync.Mutex
	stdin *os.File // nil: closed

	// why is the reason for which we ended it, if we did.
	why    string
	reaped bool
	force  *time.Timer
	state  shellState
	// released: the call that started it doesn't wait for it any more. kept: process knows it, because it went on in the
	// background or has output that no result held.
	released, kept bool
	// polled is the offset of the output that poll gives next, seen what the last poll knew of it.
	polled, seen int64
	// expiry lets it go a while after it has ended.
	expiry *time.Timer
}

// Reasons why we end a command: values of [shellState.FailureKind].
const (
	whyTimeout   = "timeout"
	whyKilled    = "killed"
	whyCancelled = "cancelled"
)

// shellState is how a command is doing.
type shellState struct {
	SessionID string `json:"sessionId,omitempty"`
	Status    string `json:"status,omitempty"`
	// ExitCode is absent while it runs, and when a signal ended it.
	ExitCode    *int   `json:"exitCode,omitempty"`
	ExitSignal  string `json:"exitSignal,omitempty"`
	FailureKind string `json:"failureKind,omitempty"`
	TimedOut    bool   `json:"timedOut,omitempty"`
	DurationMs  int64  `json:"durationMs"`
	Cwd         string `json:"cwd,omitempty"`
}

const (
	statusRunning   = "running"
	statusCompleted = "completed"
	statusFailed    = "failed"
)

// start starts the command. Its input is the text and then ends; with open, it stays open for more.
func (s *shell) start(env []string, dir, input string, open bool, timeout time.Duration) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer w.Close() // the child has its own
	if s.argv == nil {
		s.argv = []string{"/bin/sh", "-c", "--", s.command}
	}
	s.cmd = exec.Command(s.argv[0], s.argv[1:]...) //nolint:gosec,noctx // who calls may run it; it may outlive its call, and is ended then
	s.cmd.Dir, s.cmd.Env = dir, env
	s.cmd.Stdout, s.cmd.Stderr = w, w
	ownGroup(s.cmd)
	s.open = open
	var stdin *os.File
	if input != "" || open {
		theirs, ours, err := os.Pipe()
		if err != nil {
			_ = r.Close()
			return err
		}
		defer theirs.Close()
		s.cmd.Stdin, s.stdin, stdin = theirs, ours, ours
	}
	s.begun = time.Now()
	if err := s.cmd.Start(); err != nil {
		_ = r.Close()
		s.closeInput()
		return err
	}
	if input != "" {
		s.fed = make(chan struct{})
		go func() {
			defer close(s.fed)
			_, _ = io.WriteString(stdin, input) // ends at the latest when the command does
			if !open {
				s.closeInput()
			}
		}()
	}
	go s.supervise(r, timeout)
	return nil
}

// supervise waits for the command, and for its output.
func (s *shell) supervise(output *os.File, timeout time.Duration) {
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(&s.out, output)
	}()
	limit := time.AfterFunc(timeout, func() { s.stop(whyTimeout) })
	_ = s.cmd.Wait() // ProcessState has all of it
	limit.Stop()
	s.mu.Lock()
	s.reaped = true
	if s.force != nil {
		s.force.Stop()
	}
	s.mu.Unlock()
	killGroup(s.cmd) // a group with members keeps its number
	s.closeInput()
	select {
	case <-copied:
	case <-time.After(drainGrace):
		if output.SetReadDeadline(time.Now()) == nil {
			<-copied
			copyNow(&s.out, output) // it came in time, and found this process busy
		}
	}
	_ = output.Close()
	<-copied
	s.out.close()
	s.mu.Lock()
	s.state = s.ended()
	s.mu.Unlock()
	close(s.over)
}

// ended tells how the command has ended.
func (s *shell) ended() shellState {
	state := shellState{Status: statusCompleted, DurationMs: time.Since(s.begun).Milliseconds(), Cwd: s.cwd, FailureKind: s.why}
	if state.ExitSignal = exitSignal(s.cmd.ProcessState); state.ExitSignal == "" {
		code := s.cmd.ProcessState.ExitCode()
		state.ExitCode = &code
	}
	if state.FailureKind == "" {
		switch {
		case state.ExitSignal != "":
			state.FailureKind = "signal"
		case *state.ExitCode == 127:
			state.FailureKind = "not_found"
		case *state.ExitCode == 126:
			state.FailureKind = "not_executable"
		}
	}
	if state.FailureKind != "" {
		state.Status = statusFailed
	}
	state.TimedOut = s.why == whyTimeout
	return state
}

// now tells how the command is doing.
func (s *shell) now() shellState {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.state
	if state.Status == "" {
		state = shellState{Status: statusRunning, DurationMs: time.Since(s.begun).Milliseconds(), Cwd: s.cwd}
	}
	if s.kept {
		state.SessionID = s.id
	}
	return state
}

// ending tells whether the command has ended.
func (s *shell) ending() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// stop asks the command and what it started to end, and kills them a while later.
func (s *shell) stop(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reaped || s.why != "" {
		return
	}
	s.why = why
	terminateGroup(s.cmd)
	s.force = time.AfterFunc(termGrace, s.kill)
}

// kill ends the command and what it started.
func (s *shell) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.reaped {
		killGroup(s.cmd)
	}
}

// closeInput ends the command's input.
func (s *shell) closeInput() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stdin != nil {
		_ = s.stdin.Close()
		s.stdin = nil
	}
}

// input writes to the command's input, and says how much of it the command's pipe has taken.
func (s *shell) input(ctx context.Context, data string) (int, error) {
	closed := errors.New("its input is closed: to write to a command start it with background: true")
	if !s.open {
		return 0, closed
	}
	patient, done := context.WithTimeout(ctx, inputPatience)
	defer done()
	if s.fed != nil {
		select {
		case <-s.fed:
		case <-patient.Done():
			return 0, errors.New("it hasn't read yet what it was started with")
		}
	}
	s.mu.Lock()
	stdin := s.stdin
	s.mu.Unlock()
	if stdin == nil {
		return 0, closed
	}
	end, _ := patient.Deadline()
	_ = stdin.SetWriteDeadline(end)
	defer context.AfterFunc(ctx, func() { _ = stdin.SetWriteDeadline(time.Now()) })()
	return io.WriteString(stdin, data)
}
