package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/codecell/codecell/bus/bustest"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, bustest.Clock()) }

// patience bounds every wait for what has no reason to take long.
const patience = 30 * time.Second

// soon is a context for it.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// cli is a command line in this process.
type cli struct {
	in  string
	env map[string]string
	// typed, if set, is standard input, and a terminal. shows: standard output is one.
	typed io.Reader
	shows bool
}

// app is the program with these streams.
func (c cli) app(out, errs io.Writer) *app {
	a := &app{in: strings.NewReader(c.in), out: out, err: errs, env: func(name string) string { return c.env[name] }, shows: c.shows}
	if c.typed != nil {
		a.in, a.asks = c.typed, true
	}
	return a
}

// result is what a command printed, and its exit code.
type result struct {
	code     int
	out, err string
}

// do runs a command to its end.
func (c cli) do(t *testing.T, args ...string) result {
	t.Helper()
	return c.with(t, soon(t), args...)
}

func (c cli) with(t *testing.T, ctx context.Context, args ...string) result {
	t.Helper()
	var out bytes.Buffer
	errs := &lineLog{changed: make(chan struct{})}
	code := c.app(&out, errs).run(ctx, args)
	return result{code: code, out: out.String(), err: errs.String()}
}

// want fails the test unless the command ended with this code, and printed these texts on either stream.
func (r result) want(t *testing.T, code int, texts ...string) result {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", r.code, code, r.out, r.err)
	}
	for _, text := range texts {
		if !strings.Contains(r.out+r.err, text) {
			t.Errorf("%q isn't in what was printed\nstdout: %s\nstderr: %s", text, r.out, r.err)
		}
	}
	return r
}

// object reads standard output as exactly one JSON object on one line.
func (r result) object(t *testing.T) map[string]any {
	t.Helper()
	if strings.Count(r.out, "\n") != 1 {
		t.Fatalf("not exactly one line:\n%s\nstderr: %s", r.out, r.err)
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(r.out), &object); err != nil {
		t.Fatalf("%v: %s", err, r.out)
	}
	return object
}

// until types a command again until it prints what it must, and gives that: what it shows comes about beside the answers
// that the test has got.
func (c cli) until(t *testing.T, reached func(result) bool, args ...string) result {
	t.Helper()
	for over := time.Now().Add(patience); ; {
		got := c.do(t, args...)
		if reached(got) {
			return got
		}
		if time.Now().After(over) {
			t.Fatalf("%s goes on to print this:\n%s\nstderr: %s", strings.Join(args, " "), got.out, got.err)
		}
	}
}

// prints tells results in which all of these texts are, on either stream.
func prints(texts ...string) func(result) bool {
	return func(r result) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(r.out+r.err, text) })
	}
}

// idle waits until no cell is left on the hosts of a bus: an answer may be there before its cell has gone.
func idle(t *testing.T, url string) {
	t.Helper()
	cli{}.until(t, prints(`"cells":[]`), "slots", "--bus", url, "--json").want(t, exitCompleted)
}

// running is a command that goes on until it is stopped, as by a signal.
type running struct {
	t      *testing.T
	lines  chan string // of standard output
	errs   *lineLog
	cancel context.CancelFunc
	ended  chan struct{}
	code   int
}

// start starts a command. It is stopped with the test, and must then end well.
func (c cli) start(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, w := io.Pipe()
	r := &running{t: t, lines: make(chan string, 1024), errs: &lineLog{changed: make(chan struct{})}, cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(r.lines)
		scanner := bufio.NewScanner(out)
		for scanner.Scan() {
			r.lines <- scanner.Text()
		}
	}()
	go func() {
		defer close(r.ended)
		r.code = c.app(w, r.errs).run(ctx, args)
		_ = w.Close()
	}()
	t.Cleanup(func() { r.stop() })
	return r
}

// line waits for a line of standard output that contains the text.
func (r *running) line(text string) string {
	r.t.Helper()
	over := time.After(patience)
	for {
		select {
		case line, ok := <-r.lines:
			if !ok {
				r.t.Fatalf("it ended without printing %q; stderr: %s", text, r.errs)
			}
			if strings.Contains(line, text) {
				return line
			}
		case <-over:
			r.t.Fatalf("it didn't print %q; stderr: %s", text, r.errs)
		}
	}
}

// stop ends the command as a signal does, and gives its exit code.
func (r *running) stop() int {
	r.t.Helper()
	r.cancel()
	return r.wait()
}

// wait waits until the command has ended by itself.
func (r *running) wait() int {
	r.t.Helper()
	for {
		select {
		case <-r.ended:
			return r.code
		case <-time.After(patience):
			r.t.Fatalf("it didn't end; stderr: %s", r.errs)
		}
	}
}

// lineLog keeps what is written, and tells those who wait for a text.
type lineLog struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed by the next write
}

func (l *lineLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
	return l.text.Write(p)
}

func (l *lineLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// await waits for a text.
func (l *lineLog) await(t *testing.T, text string) {
	t.Helper()
	l.awaitAgain(t, text, 1)
}

// awaitAgain waits until a text is there so often.
func (l *lineLog) awaitAgain(t *testing.T, text string, times int) {
	t.Helper()
	over := time.After(patience)
	for {
		l.mu.Lock()
		changed, there := l.changed, strings.Count(l.text.String(), text)
		l.mu.Unlock()
		if there >= times {
			return
		}
		select {
		case <-changed:
		case <-over:
			t.Fatalf("%q came %d times, want %d: %s", text, there, times, l)
		}
	}
}

// up starts a host and gives the URL of its bus.
func up(t *testing.T, args ...string) (host *running, url string) {
	t.Helper()
	host = cli{}.start(t, append([]string{"up", "--listen", "127.0.0.1:0", "--json"}, args...)...)
	var ready struct{ Bus string }
	if err := json.Unmarshal([]byte(host.line("ready")), &ready); err != nil || ready.Bus == "" {
		t.Fatalf("no bus in the readiness line: %v", err)
	}
	return host, ready.Bus
}

// write writes a file of the test.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// program writes a program.
func program(t *testing.T, source string) string {
	t.Helper()
	return write(t, "program.js", source)
}

// configOf writes a configuration with these MCP servers, by URL.
func configOf(t *testing.T, servers map[string]string) string {
	t.Helper()
	entries := map[string]any{}
	for name, url := range servers {
		entries[name] = map[string]any{"url": url}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": entries})
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "codecell.json5", string(text))
}

// masks replace what differs from run to run.
var masks = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`[a-z2-7]{10}-[a-z2-7]{26}`), "RUNID"},
	{regexp.MustCompile(`host [a-z2-7]{10}\b`), "host HOST"},
	{regexp.MustCompile(`/\S*/([a-z]+\.(js|json5))`), "$1"},
	{regexp.MustCompile(`\bgo1\.[0-9.]+, \w+/\w+`), "PLATFORM"},
	{regexp.MustCompile(`\b[0-9.]+(µs|ms|s)\b`), "TIME"},
	{regexp.MustCompile(`\bworkers (\d+)/\d+`), "workers $1/CORES"}, // as many as the machine has cores for
}

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	for _, m := range masks {
		got = m.pattern.ReplaceAllString(got, m.by)
	}
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update and look at the diff)", err)
	}
	if got != string(want) {
		t.Errorf("%s differs (run with -update and look at the diff):\n%s", path, got)
	}
}
