package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codecell/codecell/schemas"
)

// protocolVersion is what we ask servers for first: the newest revision with a session
// and an initialize handshake, which every server in use answers.
const protocolVersion = "2025-11-25"

// clientVersion is what servers are told about us.
const clientVersion = "1"

// mcpSession is one connection to a server, from initialize to its end.
type mcpSession struct {
	server string
	log    *slog.Logger
	client *mcp.ClientSession
	tap    *tap
	proc   *stdio          // nil for HTTP
	idle   *http.Transport // nil for stdio

	listChanged signal
	tokens      atomic.Int64
	progress    sync.Map // token → Progress

	// life ends when the session is closed, and with it every call; ended is closed when
	// the connection is gone, for whatever reason.
	life  context.Context
	stop  context.CancelFunc
	ended chan struct{}
}

// connectMCP starts or reaches a server. It returns by the end of ctx; what it started is
// then gone or on its way out.
func connectMCP(ctx context.Context, name string, cfg schemas.MCPServer, log *slog.Logger) (*mcpSession, error) {
	s := &mcpSession{server: name, log: log, tap: &tap{}, listChanged: newSignal(), ended: make(chan struct{})}
	s.tap.progress = s.progressed
	s.life, s.stop = context.WithCancel(context.Background())
	client := mcp.NewClient(&mcp.Implementation{Name: "codecell", Version: clientVersion}, &mcp.ClientOptions{
		Capabilities:           &mcp.ClientCapabilities{},
		Logger:                 slog.New(slog.DiscardHandler),
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { s.listChanged.note() },
	})
	var transport mcp.Transport
	if cfg.URL != "" {
		s.idle = http.DefaultTransport.(*http.Transport).Clone()
		transport = &mcp.StreamableClientTransport{
			Endpoint:     cfg.URL,
			HTTPClient:   &http.Client{Transport: &tappedHTTP{next: s.idle, headers: cfg.Headers, tap: s.tap}},
			MaxEventSize: maxReplyBytes,
		}
	} else {
		cmd := exec.Command(cfg.Command, cfg.Args...) //nolint:noctx // it outlives the context of its connect; Close ends it
		cmd.Dir, cmd.Env = cfg.Cwd, serverEnv(os.Environ(), cfg.Env)
		s.proc = newStdio(cmd, s.tap)
		transport = s.proc
	}
	type outcome struct {
		client *mcp.ClientSession
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		c, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: protocolVersion})
		done <- outcome{c, err}
	}()
	var got outcome
	select {
	case got = <-done:
	case <-ctx.Done():
		// What hangs in the SDK must not hang us.
		go func() {
			if late := <-done; late.err == nil {
				_ = late.client.Close()
			}
		}()
		got.err = ctx.Err()
	}
	if got.err != nil {
		reason := s.because(got.err)
		s.stop()
		s.discard()
		log.Debug("mcp server not connected", "server", name, "err", reason)
		return nil, reason
	}
	s.client = got.client
	go func() {
		_ = s.client.Wait()
		close(s.ended)
	}()
	return s, nil
}

// progressed passes a server's word on how far a call is to whoever wants it.
func (s *mcpSession) progressed(params json.RawMessage) {
	var p mcp.ProgressNotificationParams
	if json.Unmarshal(params, &p) != nil {
		return
	}
	if report, ok := s.progress.Load(fmt.Sprint(p.ProgressToken)); ok {
		report.(Progress)(p.Progress, p.Total, clip(p.Message, 1024))
	}
}

// discard lets go of what a failed connect leaves.
func (s *mcpSession) discard() {
	if s.proc != nil && s.proc.kill() {
		_ = s.proc.Close()
	}
	if s.idle != nil {
		s.idle.CloseIdleConnections()
	}
}

// because says why a connection ended, with the child's last words. It keeps a
// cancellation as it is.
func (s *mcpSession) because(err error) error {
	var text, state string
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		text = "it didn't answer in time"
	case errors.Is(err, mcp.ErrSessionMissing): // in its own words there is the id of the session
		text = "it has forgotten the session"
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, mcp.ErrConnectionClosed):
		text = "it closed the connection"
		if s.proc != nil {
			state = s.proc.state()
		}
	default:
		text = clip(schemas.VeilURLs(err.Error()), 500)
	}
	if state != "" {
		text += " (" + state + ")"
	}
	if s.proc != nil {
		if words := s.proc.stderr.String(); words != "" {
			text += "; it wrote: " + words
		}
	}
	return errors.New(text)
}

