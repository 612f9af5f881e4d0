package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/codecell/codecell/e2e/provider/brain"
	"github.com/codecell/codecell/e2e/provider/chat"
)

// provider is the process that stands for the model.
type provider struct {
	cmd *exec.Cmd
	url string
	log *bufio.Reader
	// part is the beginning of a line whose end wasn't there yet.
	part []byte
	dir  string
}

// startProvider starts the built provider with these cases.
func startProvider(ctx context.Context, binary string, cases []brain.Case) (_ *provider, err error) {
	p := &provider{}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if p.dir, err = os.MkdirTemp("", "codecell-surfaces-"); err != nil {
		return nil, err
	}
	text, err := json.Marshal(cases)
	if err != nil {
		return nil, err
	}
	path, log := filepath.Join(p.dir, "cases.json"), filepath.Join(p.dir, "log")
	if err = os.WriteFile(path, text, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, binary, "-cases", path, "-log", log, "-bare")
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err = cmd.Start(); err != nil {
		return nil, err
	}
	p.cmd = cmd
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the provider says no URL: %w", err)
	}
	p.url = strings.TrimSpace(url)
	file, err := os.Open(log) //nolint:gosec // our own
	if err != nil {
		return nil, err
	}
	p.log = bufio.NewReader(file)
	return p, nil
}

// take gives the records of the requests that came since it was last asked, when each has ended. It fails for a request
// that was refused.
func (p *provider) take(ctx context.Context) (all []chat.Record, err error) {
	for open := 0; ; {
		line, err := p.log.ReadBytes('\n')
		p.part = append(p.part, line...)
		switch {
		case errors.Is(err, io.EOF) && open == 0 && len(p.part) == 0:
			return all, nil
		case errors.Is(err, io.EOF): // the end of an answer is logged when it was sent, which may be after it was read
			select {
			case <-time.After(time.Millisecond):
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		case err != nil:
			return nil, err
		}
		var r chat.Record
		if err := json.Unmarshal(p.part, &r); err != nil {
			return nil, err
		}
		p.part = p.part[:0]
		if len(r.Problems) > 0 {
			return nil, fmt.Errorf("request %d: %s", r.Request, strings.Join(r.Problems, "; "))
		}
		if open++; r.Ended {
			open -= 2
		}
		all = append(all, r)
	}
}

func (p *provider) close() error {
	var err error
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		err = p.cmd.Wait()
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}
