package bus_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

func dial(t *testing.T, s *bus.Server, o bus.Options) *bus.Conn {
	t.Helper()
	o.URLs = []string{s.URL()}
	o.Logger = slog.New(slog.DiscardHandler)
	c, err := bus.Dial(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestSpec_U1_PrivateUnlessAsked(t *testing.T) {
	if s := bustest.Server(t); s.URL() != "" {
		t.Errorf("a server that wasn't asked to listen has the URL %s", s.URL())
	}
	s := bustest.Start(t, bus.ServerOptions{Listen: "127.0.0.1:0", Token: "secret"})
	inside, outside := bustest.Connect(t, s), dial(t, s, bus.Options{Token: "secret"})
	defer echo(t, inside, "echo").Close()
	if a, err := callEcho(t, outside, `1`); err != nil || string(a.Value) != "1" {
		t.Errorf("over the port: %v, %v", a, err)
	}
	_, err := bus.Dial(t.Context(), bus.Options{URLs: []string{s.URL()}, Token: "wrong", Wait: true})
	if err == nil || !strings.Contains(err.Error(), "bus.token") {
		t.Errorf("with a wrong token: %v", err)
	}
}

func TestDial_SaysWhatToCheck(t *testing.T) {
	const url = "nats://127.0.0.1:1" // nobody's
	for want, o := range map[string]bus.Options{
		"codecell up --listen": {URLs: []string{url}},
		"bus.urls":             {},
		"bus.nkey":             {URLs: []string{url}, NKey: "missing"},
		"bus.tls":              {URLs: []string{url}, TLSCert: "missing"},
	} {
		if _, err := bus.Dial(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error that names %s", err, want)
		}
	}
}

func TestCase83_ClientBeforeServer(t *testing.T) {
	d := newDoor(t)
	connected := make(chan error, 1)
	go func() {
		c, err := bus.Dial(t.Context(), bus.Options{URLs: []string{d.url()}, Wait: true, Logger: slog.New(slog.DiscardHandler)})
		if err == nil {
			c.Close()
		}
		connected <- err
	}()
	<-d.knocked
	s := bustest.Start(t, bus.ServerOptions{Listen: "127.0.0.1:0"})
	d.lead(strings.TrimPrefix(s.URL(), "nats://"))
	if err := <-connected; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := bus.Dial(ctx, bus.Options{URLs: []string{"nats://127.0.0.1:1"}, Wait: true}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with nobody there: %v, want the deadline", err)
	}
	for _, url := range []string{"nats://not a url", "nats://127.0.0.1:99999"} { // nobody will ever be there
		if _, err := bus.Dial(t.Context(), bus.Options{URLs: []string{url}, Wait: true}); err == nil {
			t.Errorf("%s: no error", url)
		}
	}
}

func TestServer_BadOptions(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	for _, listen := range []string{"nonsense", "127.0.0.1:x", "127.0.0.1:70000"} {
		if _, err := bus.Start(t.Context(), bus.ServerOptions{Listen: listen, Logger: quiet}); err == nil || !strings.Contains(err.Error(), "host:port") {
			t.Errorf("%s: %v, want the form host:port", listen, err)
		}
	}
}

func TestServer_StoreDirKeepsFilesAndLogsGoToSlog(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})) // one, which locks the buffer
	dir := t.TempDir()
	for range 2 { // the second finds the buckets of the first
		s, err := bus.Start(t.Context(), bus.ServerOptions{StoreDir: dir, Logger: logger})
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.Connect("c")
		if err != nil {
			t.Fatal(err)
		}
		kv, err := c.JetStream().KeyValue(t.Context(), "codecell_tools")
		if err != nil {
			t.Fatal(err)
		}
		if st, err := kv.Status(t.Context()); err != nil || st.Config().Storage.String() != "File" {
			t.Errorf("bucket is in %v (%v), want files", st.Config().Storage, err)
		}
		c.Close()
		s.Close()
	}
	if !strings.Contains(log.String(), "level=DEBUG") || strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("log:\n%s", log.String())
	}
}