// info gives what the server says of itself.
func (s *mcpSession) info() schemas.ServerInfo {
	var out schemas.ServerInfo
	init := s.client.InitializeResult()
	if init == nil {
		return out
	}
	if init.ServerInfo != nil {
		out.Title, out.Version = init.ServerInfo.Title, clip(init.ServerInfo.Version, 128)
		if out.Title == "" {
			out.Title = init.ServerInfo.Name
		}
		out.Title = clip(out.Title, 256)
	}
	out.Instructions = clip(init.Instructions, maxDescriptionBytes)
	if caps := init.Capabilities; caps != nil {
		out.Resources, out.Prompts = caps.Resources != nil, caps.Prompts != nil
	}
	return out
}

// list reads the server's tools.
func (s *mcpSession) list(ctx context.Context) ([]schemas.Tool, []string, error) {
	if init := s.client.InitializeResult(); init != nil && init.Capabilities != nil && init.Capabilities.Tools == nil {
		return nil, nil, nil
	}
	return listTools(ctx, s.server, s.client, s.tap)
}

// call runs a tool. It returns soon after ctx or the session ends, whatever the server does.
func (s *mcpSession) call(ctx context.Context, tool string, args schemas.JSON, timeout time.Duration, progress Progress) (schemas.JSON, error) {
	ctx, cancel := within(ctx, timeout)
	defer cancel()
	params := &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)}
	if len(args) == 0 {
		params.Arguments = json.RawMessage("{}")
	}
	if progress != nil {
		token := fmt.Sprint("codecell-", s.tokens.Add(1))
		s.progress.Store(token, progress)
		defer s.progress.Delete(token)
		params.SetProgressToken(token)
	}
	raw, err := s.ask(ctx, tool, &reply{stub: json.RawMessage(`{"content":[]}`)}, func(ctx context.Context) error {
		_, err := s.client.CallTool(ctx, params)
		return err
	})
	if err != nil {
		return nil, err
	}
	value, err := nativeResult(raw)
	if err != nil {
		return nil, &schemas.CallError{Code: schemas.CallToolError, Location: atTransport, Effect: schemas.Done, Message: tool + ": " + err.Error()}
	}
	return value, nil
}

// unreachable is a call that no server took.
func (s *mcpSession) unreachable() error {
	return &schemas.CallError{
		Code: schemas.CallToolError, Location: atTransport, Effect: schemas.NotStarted,
		Message: fmt.Sprintf("the MCP server %q can't be reached: nothing listens at its address", s.server),
	}
}

// close ends the session by the end of ctx. Calls in flight end first.
func (s *mcpSession) close(ctx context.Context) error {
	s.stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.client.Close()
		if s.proc != nil {
			_ = s.proc.Close()
		}
		if s.idle != nil {
			s.idle.CloseIdleConnections()
		}
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		if s.proc == nil {
			return fmt.Errorf("tool: the MCP server %q didn't end its session in time: %w", s.server, ctx.Err())
		}
		s.proc.kill()
		<-done
		return nil
	}
}

// inherited are the variables that a server's process gets from ours: what it needs to
// find programs, folders, certificates, proxies and its language, and no secrets of others.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
	"http_proxy", "https_proxy", "no_proxy", "npm_config_registry", "npm_config_cache", "DISPLAY", "WAYLAND_DISPLAY",
	"SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "WINDIR", "USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH",
	"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROCESSOR_ARCHITECTURE",
}

// serverEnv gives a server's environment: the inherited variables, then the configured ones.
func serverEnv(ours []string, configured map[string]string) []string {
	var env []string
	for _, pair := range ours {
		name, value, _ := strings.Cut(pair, "=")
		keep := slices.Contains(inherited, name) || strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_")
		if _, again := configured[name]; keep && !again && !strings.HasPrefix(value, "()") {
			env = append(env, pair)
		}
	}
	for name, value := range configured {
		env = append(env, name+"="+value)
	}
	return env
}
