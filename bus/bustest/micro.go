package bustest

import (
	"testing"

	"github.com/nats-io/nats.go/micro"

	"github.com/codecell/codecell/bus"
)

// MicroEndpoint is one endpoint of [Micro].
type MicroEndpoint struct {
	// Name is the endpoint's, and its subject if Subject is empty.
	Name, Subject string
	Metadata      map[string]string
	// Handle is called for each request, one after the other. A request for which it gives nil is never answered.
	Handle func(body []byte, header map[string][]string) *MicroAnswer
}

// MicroAnswer is an answer, or an error of a micro service if it has a code.
type MicroAnswer struct {
	Body              []byte
	Code, Description string
}

// Micro runs an instance of a micro service, as the library for Go does, until stop is called or the test ends.
func Micro(t testing.TB, c *bus.Conn, name, version string, endpoints ...MicroEndpoint) (stop func()) {
	t.Helper()
	service, err := micro.AddService(c.NATS(), micro.Config{Name: name, Version: version, Description: "a service of a test"})
	if err != nil {
		t.Fatal(err)
	}
	stop = func() { _ = service.Stop() } // fails only if the connection is closed, which stops it as well
	t.Cleanup(stop)
	for _, e := range endpoints {
		options := []micro.EndpointOpt{micro.WithEndpointMetadata(e.Metadata)}
		if e.Subject != "" {
			options = append(options, micro.WithEndpointSubject(e.Subject))
		}
		handle := func(req micro.Request) {
			switch a := e.Handle(req.Data(), req.Headers()); {
			case a == nil:
			case a.Code != "":
				_ = req.Error(a.Code, a.Description, a.Body)
			default:
				_ = req.Respond(a.Body)
			}
		}
		if err := service.AddEndpoint(e.Name, micro.HandlerFunc(handle), options...); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return stop
}
