package tool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/codecell/codecell/schemas"
)

// Back-off of a server that can't be reached: doubled from the first to the last, with
// jitter, and forgotten after a session that lasted.
const (
	firstBackoff = 200 * time.Millisecond
	lastBackoff  = time.Minute
	lasting      = 30 * time.Second
)

// maxTries is how often a call that wasn't sent waits for another session.
const maxTries = 2

// Server is the [Provider] of one MCP server (M7). It connects in the background, and
// again whenever the connection is lost.
type Server struct {
	name    string
	cfg     schemas.MCPServer
	log     *slog.Logger
	changed signal
	stop    context.CancelFunc
	first   chan struct{} // closed after the first attempt
	done    chan struct{} // closed when the keeper has ended

	mu      sync.Mutex
	offer   schemas.Registration
	session *mcpSession
	// recovering: the outcome of an attempt to connect is near, and worth waiting for.
	recovering bool
	settled    chan struct{} // closed and replaced when session or recovering changes
	closing    context.Context
}

// MCP offers the tools of one MCP server under its configured name, and starts connecting
// to it at once: a child process speaking on stdio, or streamable HTTP. Its results are
// native MCP results (M2). log may be nil.
func MCP(name string, cfg schemas.MCPServer, log *slog.Logger) *Server {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{
		name: name, cfg: cfg, log: log, changed: newSignal(), stop: stop,
		first: make(chan struct{}), done: make(chan struct{}), settled: make(chan struct{}),
		recovering: true, closing: ctx,
	}
	s.offer = schemas.Registration{
		Source: schemas.SourceMCP, Owner: name,
		Problems: []string{fmt.Sprintf("MCP server %q is still starting", name)},
	}
	go s.keep(ctx)
	return s
}

