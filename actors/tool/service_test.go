package tool

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// says is a handler that answers with a text.
func says(text string) func([]byte, map[string][]string) *bustest.MicroAnswer {
	return func([]byte, map[string][]string) *bustest.MicroAnswer {
		return &bustest.MicroAnswer{Body: []byte(text)}
	}
}

// endpointOf is an endpoint that is a tool, with further metadata in pairs.
func endpointOf(tool string, handle func([]byte, map[string][]string) *bustest.MicroAnswer, meta ...string) bustest.MicroEndpoint {
	e := bustest.MicroEndpoint{Name: tool, Handle: handle, Metadata: map[string]string{metaTool: tool}}
	for i := 0; i < len(meta); i += 2 {
		e.Metadata[meta[i]] = meta[i+1]
	}
	return e
}

// offering starts an executor for a service, and waits for its first look.
func offering(t *testing.T, conn *bus.Conn, name string) *Executor {
	t.Helper()
	e := start(t, conn, Options{Providers: []Provider{Service(conn, name, quiet)}})
	if err := e.Ready(soon(t)); err != nil {
		t.Fatal(err)
	}
	return e
}

// awaitTools waits until the registration has exactly these tools.
func awaitTools(t *testing.T, e *Executor, want string) {
	t.Helper()
	var got string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		var names []string
		for _, tool := range e.Offers()[0].Tools {
			names = append(names, tool.Name)
		}
		if got = strings.Join(names, " "); got == want {
			return
		}
		time.Sleep(10 * time.Millisecond) // real: NATS tells nobody that a service has come or gone
	}
	t.Fatalf("the service's tools are %q, want %q (%v)", got, want, e.Problems())
}

func TestSpec_U3_EndpointsAreTools(t *testing.T) {
	conn := bustest.Conn(t)
	var seen map[string][]string
	bustest.Micro(t, conn, "weather", "1.2.0",
		endpointOf("forecast", func(body []byte, header map[string][]string) *bustest.MicroAnswer {
			seen = header
			return &bustest.MicroAnswer{Body: append(append([]byte(` {"got":`), body...), '}')}
		}, metaDescription, "Tells the weather", metaLabel, "Forecast", metaReplaySafe, "true", metaSequential, "true", metaIdempotent, "true",
			metaInput, `{ "type": "object", "required": ["city"], "properties": {"city": {"type":"string"}, "days": {"type":"integer","default":3}} }`,
			metaOutput, `{"type":"object","required":["got"]}`),
		endpointOf("nothing", says("")),
		endpointOf("guarded", says("1"), metaApproval, "true"),
		bustest.MicroEndpoint{Name: "internal", Handle: says("1")},
	)
	e := offering(t, conn, "weather")
	awaitTools(t, e, "forecast guarded nothing")
	offer := e.Offers()[0]
	if len(offer.Tools) != 3 || len(offer.Problems) != 0 || offer.Owner != "weather" || offer.Source != schemas.SourceNative {
		t.Fatalf("the offer is %+v", offer)
	}
	got := offer.Tools[0]
	if got.ID() != "openclaw:weather:forecast" || got.Tier != schemas.TierPlugin || got.Description != "Tells the weather" ||
		got.Label != "Forecast" || !got.ReplaySafe || !got.Sequential || !got.Idempotent || got.Approval {
		t.Errorf("the tool is %+v", got)
	}
	if !offer.Tools[1].Approval {
		t.Errorf("%s needs no approval", offer.Tools[1].Name)
	}

	c := newCaller(t, conn)
	if a := c.send("weather", "forecast", `{"city":"Bern"}`).end(); string(a.Value) != `{"got":{"city":"Bern","days":3}}` || a.Untrusted {
		t.Errorf("it answered %s %v", a.Value, a.Err)
	}
	if fmt.Sprint(seen["Codecell-Agent"], seen["Codecell-Run"], seen["Codecell-Parent"]) != "[main] [r1] [toolu_1]" {
		t.Errorf("the service got the headers %v", seen)
	}
	if a := c.send("weather", "nothing", `{}`).end(); a.State != schemas.AnswerDone || len(a.Value) != 0 {
		t.Errorf("no answer came as %+v", a)
	}
	seen = nil
	if a := c.send("weather", "forecast", `{"town":"Bern"}`).end(); a.Err == nil || a.Err.Code != schemas.CallInputContract || seen != nil {
		t.Errorf("bad input came to %+v, and the service saw %v", a, seen)
	}
}

