package agent_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/codecell/codecell/actors/agent"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// lab is a host whose runs do as a test says. Runs of real hosts are in the other tests; this one can vanish at the right
// moment, and lives in virtual time.
type lab struct {
	conn   *bus.Conn
	client *bus.Client
	// surface is what each run shows.
	surface schemas.Surface
	// direct, exec and wait answer calls; nil answers never come.
	direct func(*schemas.Direct) *schemas.Directed
	exec   func(*schemas.Exec) *schemas.Result
	wait   func(*schemas.Wait) *schemas.Result

	mu     sync.Mutex
	opens  []schemas.Open
	closes []schemas.Close
	calls  []string
}

const labHost = "aaaaaaaaaa"

// newLab starts one that shows exec, wait, and a direct tool, twice.
func newLab(t *testing.T) *lab {
	t.Helper()
	server := bustest.Server(t)
	l := &lab{conn: bustest.Connect(t, server), client: bus.NewClient(bustest.Connect(t, server))}
	l.surface = schemas.Surface{Mode: schemas.ModeCode, Version: "1", CatalogSize: 7, Tools: []schemas.SurfaceTool{
		{Name: "exec", Control: true, Description: "Runs <b>a</b> program.", InputSchema: schemas.JSON(`{"type":"object","properties":{"code":{"type":"string"},"title":{"type":"string"}}}`)},
		{Name: "wait", Control: true, Description: "Waits.", InputSchema: schemas.JSON(`{"type":"object","properties":{"runId":{"type":"string"}}}`)},
		{Name: "twice", Direct: true, Description: "Doubles.", InputSchema: schemas.JSON(`{"type": "object", "properties": {"z": {"minimum": 1.0}, "a": {"maximum": 12345678901234567890}}}`)},
	}}
	l.direct = func(d *schemas.Direct) *schemas.Directed {
		return &schemas.Directed{Source: schemas.SourceNative, Value: d.Args}
	}
	l.exec = func(*schemas.Exec) *schemas.Result {
		return &schemas.Result{Status: schemas.StatusCompleted, Value: schemas.JSON(`1`)}
	}
	l.wait = func(w *schemas.Wait) *schemas.Result {
		return &schemas.Result{Status: schemas.StatusCompleted, Value: schemas.JSON(`2`)}
	}
	serve := func(_ *bus.Subscription, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	serve(bus.Serve(l.conn, bus.OpenSubject(), bus.HostQueue, func(r *bus.Request[schemas.Open, schemas.Opened]) {
		l.note(func() { l.opens = append(l.opens, r.Body) })
		_ = r.Respond(&schemas.Opened{Host: labHost, Run: bus.NewRunID(labHost), Surface: l.surface})
	}))
	serve(bus.Serve(l.conn, bus.OnHost(bus.ExecSubject, labHost), "", func(r *bus.Request[schemas.Exec, schemas.Result]) {
		l.note(func() { l.calls = append(l.calls, r.Body.CallID) })
		go func() { answer(r, l.exec(&r.Body)) }()
	}))
	serve(bus.Serve(l.conn, bus.OnHost(bus.WaitSubject, labHost), "", func(r *bus.Request[schemas.Wait, schemas.Result]) {
		l.note(func() { l.calls = append(l.calls, r.Body.CallID) })
		go func() { answer(r, l.wait(&r.Body)) }()
	}))
	serve(bus.Serve(l.conn, bus.OnHost(bus.DirectSubject, labHost), "", func(r *bus.Request[schemas.Direct, schemas.Directed]) {
		l.note(func() { l.calls = append(l.calls, r.Body.CallID) })
		go func() { answer(r, l.direct(&r.Body)) }()
	}))
	serve(bus.Serve(l.conn, bus.OnHost(bus.CloseSubject, labHost), "", func(r *bus.Request[schemas.Close, schemas.Ack]) {
		l.note(func() { l.closes = append(l.closes, r.Body) })
		_ = r.Respond(&schemas.Ack{Totals: &schemas.RunTotals{Calls: len(l.calls)}})
	}))
	serve(bus.Serve(l.conn, bus.StatusSubject(labHost), "", func(r *bus.Request[schemas.StatusAsk, schemas.HostStatus]) {
		_ = r.Respond(&schemas.HostStatus{Host: labHost})
	}))
	return l
}

func answer[Req, Rep any](r *bus.Request[Req, Rep], rep *Rep) {
	if rep != nil {
		_ = r.Respond(rep)
	}
}

func (l *lab) note(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do()
}

// made counts the calls that came.
func (l *lab) made() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.calls)
}

// turn is a turn of the lab's.
func (l *lab) turn(p agent.Provider) (*agent.Turn, *record, *watcher) {
	rec, w := &record{}, &watcher{}
	return &agent.Turn{
		Client: l.client, Provider: p, Mode: schemas.ModeCode, Transcript: rec, Observe: w.observe, Fact: w.fact,
		Identity: schemas.Identity{Agent: "default", SessionID: "s", SessionKey: "k", Run: "r"},
		Logger:   slog.New(slog.DiscardHandler),
	}, rec, w
}

// line is a provider that is reached without a network, so that it can be in virtual time.
type line struct{ *provider }

// newLine takes the place of newProvider in a bubble.
func newLine(steps ...step) *line { return &line{&provider{steps: steps}} }

func (l *line) at() agent.Provider {
	return agent.Provider{Name: "test", Model: "m", URL: "http://provider.test/v1", Key: secret, Retries: 3, HTTP: &http.Client{Transport: l}}
}

// RoundTrip answers with the next step, whose body is read as it is written.
func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	sent, next := l.next(r)
	reader, writer := io.Pipe()
	w := &pipeWriter{ResponseRecorder: httptest.NewRecorder(), pipe: writer, head: make(chan struct{})}
	go func() {
		defer func() {
			_ = writer.CloseWithError(w.end)
			w.WriteHeader(http.StatusOK)
		}()
		next(w, sent)
	}()
	select {
	case <-w.head:
	case <-r.Context().Done():
		_ = reader.Close()
		return nil, r.Context().Err()
	}
	go func() {
		<-r.Context().Done()
		_ = reader.CloseWithError(r.Context().Err())
	}()
	return &http.Response{StatusCode: w.status, Header: w.sent, Body: reader, Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
}

// pipeWriter is the server's side of a [line].
type pipeWriter struct {
	*httptest.ResponseRecorder
	pipe   *io.PipeWriter
	once   sync.Once
	head   chan struct{}
	status int
	sent   http.Header
	// end is how the body ends: nil in good order.
	end error
}

func (w *pipeWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.Header().Clone()
		close(w.head)
	})
}

func (w *pipeWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pipe.Write(b)
}

func (w *pipeWriter) Flush() {}
