package bus_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/micro"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
)

// TestAnnounce asks as `nats micro` does.
func TestAnnounce(t *testing.T) {
	c := bustest.Conn(t)
	large := false
	a, err := bus.Announce(c, func() bus.Service {
		e := bus.Endpoint{Name: "read", Subject: "codecell.v1.tool.core.read", Queue: "tool-core", Metadata: map[string]string{"inputSchema": `{"type":"object"}`}}
		if large {
			e.Metadata["inputSchema"] = strings.Repeat("x", 2<<20)
		}
		return bus.Service{Name: "codecell-executor", ID: "e1", Version: "1.0.0", Endpoints: []bus.Endpoint{e}}
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	ask := func(subject string, into any) {
		t.Helper()
		m, err := c.NATS().RequestWithContext(ctx, subject, nil)
		if err == nil {
			err = json.Unmarshal(m.Data, into)
		}
		if err != nil {
			t.Fatalf("%s: %v", subject, err)
		}
	}
	for _, at := range []string{"", ".codecell-executor", ".codecell-executor.e1"} {
		var ping micro.Ping
		if ask("$SRV.PING"+at, &ping); ping.ID != "e1" || ping.Type != micro.PingResponseType {
			t.Errorf("PING%s: %+v", at, ping)
		}
		var info micro.Info
		if ask("$SRV.INFO"+at, &info); len(info.Endpoints) != 1 || info.Endpoints[0].Metadata["inputSchema"] == "" {
			t.Errorf("INFO%s: %+v", at, info)
		}
		var stats micro.Stats
		if ask("$SRV.STATS"+at, &stats); len(stats.Endpoints) != 1 || stats.Endpoints[0].Subject != "codecell.v1.tool.core.read" {
			t.Errorf("STATS%s: %+v", at, stats)
		}
	}
	large = true
	var info micro.Info
	if ask("$SRV.INFO", &info); len(info.Endpoints) != 1 || info.Endpoints[0].Metadata != nil {
		t.Errorf("INFO above the payload limit: %+v", info)
	}
	a.Close()
	if _, err := c.NATS().RequestWithContext(ctx, "$SRV.PING", nil); err == nil {
		t.Error("answered after Close")
	}
}
