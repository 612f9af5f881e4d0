package bus_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
)

// In virtual time: who has the time to answer must not depend on the machine.
func TestSpec_U3_FindService(t *testing.T) { synctest.Test(t, testFindService) }

func testFindService(t *testing.T) {
	c := bustest.Conn(t)
	begun := time.Now()
	if _, err := bus.FindService(t.Context(), c, "weather", time.Minute); !errors.Is(err, bus.ErrNoResponders) || time.Since(begun) != 0 {
		t.Errorf("a service that isn't there: %v after %v", err, time.Since(begun))
	}
	if _, err := bus.FindService(t.Context(), c, "no name", time.Minute); err == nil {
		t.Error("a name that no service can have was looked for")
	}
	// Whatever else answers for the name isn't an instance of it.
	if _, err := c.NATS().Subscribe("$SRV.INFO.weather", func(m *nats.Msg) {
		for _, answer := range []string{"", "{", `[]`, `{"name":"other","id":"1"}`, `{"name":"weather"}`, strings.Repeat("x", 1<<20)} {
			_ = m.Respond([]byte(answer))
		}
	}); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"1.0.0", "2.0.0"} {
		bustest.Micro(t, c, "weather", version, bustest.MicroEndpoint{
			Name: "forecast", Subject: "weather.forecast", Metadata: map[string]string{"codecell.tool": "forecast"},
		})
	}
	found, err := bus.FindService(t.Context(), c, "weather", time.Second)
	if err != nil || len(found) != 2 || found[0].ID >= found[1].ID {
		t.Fatalf("found %+v, %v", found, err)
	}
	for _, i := range found {
		if len(i.Endpoints) != 1 || i.Endpoints[0].Subject != "weather.forecast" || i.Endpoints[0].Metadata["codecell.tool"] != "forecast" {
			t.Errorf("an instance is %+v", i)
		}
	}
}

func TestSpec_U3_U6_AskService(t *testing.T) {
	c := bustest.Conn(t)
	ask := func(body string, header map[string]string) (string, error) {
		b, err := bus.AskService(t.Context(), c, "weather.forecast", header, []byte(body), nil)
		return string(b), err
	}
	if _, err := ask("{}", nil); !errors.Is(err, bus.ErrNoResponders) {
		t.Errorf("nobody there: %v", err)
	}
	bustest.Micro(t, c, "weather", "1.0.0", bustest.MicroEndpoint{Name: "forecast", Subject: "weather.forecast",
		Handle: func(body []byte, header map[string][]string) *bustest.MicroAnswer {
			if string(body) == "fail" {
				return &bustest.MicroAnswer{Code: "500", Description: "it rains", Body: []byte("details")}
			}
			return &bustest.MicroAnswer{Body: []byte(strings.Join(header["X"], ",") + string(body))}
		}})
	if got, err := ask("{}", map[string]string{"X": "a\r\nPUB y\xff"}); err != nil || strings.ContainsAny(got, "\r\n") {
		t.Errorf("it answered %q, %v", got, err)
	}
	_, err := ask("fail", nil)
	if said, ok := errors.AsType[*bus.ServiceError](err); !ok || said.Error() != "it rains (500)" || string(said.Body) != "details" {
		t.Errorf("it failed with %v", err)
	}
	for _, large := range []func() (string, error){
		func() (string, error) { return ask(strings.Repeat("x", 2<<20), nil) },
		func() (string, error) { return ask(strings.Repeat("x", 1<<20), map[string]string{"X": "y"}) },
	} {
		if _, err := large(); !errors.Is(err, bus.ErrTooLarge) {
			t.Errorf("a request over the payload limit: %v", err)
		}
	}
	if got, err := ask("after", nil); err != nil || got != "after" {
		t.Errorf("after a large one: %q, %v", got, err)
	}
}