// TestCase90_Timeouts: requests that time out leave nothing behind, and late replies are
// counted and reach no other request.
func TestCase90_Timeouts(t *testing.T) {
	const n = 20_000
	synctest.Test(t, func(t *testing.T) {
		c := bustest.Conn(t)
		late := make(chan *bus.Request[schemas.Search, schemas.Found], n)
		sub, err := bus.Serve(c, bus.SearchSubject("h", "r"), "", func(r *bus.Request[schemas.Search, schemas.Found]) { late <- r })
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		var timeouts atomic.Int64
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			for range n / 20 {
				go func() {
					if _, err := bus.Ask[schemas.Found](ctx, c, bus.SearchSubject("h", "r"), &schemas.Search{}); errors.Is(err, context.DeadlineExceeded) {
						timeouts.Add(1)
					}
				}()
			}
			time.Sleep(2 * time.Second) // virtual: past all deadlines
			cancel()
		}
		synctest.Wait()
		if timeouts.Load() != n || c.Stats().Pending != 0 {
			t.Fatalf("%d timeouts of %d, %d requests left", timeouts.Load(), n, c.Stats().Pending)
		}
		for range n / 2 {
			r := <-late
			if err := r.Respond(&schemas.Found{}); err != nil {
				t.Fatal(err)
			}
		}
		go func() {
			for r := range late {
				_ = r.Respond(&schemas.Found{Hits: []schemas.CatalogEntry{{ToolName: r.Body.Query}}})
			}
		}()
		defer close(late)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := c.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		rep, err := bus.Ask[schemas.Found](ctx, c, bus.SearchSubject("h", "r"), &schemas.Search{Query: "fresh"})
		if err != nil || len(rep.Hits) != 1 || rep.Hits[0].ToolName != "fresh" {
			t.Errorf("the next request got %+v, %v", rep, err)
		}
		if got := c.Stats().Late; got < n/2 {
			t.Errorf("%d late answers counted, want at least %d", got, n/2)
		}
	})
}

func TestAsk_EndsWhenTheConnectionCloses(t *testing.T) {
	s := bustest.Server(t)
	c, err := s.Connect("c")
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{})
	if _, err := bus.Serve(c, bus.ExecSubject("h", "r"), "", func(*bus.Request[schemas.Exec, schemas.Result]) { close(asked) }); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := bus.Ask[schemas.Result](context.Background(), c, bus.ExecSubject("h", "r"), &schemas.Exec{})
		done <- err
	}()
	<-asked
	c.Close()
	if err := <-done; !errors.Is(err, bus.ErrDisconnected) {
		t.Errorf("got %v, want ErrDisconnected", err)
	}
	if _, err := callEcho(t, c, `1`); !errors.Is(err, bus.ErrDisconnected) {
		t.Errorf("after Close: %v, want ErrDisconnected", err)
	}
}

func TestSpec_U5_LostForGood(t *testing.T) {
	s := bustest.Server(t)
	c, err := s.Connect("c")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	select {
	case <-c.Lost():
		t.Fatal("lost at once")
	default:
	}
	// No server puts up with that.
	if err := c.NATS().Publish(strings.Repeat("x", 5000), nil); err != nil {
		t.Fatal(err)
	}
	<-c.Lost()
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), "control line") {
		t.Errorf("got %v, want the server's reason", err)
	}
}

// A server that can't run says why, at once, rather than that it took too long.
func TestSpec_U1_SaysWhyItCantStart(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]bus.ServerOptions{
		"address already in use": {Listen: taken.Addr().String()},
		"not a directory":        {StoreDir: file},
	} {
		o.Logger = slog.New(slog.DiscardHandler)
		s, err := bus.Start(t.Context(), o)
		if err == nil {
			s.Close()
			t.Fatalf("started, want %q", want)
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "within") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestSpec_B5_DialKeepsCredentials(t *testing.T) {
	const address = "127.0.0.1:1" // nobody's
	_, err := bus.Dial(t.Context(), bus.Options{URLs: []string{"nats://me:s3cret@" + address}})
	if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), address) {
		t.Errorf("got %v, want the address without the password", err)
	}
}