// Ready waits for the end of the first attempt to connect, successful or not.
func (s *Server) Ready(ctx context.Context) error {
	select {
	case <-s.first:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Offer gives the tools as last listed. While the server is gone for good, there are none,
// and Problems says why.
func (s *Server) Offer() schemas.Registration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offer
}

// Changed is signalled when tools or problems have changed.
func (s *Server) Changed() <-chan struct{} { return s.changed }

// Call runs a tool or an operation of the server. Right after a lost connection it waits for the outcome
// of the first attempt to reconnect; otherwise a server that isn't there fails the call at once.
func (s *Server) Call(ctx context.Context, call *schemas.Call, progress Progress) (schemas.JSON, error) {
	operation := schemas.IsOperation(call.Tool)
	if operation && !s.cfg.Offers(call.Tool) {
		return nil, refused(schemas.CallInvalidInput, atPolicy, "%s is excluded by the configuration of its server", call.Tool)
	}
	for tries := 0; ; tries++ {
		s.mu.Lock()
		session, settled, wait := s.session, s.settled, s.recovering
		s.mu.Unlock()
		if session != nil {
			var value schemas.JSON
			var err error
			if operation {
				value, err = session.perform(ctx, call.Tool, call.Args, s.cfg.CallTimeout())
			} else {
				value, err = session.call(ctx, call.Tool, call.Args, s.cfg.CallTimeout(), progress)
			}
			if !errors.Is(err, errNotSent) {
				return value, err
			}
			if tries == maxTries {
				return nil, &schemas.CallError{
					Code: schemas.CallToolError, Location: atTransport, Effect: schemas.NotStarted,
					Message: fmt.Sprintf("the MCP server %q loses each session before it takes the call", s.name),
				}
			}
			// The connection is gone, and the keeper is about to see it.
			select {
			case <-session.ended:
				wait = true
			case <-time.After(lastWords):
			case <-ctx.Done():
			}
		}
		if !wait {
			return nil, &schemas.CallError{
				Code: schemas.CallToolError, Location: atTransport, Effect: schemas.NotStarted,
				Message: fmt.Sprintf("the MCP server %q is not running; it is tried again from time to time", s.name),
			}
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Close ends the connection and the child process, by the end of ctx.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closing = ctx
	s.mu.Unlock()
	s.stop()
	<-s.done
	return nil
}

// keep holds a session until ctx ends.
func (s *Server) keep(ctx context.Context) {
	defer close(s.done)
	wait := firstBackoff
	for {
		begun := time.Now()
		err := s.hold(ctx)
		if ctx.Err() != nil {
			s.settle(nil, false, schemas.Registration{})
			s.announceFirst()
			return
		}
		if time.Since(begun) > lasting {
			wait = firstBackoff
		}
		s.log.Warn("mcp server lost", "server", s.name, "err", err, "retry", wait)
		s.announceFirst()
		select {
		case <-ctx.Done():
		case <-time.After(wait/2 + rand.N(wait)):
		}
		wait = min(2*wait, lastBackoff)
	}
}

// hold connects, lists, and stays until the session ends. A session that ends by itself
// leaves its tools offered for the next attempt to confirm.
func (s *Server) hold(ctx context.Context) error {
	timeout := s.cfg.ConnectTimeout()
	connecting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	session, err := connectMCP(connecting, s.name, s.cfg, s.log)
	if err != nil {
		return s.down("can't be used", err)
	}
	defer func() {
		s.mu.Lock()
		closing := s.closing
		s.mu.Unlock()
		if closing.Err() == nil && ctx.Err() == nil {
			var cancel context.CancelFunc
			closing, cancel = context.WithTimeout(context.Background(), timeout)
			defer cancel()
		}
		_ = session.close(closing)
	}()
	if err := s.list(connecting, session); err != nil {
		return s.down("can't list its tools", session.because(err))
	}
	s.announceFirst()
	for {
		select {
		case <-session.listChanged:
			listing, cancel := context.WithTimeout(ctx, timeout)
			err := s.list(listing, session)
			cancel()
			if err != nil {
				s.trouble("couldn't list its changed tools: " + session.because(err).Error())
			}
		case <-session.ended:
			err := session.because(nil)
			s.settle(nil, true, s.Offer())
			s.trouble("ended: " + err.Error())
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// list reads the tools and offers them.
func (s *Server) list(ctx context.Context, session *mcpSession) error {
	tools, problems, err := session.list(ctx)
	if err != nil {
		return err
	}
	tools = slices.DeleteFunc(tools, func(t schemas.Tool) bool { return !s.cfg.Offers(t.Name) })
	const most = 20
	if extra := len(problems) - most; extra > 0 {
		problems = append(problems[:most], fmt.Sprintf("and %d more", extra))
	}
	offer := schemas.Registration{Source: schemas.SourceMCP, Owner: s.name, Tools: tools, Server: s.narrow(session.info())}
	for _, p := range problems {
		offer.Problems = append(offer.Problems, fmt.Sprintf("MCP server %q: %s", s.name, p))
	}
	s.settle(session, false, offer)
	return nil
}

// narrow leaves out of what a server announces the groups that its configuration excludes whole.
func (s *Server) narrow(info schemas.ServerInfo) schemas.ServerInfo {
	left := map[string]bool{}
	for _, o := range info.Operations(s.name) {
		group, _, _ := schemas.SplitOperation(o.Name)
		left[group] = left[group] || s.cfg.Offers(o.Name)
	}
	info.Resources, info.Prompts = left[schemas.ResourcesGroup], left[schemas.PromptsGroup]
	return info
}

// down withdraws the tools and says why.
func (s *Server) down(what string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	problem := fmt.Sprintf("MCP server %q %s: %v", s.name, what, err)
	s.settle(nil, false, schemas.Registration{Source: schemas.SourceMCP, Owner: s.name, Problems: []string{problem}})
	return err
}

// trouble adds one problem to the offer, keeping its tools.
func (s *Server) trouble(text string) {
	s.mu.Lock()
	s.offer.Problems = append(slices.Clip(s.offer.Problems), fmt.Sprintf("MCP server %q %s", s.name, text))
	s.mu.Unlock()
	s.changed.note()
}

// settle sets what callers and readers see.
func (s *Server) settle(session *mcpSession, recovering bool, offer schemas.Registration) {
	s.mu.Lock()
	s.session, s.recovering, s.offer = session, recovering, offer
	close(s.settled)
	s.settled = make(chan struct{})
	s.mu.Unlock()
	s.changed.note()
}

// announceFirst marks the first attempt as over.
func (s *Server) announceFirst() {
	select {
	case <-s.first:
	default:
		close(s.first)
	}
}
