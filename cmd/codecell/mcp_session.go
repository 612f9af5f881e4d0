package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const (
	// reopenWait is the pause before a session looks for a host again.
	reopenWait       = time.Second
	methodInitialize = "initialize"
	methodCall       = "tools/call"
	// codeRefused is the JSON-RPC code of a session that isn't let in, from the range that is left to servers.
	codeRefused = -32000
)

// mcpSession is one client with its run. The run is opened when the client first asks for something,
// and anew when its host has gone.
type mcpSession struct {
	id      string
	service *mcpService
	server  *mcp.Server
	// ctx ends with the session, and with it every call.
	ctx    context.Context
	cancel context.CancelFunc
	attach sync.Once
	ended  sync.Once

	opening sync.Mutex // held while a run is opened
	mu      sync.Mutex
	conn    *mcp.ServerSession // nil before the first message
	run     *bus.Run
	surface schemas.Surface
	// listed is the version of the surface that the client has seen.
	listed   string
	watching bool
}

func newMCPSession(service *mcpService, id string) *mcpSession {
	s := &mcpSession{id: id, service: service}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.server = mcp.NewServer(&mcp.Implementation{Name: "codecell", Title: "codecell", Version: version}, &mcp.ServerOptions{
		Logger:       service.log,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
		GetSessionID: func() string { return id },
	})
	s.register()
	s.server.AddReceivingMiddleware(s.receive)
	return s
}

// register gives the SDK's server a tool, so that it has some. Nobody sees or calls it: lists and calls are answered from
// the run's surface, see list and callTool. Registering it again tells the client that the list has changed.
func (s *mcpSession) register() {
	s.server.AddTool(&mcp.Tool{Name: schemas.ExecTool, InputSchema: schemas.ExecInputSchema()}, s.exec)
}

// receive sees every message of the client first.
func (s *mcpSession) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if conn, ok := req.GetSession().(*mcp.ServerSession); ok {
			s.attach.Do(func() { s.attached(conn) })
		}
		if method == methodInitialize {
			if err := s.service.admit(s.id); err != nil {
				return nil, &jsonrpc.Error{Code: codeRefused, Message: err.Error()}
			}
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.ctx, cancel)()
		if call, ok := req.(*mcp.CallToolRequest); ok {
			result, err := s.callTool(ctx, call)
			if err != nil {
				return nil, err // not a result that is nil
			}
			return result, nil
		}
		result, err := next(ctx, method, req)
		if err != nil {
			return result, err
		}
		switch result := result.(type) {
		case *mcp.ListToolsResult:
			return s.list(ctx, result)
		case *mcp.InitializeResult:
			result.Instructions = s.instructions(ctx)
		case *mcp.DiscoverResult:
			result.Instructions = s.instructions(ctx)
		}
		return result, nil
	}
}

// attached is called once, with the connection. The session ends with it.
func (s *mcpSession) attached(conn *mcp.ServerSession) {
	s.mu.Lock()
	s.conn = conn
	s.mu.Unlock()
	go func() {
		_ = conn.Wait() // whatever the reason
		s.end("the client left")
	}()
}

// initialized tells whether the client has shaken hands.
func (s *mcpSession) initialized() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn != nil && s.conn.InitializeParams() != nil
}

// describe asks the run's host for the surface: the watch may lag behind tools that came just now.
func (s *mcpSession) describe(ctx context.Context) (*schemas.Described, error) {
	run, err := s.opened(ctx)
	if err != nil {
		return nil, err
	}
	described, err := run.Describe(ctx)
	if err != nil && ctx.Err() == nil {
		s.lost(run)
	}
	return described, err
}

// identity is whom the session acts for. Nobody else can have it: its id is as good as a secret, also where the
// session has a name.
func (s *mcpSession) identity() schemas.Identity {
	name := cmp.Or(s.service.named, s.id)
	return schemas.Identity{Agent: s.service.agent, SessionID: name, SessionKey: name, Run: "mcp:" + s.id}
}

// opened gives the session's run, and opens one if there is none.
func (s *mcpSession) opened(ctx context.Context) (*bus.Run, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	s.mu.Lock()
	run := s.run
	s.mu.Unlock()
	if run != nil || s.ctx.Err() != nil {
		return run, s.ctx.Err()
	}
	run, err := s.service.client.Open(ctx, schemas.Open{
		Identity: s.identity(), Bind: !s.service.unbound, Mode: s.service.mode, Model: s.service.model, Front: true,
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run, s.surface = run, run.Surface
	if !s.watching {
		s.watching = true
		go s.watch()
	}
	return run, nil
}

// lost forgets a run that can't be used any more. At the end of the session every request fails, and
// the run is there still, to be closed.
func (s *mcpSession) lost(run *bus.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == run && s.ctx.Err() == nil {
		s.run = nil
	}
}

// lostWith forgets the run if it is on the host of a cell that can't be waited for, since that host is gone.
func (s *mcpSession) lostWith(cell string) {
	s.mu.Lock()
	run := s.run
	s.mu.Unlock()
	if host, err := bus.HostOf(cell); err == nil && run != nil && run.Host == host {
		s.lost(run)
	}
}

// watch follows the surface for as long as the session lasts, on whatever host its run is.
func (s *mcpSession) watch() {
	for s.ctx.Err() == nil {
		run, err := s.opened(s.ctx)
		if err == nil {
			var described *schemas.Described
			if described, err = run.Changed(s.ctx, s.version()); err == nil {
				s.changed(described.Surface)
				continue
			}
			s.lost(run)
		}
		select {
		case <-s.ctx.Done():
		case <-time.After(reopenWait):
		}
	}
}

func (s *mcpSession) version() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.surface.Version
}

// changed tells a client that has seen another surface that there is a new one.
func (s *mcpSession) changed(surface schemas.Surface) {
	s.mu.Lock()
	s.surface = surface
	stale := s.listed != "" && s.listed != surface.Version
	s.mu.Unlock()
	if stale {
		s.register()
	}
}

// end ends the session: calls first, then the run with every program in it.
func (s *mcpSession) end(reason string) {
	s.ended.Do(func() {
		s.cancel()
		s.opening.Lock() // no run is opened from here on
		defer s.opening.Unlock()
		s.mu.Lock()
		run, conn := s.run, s.conn
		s.run = nil
		s.mu.Unlock()
		if conn != nil {
			_ = conn.Close() // the client may be there still
		}
		if run != nil {
			ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
			defer cancel()
			if err := run.Close(ctx, reason); err != nil {
				s.service.log.Warn("a run could not be closed; its host will end it when it has been idle", "error", err)
			}
		}
		s.service.forget(s.id)
	})
}

// failure shows a model what went wrong on the way to the run.
func failure(err error) *schemas.Result {
	var e *schemas.Error
	if !errors.As(err, &e) {
		e = &schemas.Error{Code: schemas.InternalError, Message: err.Error()}
	}
	return &schemas.Result{Status: schemas.StatusFailed, Code: e.Code, Error: e.Message}
}

// modelResult is what a model reads. There is no structured content: clients that prefer it would pass
// on untrusted data without its wrapper (O5).
func modelResult(r *schemas.Result) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: schemas.ModelText(*r, rand.Text())}},
		IsError: r.Status == schemas.StatusFailed,
	}
}
