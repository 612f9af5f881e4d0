package session

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// padding makes entries large enough to fill a disk and to need new files soon.
var padding = strings.Repeat("x", 48<<10)

// work appends and commits in a folder until its input ends, and says of each number whether it is kept:
//
//	acked 7 · failed 8 why · problems … · healthy · closed
func work(dir string, in io.Reader, out io.Writer) error {
	quiet := slog.New(slog.DiscardHandler)
	ctx := context.Background()
	server, err := bus.Start(ctx, bus.ServerOptions{StoreDir: dir, Logger: quiet})
	if err != nil {
		return err
	}
	defer server.Close()
	conn, err := server.Connect("worker")
	if err != nil {
		return err
	}
	defer conn.Close()
	store, err := Open(ctx, conn, quiet)
	if err != nil {
		return err
	}
	s, err := store.Session(ctx, "s")
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, in)
		close(ended)
	}()
	n, _ := strconv.Atoi(string(s.Values()["n"].Value))
	before := ""
	for {
		select {
		case <-ended:
			closing, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			if err := store.Close(closing); err != nil {
				return err
			}
			fmt.Fprintln(out, "closed")
			return nil
		default:
		}
		n++
		s.Append(say(fmt.Sprint(n)), say(padding))
		told := make(chan error, 1)
		s.Commit("cell", []schemas.StoreWrite{write("n", fmt.Sprint(n))}, func(err error) { told <- err })
		problems := func() {
			if now := strings.Join(append(server.Problems(), store.Problems()...), "; "); now != before {
				if before = now; now == "" {
					now = "healthy"
				} else {
					now = "problems " + now
				}
				fmt.Fprintln(out, now)
			}
		}
		ticker := time.NewTicker(100 * time.Millisecond)
		for waiting := true; waiting; {
			select {
			case err := <-told:
				waiting = false
				if err != nil {
					fmt.Fprintln(out, "failed", n, err)
				} else {
					fmt.Fprintln(out, "acked", n)
				}
			case <-ticker.C:
			}
			problems()
		}
		ticker.Stop()
	}
}

// worker is a child process at work.
type worker struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines chan string
	acked []int
	log   bytes.Buffer
}

// startWorker starts the program at path, which is this test's unless another user must be able to run it.
func startWorker(t *testing.T, path, dir string, prepare func(*exec.Cmd)) *worker {
	t.Helper()
	w := &worker{cmd: exec.CommandContext(t.Context(), path), lines: make(chan string, 1024)}
	w.cmd.Env = append(os.Environ(), workerFolder+"="+dir)
	if prepare != nil {
		prepare(w.cmd)
	}
	var err error
	if w.stdin, err = w.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := w.cmd.StdoutPipe()
	if err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(w.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			w.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		if w.cmd.ProcessState == nil {
			w.kill()
		}
	})
	return w
}

// until reads what the worker says until a line begins so.
func (w *worker) until(t *testing.T, begin string) string {
	t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case line, ok := <-w.lines:
			if !ok {
				t.Fatalf("the worker ended before it said %q:\n%s", begin, w.log.String())
			}
			w.heard(line)
			if strings.HasPrefix(line, begin) {
				return line
			}
		case <-late:
			t.Fatalf("the worker never says %q:\n%s", begin, w.log.String())
		}
	}
}

func (w *worker) heard(line string) {
	fmt.Fprintln(&w.log, line)
	var n int
	if _, err := fmt.Sscanf(line, "acked %d", &n); err == nil {
		w.acked = append(w.acked, n)
	}
}

// kill ends it as a crash would, and reads what it had said.
func (w *worker) kill() {
	_ = w.cmd.Process.Kill()
	for line := range w.lines {
		w.heard(line)
	}
	_ = w.cmd.Wait()
}

// end lets it end in order.
func (w *worker) end(t *testing.T) {
	t.Helper()
	w.stdin.Close()
	w.until(t, "closed")
	for line := range w.lines {
		w.heard(line)
	}
	if err := w.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// keepsAcked opens the folder, and finds everything there that was acknowledged.
func keepsAcked(t *testing.T, dir string, acked []int) {
	t.Helper()
	server := bustest.Start(t, bus.ServerOptions{StoreDir: dir})
	defer server.Close()
	conn, err := server.Connect("reader")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	store, err := Open(t.Context(), conn, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(t.Context())
	b := branchOf(t, store, "s", "")
	words := map[string]bool{}
	for word := range strings.SplitSeq(said(b), " ") {
		words[word] = true
	}
	for _, n := range acked {
		if !words[fmt.Sprint(n)] {
			t.Errorf("%d was acknowledged, and isn't in the transcript", n)
		}
	}
	last := slices.Max(append([]int{0}, acked...))
	if got, _ := strconv.Atoi(string(b.Values["n"].Value)); got < last || b.Bad != 0 {
		t.Errorf("the stored value is %d, and %d was acknowledged; %d bad", got, last, b.Bad)
	}
}
