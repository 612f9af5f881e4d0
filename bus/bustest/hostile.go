package bustest

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// bombs are bytes that make careless decoders panic or allocate without bound: huge arrays,
// maps, strings and extensions, deep nesting, truncation.
var bombs = [][]byte{
	{}, {0xc0}, {0xc1}, {0x80}, {0x90}, {0xff},
	{0xdd, 0xff, 0xff, 0xff, 0xff}, {0xdf, 0xff, 0xff, 0xff, 0xff}, {0xdb, 0xff, 0xff, 0xff, 0xff}, {0xc6, 0xff, 0xff, 0xff, 0xff},
	{0xc9, 0xff, 0xff, 0xff, 0xff, 0x01}, {0xd7, 0xff, 0, 0, 0, 0, 0, 0, 0, 0}, {0xde, 0xff, 0xff}, {0xdc, 0xff, 0xff},
	[]byte("{\"json\":1}"), []byte("\x81\xa2id\xdd\xff\xff\xff\xff"), []byte("\x81\xa7address\x81\xa4host\xdb\x7f\xff\xff\xff"),
	deep(0x91, 100_000), deep(0x81, 10_000),
}

func deep(b byte, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = b
	}
	return out
}

// RandomBytes publishes hostile messages on subjects (B4): bombs, random bytes, damaged
// messages of the subject's own type, and false headers, each with and without a reply
// subject. It returns when the server has delivered them; a handler that panics ends the test.
// The messages are the same in every run.
func RandomBytes(t testing.TB, c *bus.Conn, subjects ...string) {
	t.Helper()
	nc, r := c.NATS(), rand.New(rand.NewPCG(1, 2))
	for _, subject := range subjects {
		bodies := append([][]byte(nil), bombs...)
		for n := range 64 {
			b := make([]byte, n*n/8)
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			bodies = append(bodies, b)
		}
		bodies = append(bodies, damaged(t, r, subject)...)
		for _, b := range bodies {
			for _, reply := range []string{"", nc.NewInbox(), bus.ReplySubject("h", "c", "1")} {
				publish(t, nc, &nats.Msg{Subject: subject, Reply: reply, Data: b})
			}
		}
		for _, h := range []nats.Header{
			{"Codecell-Value": {""}}, {"Codecell-Value": {"v-none"}}, {"Codecell-Value": {"../../etc"}}, {"Codecell-Value": {"r-registration"}},
			{"Codecell-Failed": {"because"}}, {"Status": {"503"}}, {"Status": {"100"}}, {"Other": {"x", "y"}},
		} {
			publish(t, nc, &nats.Msg{Subject: subject, Reply: nc.NewInbox(), Header: h})
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := c.Flush(ctx); err != nil {
		t.Fatalf("the bus didn't survive hostile messages: %v", err)
	}
}

func publish(t testing.TB, nc *nats.Conn, m *nats.Msg) {
	t.Helper()
	if err := nc.PublishMsg(m); err != nil {
		t.Fatalf("publish on %s: %v", m.Subject, err)
	}
}

// damaged gives messages of the subject's type with flipped and missing bytes.
func damaged(t testing.TB, r *rand.Rand, subject string) [][]byte {
	t.Helper()
	p, err := bus.Parse(subject)
	if err != nil || p.Row.New == nil {
		return nil
	}
	whole, err := schemas.Encode(p.Row.New())
	if err != nil {
		t.Fatal(err)
	}
	out := [][]byte{append(slices.Clip(whole), 0xc0)}
	for n := range len(whole) {
		out = append(out, whole[:n])
		flipped := append([]byte(nil), whole...)
		flipped[n] ^= byte(1 << r.IntN(8))
		out = append(out, flipped)
	}
	return out
}
