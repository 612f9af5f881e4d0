package tool

import (
	"strings"
	"testing"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// onTheWire answers one question to the hook "guard" as no [bus.ServeHook] would.
func onTheWire(t *testing.T, conn *bus.Conn, answer func(respond func([]byte))) {
	t.Helper()
	sub, err := conn.NATS().SubscribeSync(bus.HookSubject(schemas.BeforeToolCall, "guard"))
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(soon(t)); err != nil {
		t.Fatal(err)
	}
	ctx, done := soon(t), make(chan struct{})
	go func() {
		defer close(done)
		if m, err := sub.NextMsgWithContext(ctx); err == nil {
			answer(func(b []byte) { _ = m.Respond(b) })
		}
	}()
	t.Cleanup(func() { <-done })
}

// What the wire may bring instead of an answer in time.
func TestSpec_P1_HooksOnTheWireFailClosed(t *testing.T) {
	pass, err := schemas.Encode(&schemas.Verdict{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		answer func(respond func([]byte))
		want   string
	}{
		"silent":   {func(func([]byte)) {}, "write was not called: hook guard didn't answer within 300ms"},
		"garbage":  {func(respond func([]byte)) { respond([]byte("{no msgpack")) }, "hook guard gave an answer that can't be read"},
		"empty":    {func(respond func([]byte)) { respond(nil) }, "hook guard gave an answer that can't be read"},
		"a number": {func(respond func([]byte)) { respond([]byte{7}) }, "hook guard gave an answer that can't be read"},
		"too late": {func(respond func([]byte)) {
			time.Sleep(500 * time.Millisecond) // real: after the hook's time
			respond(pass)
		}, "hook guard didn't answer within 300ms"},
	} {
		t.Run(name, func(t *testing.T) {
			server := bustest.Server(t)
			conn := bustest.Connect(t, server)
			onTheWire(t, bustest.Connect(t, server), c.answer)
			limit := 300.0
			if !strings.Contains(c.want, "within 300ms") {
				limit = 60_000
			}
			h := startHooked(t, conn, configured(conn, schemas.BeforeToolCall, "guard", limit))
			h.refusedBy(h.write("a"), c.want)
		})
	}
	t.Run("killed in the middle", func(t *testing.T) {
		server := bustest.Server(t)
		conn, other := bustest.Connect(t, server), bustest.Connect(t, server)
		onTheWire(t, other, func(func([]byte)) { other.NATS().Close() })
		h := startHooked(t, conn, configured(conn, schemas.BeforeToolCall, "guard", 300))
		h.refusedBy(h.write("a"), "hook guard didn't answer within 300ms")
		for late := soon(t); server.Interest(bus.HookSubject(schemas.BeforeToolCall, "guard")) > 0; {
			if late.Err() != nil {
				t.Fatal("the server never sees that the hook is gone")
			}
			time.Sleep(time.Millisecond) // real: the end of a connection travels
		}
		h.refusedBy(h.write("a"), "nobody answers for hook guard", "take it out of the configuration's hooks")
	})
	t.Run("answers twice", func(t *testing.T) {
		server := bustest.Server(t)
		conn, other := bustest.Connect(t, server), bustest.Connect(t, server)
		block, err := schemas.Encode(&schemas.Verdict{Block: true, Reason: "the first word"})
		if err != nil {
			t.Fatal(err)
		}
		h := startHooked(t, conn, configured(conn, schemas.BeforeToolCall, "guard", 5000))
		for range 3 { // the second answer to one question must not be the first to the next
			onTheWire(t, other, func(respond func([]byte)) { respond(block); respond(pass) })
			h.refusedBy(h.write("a"), "hook guard blocks it: the first word")
		}
	})
}

// What hooks in other languages send: fields in any order, with nulls, with some that are unknown here, and JSON as text.
func TestSpec_P1_HooksInOtherLanguages(t *testing.T) {
	server := bustest.Server(t)
	conn, other := bustest.Connect(t, server), bustest.Connect(t, server)
	h := startHooked(t, conn, configured(conn, schemas.BeforeToolCall, "guard", 5000))
	onTheWire(t, other, func(respond func([]byte)) {
		respond([]byte("\x85\xa6reason\xc0\xa5since\x93\x01\x02\x03\xa5input\xac{\"path\":\"b\"}\xa5block\xc2\xa3err\xc0"))
	})
	if a := h.write("a"); string(a.Value) != `"wrote b"` {
		t.Errorf("%+v %+v", a, a.Err)
	}
	onTheWire(t, other, func(respond func([]byte)) { respond([]byte("\x80")) })
	if a := h.write("a"); string(a.Value) != `"wrote a"` {
		t.Errorf("%+v %+v", a, a.Err)
	}
}

// A hook that misspells the one field of its answer has not let the call pass.
func TestSpec_P1_AVerdictOfUnknownFieldsIsNone(t *testing.T) {
	server := bustest.Server(t)
	conn, other := bustest.Connect(t, server), bustest.Connect(t, server)
	h := startHooked(t, conn, configured(conn, schemas.BeforeToolCall, "guard", 5000))
	onTheWire(t, other, func(respond func([]byte)) { respond([]byte("\x82\xa7blocked\xc3\xa3why\x81\xa1a\x01")) })
	h.refusedBy(h.write("a"), "hook guard gave an answer that can't be read")
}
