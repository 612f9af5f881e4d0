package main

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// tokenVariable holds the token that HTTP clients must show. A flag would be in everyone's list of
	// processes.
	tokenVariable = "CODECELL_MCP_TOKEN"
	// webPath is where MCP is served.
	webPath = "/mcp"
	// webHeaderTimeout and webIdleTimeout bound connections that send nothing; answers may take long.
	webHeaderTimeout = 10 * time.Second
	webIdleTimeout   = 2 * time.Minute
	webHeaderBytes   = 64 << 10
	sessionHeader    = "Mcp-Session-Id"
)

// mcpWeb serves MCP sessions over streamable HTTP.
type mcpWeb struct {
	listener net.Listener
	url      string
	token    string
	local    bool // only this machine can connect
	service  *mcpService
	sdk      *mcp.StreamableHTTPHandler
	// blank answers for no session: the SDK asks it for protocol versions.
	blank *mcp.Server
}

// listenWeb takes the port, so that a bad address is told before anything else starts.
func listenWeb(ctx context.Context, o mcpOptions, token string) (*mcpWeb, error) {
	if _, _, err := net.SplitHostPort(o.http); err != nil {
		return nil, fmt.Errorf("--http %s: expected host:port, such as 127.0.0.1:8811", o.http)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", o.http)
	if err != nil {
		return nil, fmt.Errorf("--http %s: can't listen there: %w", o.http, err)
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	local := ok && address.IP.IsLoopback()
	if !local && token == "" {
		_ = listener.Close()
		return nil, fmt.Errorf("--http %s: other machines can connect there, and whoever connects can run programs with your tools: "+
			"listen on 127.0.0.1, or set %s to a long random token that clients must show", o.http, tokenVariable)
	}
	w := &mcpWeb{
		listener: listener, url: "http://" + listener.Addr().String() + webPath, token: token, local: local,
		blank: mcp.NewServer(&mcp.Implementation{Name: "codecell", Version: version}, nil),
	}
	w.sdk = mcp.NewStreamableHTTPHandler(w.server, &mcp.StreamableHTTPOptions{
		SessionTimeout: o.idle,
		// Answers that a broken connection has lost can be fetched again.
		EventStore: mcp.NewMemoryEventStore(nil),
	})
	return w, nil
}

func (w *mcpWeb) close() { _ = w.listener.Close() }

// serve serves until ctx ends, then lets running calls end.
func (w *mcpWeb) serve(ctx context.Context, service *mcpService, o mcpOptions) error {
	w.service = service
	server := &http.Server{
		Handler:           w.guard(http.HandlerFunc(w.handle)),
		ReadHeaderTimeout: webHeaderTimeout, IdleTimeout: webIdleTimeout, MaxHeaderBytes: webHeaderBytes,
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(w.listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("can't serve MCP at %s: %w", w.url, err)
	case <-ctx.Done():
	}
	service.drain(ctx, o.drain)
	service.close() // ends the streams, on which a shutdown would wait
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := server.Shutdown(late); err != nil {
		return server.Close()
	}
	return nil
}

// guard keeps strangers out: web pages, by whatever name they have for this machine, and clients
// without the token.
func (w *mcpWeb) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case w.local && !loopback(r.Host):
			http.Error(rw, fmt.Sprintf("the Host header %q doesn't name this machine: connect to %s", r.Host, w.url), http.StatusForbidden)
		case !w.originAllowed(r):
			http.Error(rw, fmt.Sprintf("web pages of %q may not use this server", r.Header.Get("Origin")), http.StatusForbidden)
		case w.token != "" && !w.authorized(r):
			rw.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(rw, "show the token of "+tokenVariable+" as Authorization: Bearer …", http.StatusUnauthorized)
		case r.URL.Path != webPath:
			http.Error(rw, "MCP is at "+webPath, http.StatusNotFound)
		default:
			next.ServeHTTP(rw, r)
		}
	})
}

// originAllowed lets pages of this very server in and, where only this machine can connect, those of
// other servers on it. Programs send no Origin.
func (w *mcpWeb) originAllowed(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	from, err := url.Parse(origin)
	if err != nil || from.Host == "" {
		return false
	}
	return strings.EqualFold(from.Host, r.Host) || w.local && loopback(from.Host)
}

func (w *mcpWeb) authorized(r *http.Request) bool {
	scheme, shown, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	// Digests have one length, so that the comparison tells nothing about the token's.
	got, want := sha256.Sum256([]byte(strings.TrimSpace(shown))), sha256.Sum256([]byte(w.token))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// loopback tells whether a host, with or without a port, is this machine by a name that nobody else
// can give it.
func loopback(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.Trim(name, "[]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// sessionKey is under which a request for a new session carries it.
type sessionKey struct{}

// server is asked by the SDK, more than once, for the server of a request.
func (w *mcpWeb) server(r *http.Request) *mcp.Server {
	if s, ok := r.Context().Value(sessionKey{}).(*mcpSession); ok {
		return s.server
	}
	return w.blank
}

// handle opens a session for a request that has none, and ends one that is given up.
func (w *mcpWeb) handle(rw http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		w.service.begin()
		defer w.service.end()
	}
	id := r.Header.Get(sessionHeader)
	switch {
	case id != "" && r.Method == http.MethodDelete:
		if s := w.service.session(id); s != nil {
			s.cancel()                     // the SDK would wait for its calls
			defer s.end("the client left") // so that its place is free when the client hears of it
		}
	case id == "" && r.Method == http.MethodPost:
		s, err := w.service.open()
		if err != nil {
			http.Error(rw, message(err), http.StatusServiceUnavailable)
			return
		}
		defer func() {
			// Not every request becomes a session.
			if !s.initialized() {
				s.end("not initialized")
			}
		}()
		r = r.WithContext(context.WithValue(r.Context(), sessionKey{}, s))
	}
	w.sdk.ServeHTTP(rw, r)
}
