package wasm

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// guestState is the host's side of a guest, which a snapshot carries along with the memory.
type guestState struct {
	started bool
	settled bool
	nextID  uint64              // the last request's ID
	pending map[uint64]struct{} // unanswered requests
	output  int64               // payload bytes of output kept so far
}

// settle removes a request from the unanswered ones. false: it isn't one.
func (s *guestState) settle(id string) bool {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return false
	}
	_, ok := s.pending[n]
	delete(s.pending, n)
	return ok
}

// legBuffer collects a running leg.
type legBuffer struct {
	requests     []Request
	requestBytes int64
	cancelled    []string
	output       []Output
	printed      int64 // bytes of output
	omitted      int64
	dropped      [2]int // values, texts
	overflow     bool
	value        []byte
	err          *GuestError
	unhandled    *GuestError
	fault        string
}

func (b *legBuffer) take(g *Guest) Leg {
	leg := Leg{
		Requests: b.requests, Cancelled: b.cancelled, Output: b.output, OmittedBytes: b.omitted,
		DroppedValues: b.dropped[0], DroppedTexts: b.dropped[1], Overflow: b.overflow,
		Settled: g.state.settled, Value: b.value, Err: b.err, Unhandled: b.unhandled,
	}
	if b.overflow {
		leg.Requests = nil
	}
	return leg
}

// hostOp implements hostOps.
func (g *Guest) hostOp(op, a, b string) (hostResult, string) {
	switch op {
	case "request":
		return g.request(a, b)
	case "cancel":
		g.cancel(a)
	case "output":
		g.print(a, b)
	case "settled":
		g.settled(a, b)
	case "sync":
		return g.lookUp(a, b), ""
	case "now":
		return hostResult{kind: resultNumber, num: float64(g.env.clock().UnixMilli())}, ""
	default:
		if g.leg.fault == "" {
			g.leg.fault = strings.TrimSpace(op + " " + a)
		}
	}
	return hostResult{}, ""
}

func (g *Guest) request(kind, payload string) (hostResult, string) {
	l := g.leg
	l.requestBytes += int64(len(payload))
	if len(g.state.pending) >= g.limits.Requests || l.requestBytes > g.limits.RequestBytes {
		l.overflow = true
		l.requests = nil
		return hostResult{}, "too many requests at a time"
	}
	g.state.nextID++
	id := strconv.FormatUint(g.state.nextID, 10)
	g.state.pending[g.state.nextID] = struct{}{}
	if !l.overflow {
		l.requests = append(l.requests, Request{ID: id, Kind: kind, Payload: []byte(payload)})
	}
	return hostResult{kind: resultString, str: id}, ""
}

// cancel forgets a request. One of this leg was never seen outside, so it just disappears.
func (g *Guest) cancel(id string) {
	if !g.state.settle(id) {
		return
	}
	for i, r := range g.leg.requests {
		if r.ID == id {
			g.leg.requests = append(g.leg.requests[:i], g.leg.requests[i+1:]...)
			return
		}
	}
	g.leg.cancelled = append(g.leg.cancelled, id)
}

func (g *Guest) print(kind, payload string) {
	payload = strings.ToValidUTF8(payload, "\ufffd")
	l := g.leg
	room := max(g.limits.OutputBytes-g.state.output, g.limits.LegOutputBytes-l.printed)
	omit := max(int64(len(payload))-room, 0)
	l.omitted += omit
	if room <= 0 {
		if kind == "json" {
			l.dropped[0]++
		} else {
			l.dropped[1]++
		}
		return
	}
	if omit > 0 {
		cut := room
		for cut > 0 && !utf8.RuneStart(payload[cut]) {
			cut--
			omit++
			l.omitted++
		}
		payload = payload[:cut]
		g.state.output, l.printed = max(g.state.output, g.limits.OutputBytes), max(l.printed, g.limits.LegOutputBytes)
	} else {
		g.state.output += int64(len(payload))
		l.printed += int64(len(payload))
	}
	l.output = append(l.output, Output{Kind: kind, Payload: []byte(payload), OmittedBytes: omit})
}

func (g *Guest) settled(how, payload string) {
	if g.state.settled {
		return
	}
	g.state.settled = true
	payload = strings.ToValidUTF8(payload, "\ufffd")
	if how == "error" {
		g.leg.err = parseGuestError(payload)
		return
	}
	g.leg.value = []byte(payload)
}

func (g *Guest) lookUp(method, payload string) hostResult {
	if g.sync == nil {
		return hostResult{kind: resultString, str: `{"error":{"name":"Error","message":"look-ups aren't available"}}`}
	}
	return hostResult{kind: resultString, str: string(g.sync(method, []byte(payload)))}
}
