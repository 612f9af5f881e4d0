package bus_test

import (
	"testing"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// A run is there if its host says so; a host that isn't there, and one that has never heard of it, mean no.
func TestSpec_G10_HasRun(t *testing.T) {
	conn := bustest.Conn(t)
	host := bus.NewHostID()
	run, ended := bus.NewRunID(host), bus.NewRunID(host)
	sub, err := bus.Serve(conn, bus.OnHost(bus.SearchSubject, host), "", func(r *bus.Request[schemas.Search, schemas.Found]) {
		found := &schemas.Found{}
		switch r.Subject {
		case bus.SearchSubject(host, run):
		case bus.SearchSubject(host, ended):
			found.Err = schemas.Refuse("", "there is no such run on this host")
		default: // it can't say what the catalog is, which doesn't mean that the run is gone
			found.Err = &schemas.Error{Code: schemas.RuntimeUnavailable, Message: "no image"}
		}
		_ = r.Respond(found)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sub.Close)
	other := bus.NewHostID()
	for _, tt := range []struct {
		host, run string
		want      bool
	}{{host, run, true}, {host, ended, false}, {host, bus.NewRunID(host), true}, {other, bus.NewRunID(other), false}} {
		if got, err := bus.NewClient(conn).HasRun(t.Context(), tt.host, tt.run); err != nil || got != tt.want {
			t.Errorf("%s: %v (%v)", tt.run, got, err)
		}
	}
}
