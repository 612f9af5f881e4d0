package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/codecell/codecell/bus"
)

// unit is the round trip that everything else is counted in: a request to a queue group and its answer, by the bare
// client library on in-process connections to a server like that of a node.
type unit struct {
	server              *bus.Server
	caller, responder   *bus.Conn
	subject, queueGroup string
	payload             []byte
}

// unitTimeout bounds one round trip: the server is in this process.
const unitTimeout = 5 * time.Second

func newUnit(ctx context.Context, log *slog.Logger) (_ *unit, err error) {
	u := &unit{subject: "bench.unit", queueGroup: "bench", payload: []byte(`{"n":1}`)}
	defer func() {
		if err != nil {
			u.close()
			err = fmt.Errorf("the unit can't be measured: %w", err)
		}
	}()
	if u.server, err = bus.Start(ctx, bus.ServerOptions{Name: "codecell-bench", Logger: log}); err != nil {
		return nil, err
	}
	if u.caller, err = u.server.Connect("bench caller"); err != nil {
		return nil, err
	}
	if u.responder, err = u.server.Connect("bench responder"); err != nil {
		return nil, err
	}
	_, err = u.responder.NATS().QueueSubscribe(u.subject, u.queueGroup, func(m *nats.Msg) {
		_ = m.Respond(m.Data) // a lost answer fails the request
	})
	if err != nil {
		return nil, err
	}
	return u, u.responder.Flush(ctx)
}

// block gives the mean of some round trips.
func (u *unit) block(ctx context.Context) (time.Duration, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	start := time.Now()
	for range unitTrips {
		if _, err := u.caller.NATS().Request(u.subject, u.payload, unitTimeout); err != nil {
			return 0, fmt.Errorf("the unit can't be measured: %w", err)
		}
	}
	return time.Since(start) / unitTrips, nil
}

func (u *unit) close() {
	for _, c := range []*bus.Conn{u.caller, u.responder} {
		if c != nil {
			c.Close()
		}
	}
	if u.server != nil {
		u.server.Close()
	}
}
