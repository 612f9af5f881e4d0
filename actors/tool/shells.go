package tool

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/codecell/codecell/schemas"
)

// Bounds of the commands of one provider.
const (
	// maxRunning and maxRunningEach bound the commands that run, in all and of one session.
	maxRunning     = 128
	maxRunningEach = 32
	// maxEnded and maxEndedEach bound the ended commands whose output can still be read.
	maxEnded     = 64
	maxEndedEach = 16
	// endedKept is how long they are kept.
	endedKept = 30 * time.Minute
)

// commandEnv are the variables that commands get of this process's environment: it may hold secrets.
var commandEnv = []string{"PATH", "HOME", "LANG", "TERM", "TMPDIR"}

// defaultPath is where commands are looked for if this process doesn't say.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// shells are the commands of one provider.
type shells struct {
	workspace *workspace
	env       []string
	endedKept time.Duration

	mu     sync.Mutex
	all    []*shell // oldest first
	closed bool
	// supervised counts those that haven't ended.
	supervised sync.WaitGroup
}

func newShells(w *workspace, names []string) *shells {
	return &shells{workspace: w, endedKept: endedKept, env: environment(names)}
}

// environment is what commands get of this process's environment: [commandEnv] and what is named.
func environment(names []string) (env []string) {
	for _, name := range slices.Concat(commandEnv, names) {
		value, ok := os.LookupEnv(name)
		if name == "PATH" && value == "" {
			value, ok = defaultPath, true
		}
		if ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// ownerOf names the session that a command belongs to: only its programs see it, and those in a sandbox none from outside.
func ownerOf(call *schemas.Call) string {
	id := &call.Identity
	return fmt.Sprintf("%q %q %q", cmp.Or(id.Agent, schemas.DefaultAgent), id.SessionKey, id.Sandbox)
}

// start starts a command, if there is room for it.
func (x *shells) start(owner string, in *execArgs) (*shell, error) {
	dir, err := x.workspace.folder(in.Cwd)
	if err != nil {
		return nil, err
	}
	s := &shell{
		id: "sh-" + strings.ToLower(rand.Text()[:12]), owner: owner, command: in.Command, cwd: cmp.Or(in.Cwd, "."),
		over: make(chan struct{}), kept: in.Background,
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	running, each := 0, 0
	for _, o := range x.all {
		if !o.ending() {
			running++
			if o.owner == owner {
				each++
			}
		}
	}
	switch {
	case x.closed:
		return nil, refused(schemas.CallToolError, atTool, "the command was not started: the tools are shutting down")
	case running >= maxRunning || each >= maxRunningEach:
		return nil, refused(schemas.CallToolError, atTool,
			"the command was not started: %d commands of this session and %d in all run already; end some with process({action: \"kill\", sessionId})",
			each, running)
	}
	if err := s.start(x.env, dir, in.Stdin, in.Background, in.timeout()); err != nil {
		return nil, refused(schemas.CallToolError, atTool, "the command was not started: %v", err)
	}
	x.all = append(x.all, s)
	x.supervised.Go(func() { <-s.over; x.settle(s) })
	return s, nil
}

// folder gives the path of a folder of the workspace on this machine.
func (w *workspace) folder(name string) (string, error) {
	p, err := w.resolve(name)
	if err != nil {
		return "", err
	}
	info, err := w.root.Stat(p)
	if err != nil {
		return "", pathFailure(name, "used as cwd", err)
	}
	if !info.IsDir() {
		return "", refusedPath(name, "is no folder: cwd must be one")
	}
	// A command may go where it likes, so nothing depends on the folder being the same a moment later.
	dir, err := filepath.Abs(w.root.Name())
	if err != nil {
		return "", pathFailure(name, "used as cwd", fs.ErrInvalid)
	}
	return dir + "/" + p, nil
}

// release is told when the call that started a command lets go of it, and whether process knows it from now on.
func (x *shells) release(s *shell, kept bool) {
	s.mu.Lock()
	s.released, s.kept = true, s.kept || kept
	s.mu.Unlock()
	x.settle(s)
}

// settle lets a command go that has ended and that no call waits for: at once, or a while later if process knows it.
func (x *shells) settle(s *shell) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s.mu.Lock()
	done, kept := s.released && s.ending(), s.kept
	if done && kept && s.expiry == nil {
		s.expiry = time.AfterFunc(x.endedKept, func() { x.drop(s) })
	}
	s.mu.Unlock()
	switch {
	case done && kept:
		x.trim(s.owner)
	case done:
		x.remove(s)
	}
}

// trim lets the oldest ended commands go that are too many.
func (x *shells) trim(owner string) {
	all, each := 0, 0
	for _, s := range slices.Backward(slices.Clone(x.all)) {
		s.mu.Lock()
		done := s.released && s.ending()
		s.mu.Unlock()
		if !done {
			continue
		}
		all++
		if s.owner == owner {
			each++
		}
		if all > maxEnded || s.owner == owner && each > maxEndedEach {
			x.remove(s)
		}
	}
}

// drop lets a command go that has ended.
func (x *shells) drop(s *shell) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remove(s)
}

func (x *shells) remove(s *shell) {
	s.mu.Lock()
	if s.expiry != nil {
		s.expiry.Stop()
	}
	s.mu.Unlock()
	x.all = slices.DeleteFunc(x.all, func(o *shell) bool { return o == s })
}

// find gives a session's command.
func (x *shells) find(owner, id string) (*shell, error) {
	for _, s := range x.list(owner) {
		if s.id == id {
			return s, nil
		}
	}
	return nil, refused(schemas.CallInvalidInput, atInput,
		"sessionId: this session has no command %q: it was never there, or ended long ago; process({action: \"list\"}) names those there are", clip(id, 64))
}

// list gives a session's commands that process knows, oldest first.
func (x *shells) list(owner string) []*shell {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(x.all), func(s *shell) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.owner != owner || !s.kept
	})
}

// close ends all commands. Those that aren't gone by the end of ctx are killed, and not waited for if even that can't
// end them.
func (x *shells) close(ctx context.Context) {
	x.mu.Lock()
	x.closed = true
	all := slices.Clone(x.all)
	x.mu.Unlock()
	for _, s := range all {
		s.stop(whyKilled)
	}
	gone := make(chan struct{})
	go func() {
		x.supervised.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-ctx.Done():
		for _, s := range all {
			s.kill()
		}
		select {
		case <-gone:
		case <-time.After(2 * drainGrace):
		}
	}
	for _, s := range all {
		x.drop(s)
	}
}
