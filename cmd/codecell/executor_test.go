package main

import (
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

// TestSpec_U1_Case83_ExecutorBeforeTheBus: an executor that is started first waits, and offers its tools once there is a bus.
func TestSpec_U1_Case83_ExecutorBeforeTheBus(t *testing.T) {
	door, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer door.Close()
	var bus atomic.Pointer[string] // where the door leads
	knocked := make(chan struct{}, 1)
	go func() {
		for in, err := door.Accept(); err == nil; in, err = door.Accept() {
			if to := bus.Load(); to != nil {
				go lead(in, *to)
				continue
			}
			in.Close()
			select {
			case knocked <- struct{}{}:
			default:
			}
		}
	}()
	executor := cli{}.start(t, "executor", "--bus", "nats://"+door.Addr().String(), "--config", configOf(t, map[string]string{"lab": newToolServer(t).url}))
	next(t, knocked)
	_, url := up(t)
	address := strings.TrimPrefix(url, "nats://")
	bus.Store(&address)
	executor.line("ready")
	cli{}.until(t, prints("MCP.lab.echo"), "tools", "--bus", url).want(t, exitCompleted)
	if code := executor.stop(); code != exitCompleted {
		t.Errorf("exit code %d: %s", code, executor.errs)
	}
}

// lead takes what comes on a connection to an address, and back.
func lead(in net.Conn, address string) {
	defer in.Close()
	out, err := net.Dial("tcp", address) //nolint:noctx // of this machine
	if err != nil {
		return
	}
	defer out.Close()
	go func() {
		_, _ = io.Copy(in, out)
		in.Close()
	}()
	_, _ = io.Copy(out, in)
}