func TestSpec_U3_FailuresSayWhatIsKnown(t *testing.T) {
	conn := bustest.Conn(t)
	large := make(chan int, 1)
	stop := bustest.Micro(t, conn, "svc", "1.0.0",
		endpointOf("fails", func([]byte, map[string][]string) *bustest.MicroAnswer {
			return &bustest.MicroAnswer{Code: "404", Description: "no such city", Body: []byte(`{"city":"Atlantis"}`)}
		}),
		endpointOf("garbage", says("sunny")),
		endpointOf("wrong", says(`{"n":"one"}`), metaOutput, `{"type":"object","properties":{"n":{"type":"integer"}}}`),
		endpointOf("silent", func([]byte, map[string][]string) *bustest.MicroAnswer { return nil }, metaTimeout, "150"),
		endpointOf("patient", func([]byte, map[string][]string) *bustest.MicroAnswer { large <- 0; return nil }),
		endpointOf("broken", says("1"), metaInput, `{"type":"nonsense"}`),
	)
	e := offering(t, conn, "svc")
	awaitTools(t, e, "broken fails garbage patient silent wrong")
	c := newCaller(t, conn)
	for _, want := range []struct {
		tool, args string
		code       schemas.CallCode
		effect     schemas.Outcome
		message    string
	}{
		{"fails", `{}`, schemas.CallToolError, schemas.Failed, `fails: no such city (404): {"city":"Atlantis"}`},
		{"garbage", `{}`, schemas.CallOutputContract, schemas.Done, "isn't JSON"},
		{"wrong", `{}`, schemas.CallOutputContract, schemas.Done, "n"},
		{"silent", `{}`, schemas.CallToolError, schemas.Unknown, "no answer within 150ms"},
		{"fails", `{"x":"` + strings.Repeat("x", 2<<20) + `"}`, schemas.CallInvalidInput, schemas.NotStarted, "too large"},
		{"broken", `{}`, schemas.CallInvalidContract, schemas.NotStarted, "input schema is invalid"},
	} {
		a := c.send("svc", want.tool, want.args).end()
		if a.Err == nil || a.Err.Code != want.code || a.Err.Effect != want.effect || !strings.Contains(a.Err.Message, want.message) {
			t.Errorf("%s %.20s came to %+v", want.tool, want.args, a.Err)
		}
	}
	// A small one right after a large one, on the same connection (Case 84).
	if a := c.send("svc", "fails", `{}`).end(); a.Err == nil || a.Err.Effect != schemas.Failed {
		t.Errorf("after a large call: %+v", a)
	}

	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-large; cancel() }()
	_, err := e.owners[0].provider.Call(ctx, callOf("patient", "9", `{}`), nil)
	if fail := toolFailure("patient", err); fail.Effect != schemas.Unknown || !strings.Contains(fail.Message, "cancelled") {
		t.Errorf("a cancelled call came to %+v", fail)
	}

	stop()
	begun := time.Now()
	a := c.send("svc", "silent", `{}`).end()
	if a.Err == nil || a.Err.Effect != schemas.NotStarted || time.Since(begun) > 5*time.Second {
		t.Errorf("a call of a stopped service came to %+v after %v", a.Err, time.Since(begun))
	}
	awaitTools(t, e, "")
	if p := strings.Join(e.Problems(), "\n"); p != `service "svc" has no running instance on the bus` {
		t.Errorf("the problems are %q", p)
	}
	if r := c.send("svc", "silent", `{}`).next(); !r.NoResponders {
		t.Errorf("a withdrawn tool came to %+v", r)
	}
}

