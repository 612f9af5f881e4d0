package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of one stdio server.
const (
	// writeTimeout is how long a server may leave its stdin unread.
	writeTimeout = 30 * time.Second
	// exitGrace is how long a server may take to end after its stdin was closed, and again
	// after it was asked to terminate.
	exitGrace = 2 * time.Second
	// lastWords is how long the reason of an end is waited for.
	lastWords = 500 * time.Millisecond
)

// stdio is one child process as an mcp.Transport and its one mcp.Connection: a JSON-RPC
// message a line. The SDK's own command transport is not used because it ends the session
// at the first line that is no message, has no bound that a single reply can fail alone,
// and leaves grandchildren behind.
type stdio struct {
	cmd    *exec.Cmd
	tap    *tap
	stderr *tail
	// grace is exitGrace, shorter in a hurry.
	grace time.Duration

	stdin   *os.File
	stdout  *os.File
	lines   chan jsonrpc.Message
	exited  chan struct{} // the child has been waited for
	closed  chan struct{} // Close was called
	readErr error         // why lines was closed

	writing   sync.Mutex
	closeOnce sync.Once

	starting sync.Mutex // guards started and killed, and stdin and stdout until started
	started  bool
	killed   bool
}

// newStdio prepares a child process; Connect starts it.
func newStdio(cmd *exec.Cmd, t *tap) *stdio {
	ownGroup(cmd)
	return &stdio{
		cmd: cmd, tap: t, stderr: &tail{}, grace: exitGrace,
		lines: make(chan jsonrpc.Message), exited: make(chan struct{}), closed: make(chan struct{}),
	}
}

// Connect starts the process.
func (s *stdio) Connect(context.Context) (mcp.Connection, error) {
	var theirs [3]*os.File
	var ours [3]*os.File
	closeAll := func(files ...*os.File) {
		for _, f := range files {
			if f != nil {
				_ = f.Close()
			}
		}
	}
	for i := range theirs {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(append(theirs[:], ours[:]...)...)
			return nil, err
		}
		if theirs[i], ours[i] = w, r; i == 0 {
			theirs[i], ours[i] = r, w
		}
	}
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	err := s.start(ours[0], ours[1])
	closeAll(theirs[:]...)
	if err != nil {
		closeAll(ours[:]...)
		return nil, err
	}
	errDone := make(chan struct{})
	go func() {
		defer close(errDone)
		_, _ = io.Copy(s.stderr, ours[2])
		_ = ours[2].Close()
	}()
	go func() {
		defer close(s.exited)
		_ = s.cmd.Wait()
		// What the child started dies with it: nothing may keep its pipes open, and no
		// process of ours stays behind. A group with members keeps its number.
		killGroup(s.cmd)
		<-errDone
	}()
	go s.readLoop()
	return s, nil
}

// start starts the process, unless it was killed before. Whoever sees it started sees our ends of its
// pipes too: a connect that takes too long is closed while it goes on.
func (s *stdio) start(stdin, stdout *os.File) error {
	s.starting.Lock()
	defer s.starting.Unlock()
	if s.killed {
		return context.Canceled
	}
	if err := s.cmd.Start(); err != nil {
		// The system's error names the command whatever it is that doesn't exist.
		if _, where := os.Stat(s.cmd.Dir); s.cmd.Dir != "" && where != nil {
			return fmt.Errorf("its cwd can't be used: %w", where)
		}
		return err
	}
	s.stdin, s.stdout, s.started = stdin, stdout, true
	return nil
}

// readLoop hands messages on until the stream ends.
func (s *stdio) readLoop() {
	defer s.stdout.Close()
	defer close(s.lines)
	r := &lineReader{r: s.stdout, max: maxReplyBytes}
	for {
		line, size, err := r.next()
		if err != nil {
			s.readErr = err
			return
		}
		var msg jsonrpc.Message
		if size > maxReplyBytes {
			msg = oversize(line, size)
		} else if line = bytes.TrimSpace(line); len(line) > 0 && line[0] == '{' {
			msg, err = jsonrpc.DecodeMessage(line)
		}
		if msg == nil || err != nil {
			// Banners and log lines on stdout are common, and harmless.
			continue
		}
		select {
		case s.lines <- s.tap.incoming(msg):
		case <-s.closed:
			s.readErr = io.EOF
			return
		}
	}
}

// Read gives the next message.
func (s *stdio) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg, ok := <-s.lines:
		if !ok {
			if errors.Is(s.readErr, os.ErrClosed) {
				return nil, io.EOF
			}
			return nil, s.readErr
		}
		return msg, nil
	case <-s.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write sends a message. A server that doesn't read for writeTimeout is lost: half a
// message can't be taken back.
func (s *stdio) Write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(s.tap.outgoing(ctx, msg))
	if err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	defer passTurn(ctx)
	_ = s.stdin.SetWriteDeadline(time.Now().Add(writeTimeout))
	if n, err := s.stdin.Write(append(data, '\n')); err != nil {
		if n == 0 {
			s.tap.unsent(ctx)
		}
		return fmt.Errorf("the server doesn't read its input: %w", err)
	}
	return nil
}

// Close ends the child: its input is closed, then it is asked to terminate, then its whole
// group is killed. It returns when the child is gone.
func (s *stdio) Close() error {
	s.closeOnce.Do(func() {
		close(s.closed)
		// A write in progress must not hold the close up.
		_ = s.stdin.SetWriteDeadline(time.Now())
		_ = s.stdin.Close()
		for _, stop := range []func(){func() { terminateGroup(s.cmd) }, func() { killGroup(s.cmd) }} {
			select {
			case <-s.exited:
				return
			case <-time.After(s.grace):
				stop()
			}
		}
	})
	<-s.exited
	return nil
}

// kill ends the child at once, and keeps one that hasn't started from starting. It tells
// whether there is a child to wait for.
func (s *stdio) kill() bool {
	s.starting.Lock()
	defer s.starting.Unlock()
	s.killed = true
	if !s.started {
		return false
	}
	select {
	case <-s.exited:
	default:
		killGroup(s.cmd)
	}
	return true
}

// state says how the child ended, waiting a moment for a child that is ending. It is empty
// while the child runs and when it never started.
func (s *stdio) state() string {
	s.starting.Lock()
	started := s.started
	s.starting.Unlock()
	if !started {
		return ""
	}
	select {
	case <-s.exited:
		return s.cmd.ProcessState.String()
	case <-time.After(lastWords):
		return ""
	}
}

// SessionID is empty: a process is its session.
func (s *stdio) SessionID() string { return "" }
