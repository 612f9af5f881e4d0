// Provider is a scripted model provider: a process that speaks OpenAI's chat completions, streaming and not, and says what
// a script tells it to, or what a model would that knows which tool it wants.
//
//	go run ./e2e/provider -script turn.json -log requests.jsonl
//	go run ./e2e/provider -cases cases.json
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/codecell/codecell/e2e/provider/brain"
	"github.com/codecell/codecell/e2e/provider/chat"
	"github.com/codecell/codecell/e2e/provider/script"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "provider:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends. It prints the base URL of the API when it can be asked.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("provider", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:0", "address to listen on")
	scripted := flags.String("script", "", "file with the script to play")
	cases := flags.String("cases", "", "file with prompts and the tools they are for, in place of a script")
	log := flags.String("log", "", "file that gets a record of each request, as JSON lines")
	bare := flags.Bool("bare", false, "leave bodies out of the log")
	key := flags.String("key", "", "key that requests must have")
	if err := flags.Parse(args); err != nil {
		return err
	}
	p, err := newProvider(*scripted, *cases)
	if err != nil {
		return err
	}
	p.key = *key
	logged := io.Discard
	if *log != "" {
		file, err := os.OpenFile(*log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer file.Close()
		logged = file
	}
	p.log = chat.NewLog(logged)
	p.log.Bare = *bare
	return serve(ctx, *listen, p.handler(), out)
}

func newProvider(scripted, cases string) (*provider, error) {
	switch {
	case (scripted == "") == (cases == ""):
		return nil, errors.New("give either -script or -cases")
	case scripted != "":
		text, err := os.ReadFile(scripted)
		if err != nil {
			return nil, err
		}
		player, err := script.Parse(text)
		if err != nil {
			return nil, err
		}
		return &provider{play: player.Play}, nil
	}
	text, err := os.ReadFile(cases)
	if err != nil {
		return nil, err
	}
	model, err := brain.Parse(text)
	if err != nil {
		return nil, err
	}
	return &provider{play: func(r *chat.Request) (*chat.Reply, *script.Failure, []string) {
		reply, err := model.Answer(r)
		if err != nil {
			return nil, nil, []string{err.Error()}
		}
		return reply, nil, nil
	}}, nil
}

func serve(ctx context.Context, address string, handler http.Handler, out io.Writer) error {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	fmt.Fprintf(out, "http://%s/v1\n", listener.Addr())
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