func TestSpec_U3_ServicesComeAndGo(t *testing.T) {
	conn := bustest.Conn(t)
	e := offering(t, conn, "svc")
	awaitTools(t, e, "")
	stop := bustest.Micro(t, conn, "svc", "1.0.0", endpointOf("old", says(`"old"`)), endpointOf("both", says(`1`), metaDescription, "first"))
	awaitTools(t, e, "both old")
	bustest.Micro(t, conn, "other", "1.0.0", endpointOf("stranger", says(`1`)))
	// Endpoints are added one by one, and one look may see the first only.
	bustest.Micro(t, conn, "svc", "1.10.0", endpointOf("both", says(`1`), metaDescription, "second"), endpointOf("new", says(`"new"`)))
	awaitTools(t, e, "both new old")
	if d := e.Offers()[0].Tools[0].Description; d != "second" {
		t.Errorf("two versions describe a tool, and %q was taken", d)
	}
	if p := strings.Join(e.Problems(), "\n"); p != `service "svc" describes tool "both" in different ways: that of its newest version is used` {
		t.Errorf("the problems are %q", p)
	}
	stop()
	awaitTools(t, e, "both new")
	if a := newCaller(t, conn).send("svc", "new", `{}`).end(); string(a.Value) != `"new"` {
		t.Errorf("it answered %s %v", a.Value, a.Err)
	}
}

// What a service says of itself is a stranger's: it can't have calls sent where it couldn't send any itself, and a bad endpoint
// doesn't harm the others.
func TestSpec_U3_HostileServices(t *testing.T) {
	conn := bustest.Conn(t)
	announced := bus.Service{Name: "evil", ID: "e1", Version: "not a version"}
	add := func(subject string, meta ...string) {
		e := bus.Endpoint{Name: "e", Subject: subject, Metadata: map[string]string{}}
		for i := 0; i < len(meta); i += 2 {
			e.Metadata[meta[i]] = meta[i+1]
		}
		announced.Endpoints = append(announced.Endpoints, e)
	}
	add("fine.subject", metaTool, "fine")
	add("fine.other", metaTool, "fine", metaDescription, "again")
	add("$JS.API.STREAM.DELETE.KV_codecell", metaTool, "js")
	add("$SYS.REQ.SERVER.PING", metaTool, "sys")
	add("codecell.v1.exec.h.r", metaTool, "ours")
	add("_INBOX.abc.1", metaTool, "inbox")
	add("a.*", metaTool, "star")
	add("a.>", metaTool, "rest")
	add("a..b", metaTool, "empty")
	add("a b", metaTool, "blank")
	add("a\r\nPUB x 1", metaTool, "injection")
	add("", metaTool, "none")
	add(strings.Repeat("a", 5000), metaTool, "long")
	add("x", metaTool, "")
	add("x", metaTool, strings.Repeat("n", 500))
	add("x", metaTool, "line\nbreak")
	add("x", metaTool, "schema", metaInput, "{")
	add("x", metaTool, "huge", metaInput, `{"description":"`+strings.Repeat("x", 300<<10)+`"}`)
	a, err := bus.Announce(conn, func() bus.Service { return announced })
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	e := offering(t, conn, "evil")
	awaitTools(t, e, "fine")
	if got := len(e.Problems()); got < 16 {
		t.Errorf("%d problems are told: %v", got, e.Problems())
	}
	for _, p := range e.Problems() {
		if len(p) > 300 || strings.ContainsAny(p, "\r\n") {
			t.Errorf("a problem isn't for people: %q", p)
		}
	}
}

// A service of five thousand tools, and one that answers discovery with bombs.
func TestSpec_U3_DiscoveryIsBounded(t *testing.T) {
	conn := bustest.Conn(t)
	many := bus.Service{Name: "many", ID: "m", Version: "1.0.0"}
	for i := range 5000 {
		many.Endpoints = append(many.Endpoints, bus.Endpoint{Name: "e", Subject: "m", Metadata: map[string]string{metaTool: fmt.Sprintf("t%04d", i)}})
	}
	a, err := bus.Announce(conn, func() bus.Service { return many })
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	e := offering(t, conn, "many")
	var names []string
	for i := range maxServiceTools {
		names = append(names, fmt.Sprintf("t%04d", i))
	}
	awaitTools(t, e, strings.Join(names, " "))
	if n := len(e.Offers()[0].Tools); n != maxServiceTools {
		t.Errorf("%d tools are offered, want %d", n, maxServiceTools)
	}
	if p := strings.Join(e.Problems(), "\n"); !strings.Contains(p, "more than 1000 tools") {
		t.Errorf("the problems are %q", p)
	}
}
