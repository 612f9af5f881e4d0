package cell

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/codecell/codecell/schemas"
	"github.com/codecell/codecell/wasm"
)

// intake has one row for each kind of request that the machine works on. Every other kind is local: the
// run answers it at once.
var intake = map[string]func(payload []byte) (Request, bool){
	"call":  takeCall,
	"timer": takeTimer,
	"yield": takeYield,
}

// sort puts a guest's request where it belongs: to the machine's, or, answered, to the local ones. A
// payload that the controller can't have made is refused.
func (g *guest) sort(end *LegDone, r wasm.Request) {
	take, ok := intake[r.Kind]
	if !ok {
		a := g.port.Local(r.Kind, r.Payload, g.untrusted)
		g.untrusted = g.untrusted || a.Untrusted
		end.Untrusted = end.Untrusted || a.Untrusted
		end.Local = append(end.Local, Settlement{ID: r.ID, Value: a.Value, Err: a.Err, local: true})
		return
	}
	q, ok := take(r.Payload)
	if !ok {
		wrong := "malformed " + r.Kind + " request"
		if r.Kind == "call" {
			wrong += ": JSON may be nested 10000 levels deep at most"
		}
		end.Local = append(end.Local, Settlement{ID: r.ID, Err: &schemas.CallError{
			Code: schemas.CallInvalidInput, Name: "TypeError", Message: wrong, Location: "input", Effect: schemas.NotStarted,
		}})
		return
	}
	q.ID = r.ID
	end.Requests = append(end.Requests, q)
}

// callsIn picks the calls among requests.
func callsIn(requests []wasm.Request) (calls []Request) {
	for _, r := range requests {
		if r.Kind != "call" {
			continue
		}
		if q, ok := takeCall(r.Payload); ok {
			calls = append(calls, Request{ID: r.ID, Kind: q.Kind, Ref: q.Ref})
		}
	}
	return calls
}

// takeCall reads {"ref":N,"args":…}. The controller writes it in exactly this way, which spares a copy
// of large arguments; they are still checked to be one JSON value.
func takeCall(payload []byte) (Request, bool) {
	rest, ok := bytes.CutPrefix(payload, []byte(`{"ref":`))
	number, args, found := bytes.Cut(rest, []byte(`,"args":`))
	args, closed := bytes.CutSuffix(args, []byte("}"))
	ref, err := strconv.ParseUint(string(number), 10, 31)
	if !ok || !found || !closed || err != nil || len(number) > 1 && number[0] == '0' || !json.Valid(args) {
		return Request{}, false
	}
	return Request{Kind: CallRequest, Ref: int(ref), Args: args}, true
}

// maxDelay is the longest delay of a timer: what JavaScript's own timers allow.
const maxDelay = math.MaxInt32 * time.Millisecond

// takeTimer reads {"delayMs":N}.
func takeTimer(payload []byte) (Request, bool) {
	var p struct{ DelayMs float64 }
	if json.Unmarshal(payload, &p) != nil {
		return Request{}, false
	}
	ms := min(max(p.DelayMs, 0), float64(maxDelay/time.Millisecond))
	return Request{Kind: TimerRequest, Delay: time.Duration(ms * float64(time.Millisecond))}, true
}

// takeYield reads {"reason":…} or {}.
func takeYield(payload []byte) (Request, bool) {
	var p struct{ Reason json.RawMessage }
	if json.Unmarshal(payload, &p) != nil {
		return Request{}, false
	}
	return Request{Kind: YieldRequest, Reason: schemas.JSON(p.Reason)}, true
}
