// Command codecell runs programs for agents in sandboxed cells that call tools over NATS.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks for an orderly end. From then on signals act as usual, so that a second one
	// ends the process at once.
	context.AfterFunc(ctx, stop)
	a := &app{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Getenv,
		color: colorful(os.Stdout), errColor: colorful(os.Stderr), live: terminal(os.Stderr),
		asks: terminal(os.Stdin), shows: terminal(os.Stdout),
	}
	code := a.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
