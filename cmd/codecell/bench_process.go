package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	warmStarts = 5
	// processTimeout bounds one process of the benchmark.
	processTimeout = time.Minute
	// settleEvery is how often an idle host's memory is looked at. It has settled when settleLooks looks in a row found
	// it within 1 %, or after settleMost looks.
	settleEvery = 500 * time.Millisecond
	settleLooks = 6
	settleMost  = 40
)

// place is a folder for processes of their own: no configuration, no bus, and a cache that they share.
type place struct{ dir string }

func newPlace() (*place, error) {
	dir, err := os.MkdirTemp("", "codecell-bench-")
	if err != nil {
		return nil, err
	}
	return &place{dir}, nil
}

func (p *place) close() { os.RemoveAll(p.dir) }

// command prepares a process of this binary.
func (p *place) command(ctx context.Context, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("%w: this program can't find itself: %w", errNotHere, err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir = p.dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "CODECELL_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	// Where caches are on the systems that we know.
	cmd.Env = append(cmd.Env, "HOME="+p.dir, "XDG_CACHE_HOME="+filepath.Join(p.dir, "cache"), "LocalAppData="+p.dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = closeTimeout
	return cmd, nil
}

// firstResult runs one program in a process of its own and tells when its result was there.
func (p *place) firstResult(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, processTimeout)
	defer cancel()
	cmd, err := p.command(ctx, "exec", "--json", "--title", "Benchmark", "-")
	if err != nil {
		return 0, err
	}
	cmd.Stdin = strings.NewReader("return 1+2")
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	took := time.Since(start)
	_, _ = io.Copy(io.Discard, out)
	if waitErr := cmd.Wait(); waitErr != nil {
		return 0, fmt.Errorf("codecell exec: %w: %s", waitErr, complaints.String())
	}
	if err != nil || !strings.Contains(line, `"value":3`) {
		return 0, fmt.Errorf("codecell exec gave %q, want a result with the value 3", line)
	}
	return took, nil
}

func (b *bench) warmStart(ctx context.Context) (sample, error) {
	p, err := newPlace()
	if err != nil {
		return sample{}, err
	}
	defer p.close()
	s := sample{note: "`codecell exec` with a host of its own"}
	for i := range warmStarts + 1 {
		took, err := p.firstResult(ctx)
		if err != nil {
			return sample{}, err
		}
		if i > 0 { // the first fills the cache
			s.values = append(s.values, took.Seconds())
		}
	}
	return s, nil
}

func (b *bench) coldStart(ctx context.Context) (sample, error) {
	p, err := newPlace()
	if err != nil {
		return sample{}, err
	}
	defer p.close()
	took, err := p.firstResult(ctx)
	return sample{values: []float64{took.Seconds()}, note: "once"}, err
}

// idle looks at a host that has nothing to do until its memory has settled.
func (b *bench) idle(ctx context.Context) (sample, error) {
	if _, err := residentBytes("self"); err != nil {
		return sample{}, fmt.Errorf("%w: this system doesn't tell a process's resident memory", errNotHere)
	}
	p, err := newPlace()
	if err != nil {
		return sample{}, err
	}
	defer p.close()
	// As a host usually starts: with the compiled engine in the cache.
	if _, err := p.firstResult(ctx); err != nil {
		return sample{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, processTimeout)
	defer cancel()
	cmd, err := p.command(ctx, "up", "--json")
	if err != nil {
		return sample{}, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return sample{}, err
	}
	if err := cmd.Start(); err != nil {
		return sample{}, err
	}
	bytes, err := settled(ctx, out, cmd.Process.Pid)
	cancel()
	_, _ = io.Copy(io.Discard, out)
	if waitErr := cmd.Wait(); err == nil && waitErr != nil && !errors.Is(waitErr, context.Canceled) {
		err = fmt.Errorf("codecell up: %w", waitErr)
	}
	return sample{values: []float64{float64(bytes) / (1 << 20)}, note: "VmRSS of `codecell up` without tools, once settled"}, err
}

// settled waits until a host is ready and its memory doesn't change any more.
func settled(ctx context.Context, out io.Reader, pid int) (int64, error) {
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, `"ready":true`) {
		return 0, fmt.Errorf("codecell up said %q, want that it is ready", line)
	}
	ticker := time.NewTicker(settleEvery)
	defer ticker.Stop()
	var last int64
	for look, same := 0, 0; look < settleMost && same < settleLooks; look++ {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-ticker.C:
		}
		now, err := residentBytes(strconv.Itoa(pid))
		if err != nil {
			return 0, err
		}
		if same++; now < last-last/100 || now > last+last/100 {
			same, last = 0, now
		}
	}
	return last, nil
}

// residentBytes reads the resident memory of a process, on systems that have /proc.
func residentBytes(process string) (int64, error) {
	status, err := os.ReadFile("/proc/" + process + "/status")
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(string(status), "VmRSS:")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 2 || fields[1] != "kB" {
		return 0, errors.New("/proc doesn't tell VmRSS")
	}
	kib, err := strconv.ParseInt(fields[0], 10, 64)
	return kib << 10, err
}
