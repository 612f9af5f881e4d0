package bus

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// Service is what an executor shows of itself to stock NATS tools: `nats micro ls` lists it,
// `nats micro info` shows its endpoints with their metadata.
type Service struct {
	// Name and ID are tokens; Version is a semantic version.
	Name, ID, Version, Description string
	Endpoints                      []Endpoint
}

// Endpoint is one subject of a [Service].
type Endpoint struct {
	Name, Subject, Queue string
	Metadata             map[string]string
}

// Announcement answers discovery requests until it is closed.
type Announcement struct {
	subs []*nats.Subscription
}

// Announce answers the discovery requests for a service ($SRV.PING, INFO and STATS): current
// is asked for each, on a goroutine of the connection, and must not block. Its name and id
// must not change.
//
// Only the discovery protocol is spoken: a micro endpoint would time and wrap every request,
// knows no values above the payload limit, and can't be added and removed one by one.
// Requests are counted by the feed instead, so STATS tells no numbers. Metadata that would make an
// answer larger than a message may be is left out.
func Announce(c *Conn, current func() Service) (*Announcement, error) {
	a, s, started := &Announcement{}, current(), time.Now()
	for _, verb := range []micro.Verb{micro.PingVerb, micro.InfoVerb, micro.StatsVerb} {
		for _, at := range [][2]string{{}, {s.Name}, {s.Name, s.ID}} {
			subject, err := micro.ControlSubject(verb, at[0], at[1])
			if err != nil {
				a.Close()
				return nil, fmt.Errorf("announce service %s: %w", s.Name, err)
			}
			sub, err := c.nats.Subscribe(subject, func(m *nats.Msg) { c.discover(m, verb, current(), started) })
			if err != nil {
				a.Close()
				return nil, fmt.Errorf("announce service %s: %w", s.Name, err)
			}
			a.subs = append(a.subs, sub)
		}
	}
	if err := c.Flush(context.Background()); err != nil {
		a.Close()
		return nil, fmt.Errorf("announce service %s: %w", s.Name, err)
	}
	return a, nil
}

// Close stops answering.
func (a *Announcement) Close() {
	for _, s := range a.subs {
		_ = s.Unsubscribe() // fails only if closed already
	}
}

func (c *Conn) discover(m *nats.Msg, verb micro.Verb, s Service, started time.Time) {
	if m.Reply == "" {
		return
	}
	id := micro.ServiceIdentity{Name: s.Name, ID: s.ID, Version: s.Version, Metadata: map[string]string{}}
	var answer any
	switch verb {
	case micro.PingVerb:
		answer = micro.Ping{ServiceIdentity: id, Type: micro.PingResponseType}
	case micro.InfoVerb:
		answer = s.info(id, true)
	default:
		stats := micro.Stats{ServiceIdentity: id, Type: micro.StatsResponseType, Started: started.UTC(), Endpoints: []*micro.EndpointStats{}}
		for _, e := range s.Endpoints {
			stats.Endpoints = append(stats.Endpoints, &micro.EndpointStats{Name: e.Name, Subject: e.Subject, QueueGroup: e.Queue})
		}
		answer = stats
	}
	b, err := json.Marshal(answer)
	if err == nil && verb == micro.InfoVerb && int64(len(b)) > c.nats.MaxPayload() {
		b, err = json.Marshal(s.info(id, false))
	}
	if err == nil {
		err = m.Respond(b)
	}
	if err != nil {
		c.log.Warn("a discovery request couldn't be answered", "service", s.Name, "error", err)
	}
}

func (s *Service) info(id micro.ServiceIdentity, metadata bool) micro.Info {
	info := micro.Info{ServiceIdentity: id, Type: micro.InfoResponseType, Description: s.Description, Endpoints: []micro.EndpointInfo{}}
	for _, e := range s.Endpoints {
		end := micro.EndpointInfo{Name: e.Name, Subject: e.Subject, QueueGroup: e.Queue}
		if metadata {
			end.Metadata = e.Metadata
		}
		info.Endpoints = append(info.Endpoints, end)
	}
	return info
}
