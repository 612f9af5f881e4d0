package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const (
	// listPatience bounds how long a client that lists the tools waits for slow MCP servers: what it
	// would read about exec is not yet complete. Clients give a server that starts some ten seconds, and
	// are told of a changed list later.
	listPatience = 5 * time.Second
	// execPatience bounds how long a program waits for them. It sees the tools that are there by then.
	execPatience = 45 * time.Second
)

// mcpService is what all MCP sessions of a process share.
type mcpService struct {
	client *bus.Client
	agent  string
	// named is the name that all sessions share, of which there is one at a time; empty gives each its own. unbound
	// leaves nothing in transcripts.
	named   string
	unbound bool
	log     *slog.Logger
	// mode is how clients are to reach the tools, and model whom they are for; empty is unknown (F1).
	mode  schemas.Mode
	model string
	// limit is how many sessions may be open.
	limit int
	// ready is closed when the tools are known, or won't be.
	ready     chan struct{}
	readyOnce sync.Once
	ending    sync.WaitGroup // of sessions

	mu       sync.Mutex
	sessions map[string]*mcpSession
	admitted map[string]bool
	requests int
	// idle is closed when draining and no request is left.
	idle     chan struct{}
	idleOnce sync.Once
	draining bool
}

func newMCPService(client *bus.Client, agent string, limit int, log *slog.Logger) *mcpService {
	return &mcpService{
		client: client, agent: agent, limit: limit, log: log,
		ready: make(chan struct{}), idle: make(chan struct{}), sessions: map[string]*mcpSession{}, admitted: map[string]bool{},
	}
}

// toolsReady lets programs run. They see the tools that are there.
func (s *mcpService) toolsReady() { s.readyOnce.Do(func() { close(s.ready) }) }

// awaitTools waits for the tools, at most for patience and as long as ctx lasts.
func (s *mcpService) awaitTools(ctx context.Context, patience time.Duration) {
	over := time.NewTimer(patience)
	defer over.Stop()
	select {
	case <-s.ready:
	case <-over.C:
	case <-ctx.Done():
	}
}

// errDraining refuses what comes after the signal to end.
var errDraining = &schemas.Error{Code: schemas.RuntimeUnavailable, Message: "codecell is shutting down: start it again, then repeat the call"}

// open makes a session, unless the service is draining.
func (s *mcpService) open() (*mcpSession, error) {
	session := newMCPSession(s, strings.ToLower(rand.Text()))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return nil, errDraining
	}
	s.sessions[session.id] = session
	s.ending.Add(1)
	return session, nil
}

// admit gives a session that shakes hands one of the places. Those that haven't yet, or never will, take
// none: they last no longer than a request.
func (s *mcpService) admit(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.admitted[id] && len(s.admitted) >= s.limit {
		return fmt.Errorf("no more than %d sessions may be open at once: close some, or raise --max-sessions", s.limit)
	}
	s.admitted[id] = true
	return nil
}

func (s *mcpService) session(id string) *mcpSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

// forget is called by a session that has ended.
func (s *mcpService) forget(id string) {
	s.mu.Lock()
	delete(s.sessions, id)
	delete(s.admitted, id)
	s.mu.Unlock()
	s.ending.Done()
}

// begin counts what draining waits for, until end: a request from its arrival until its answer is out.
// That a tool has returned isn't enough, since the SDK drops answers of a connection that is being closed.
func (s *mcpService) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
}

func (s *mcpService) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests--; s.requests == 0 && s.draining {
		s.idleOnce.Do(func() { close(s.idle) })
	}
}

// refuses tells whether a call comes too late.
func (s *mcpService) refuses() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

// drain refuses new calls and waits for the running ones, at most for the given time. ctx may have
// ended: that is why one drains.
func (s *mcpService) drain(ctx context.Context, limit time.Duration) {
	s.mu.Lock()
	s.draining = true
	if s.requests == 0 {
		s.idleOnce.Do(func() { close(s.idle) })
	}
	s.mu.Unlock()
	s.log.Info("draining: running calls may end", "within", limit)
	late, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), limit, errors.New("the drain timeout is over"))
	defer cancel()
	select {
	case <-s.idle:
	case <-late.Done():
		s.log.Warn("running calls are cancelled", "reason", context.Cause(late))
	}
}

// close ends all sessions, with the programs that wait in them.
func (s *mcpService) close() {
	s.mu.Lock()
	s.draining = true
	sessions := make([]*mcpSession, 0, len(s.sessions))
	for _, session := range s.sessions {
		sessions = append(sessions, session)
	}
	s.mu.Unlock()
	for _, session := range sessions {
		go session.end("the MCP server was stopped")
	}
	s.ending.Wait()
}
