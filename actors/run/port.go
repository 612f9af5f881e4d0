package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"

	"github.com/codecell/codecell/actors/cell"
	"github.com/codecell/codecell/schemas"
)

// port is one cell's way to its run. What it reads never changes while the cell lives, so the
// cell's actor and its leg goroutine may both use it.
type port struct {
	env         Env
	identity    schemas.Identity
	address     schemas.Address
	admission   *Admission
	parent      string
	trace       string
	restartSafe bool
	counters    *counters
	// calls is nil unless hooks see the answers of the run's programs.
	calls *callLog
	// results are the run's. store is nil without a session; sessionErr says why a bound run has none.
	results    *results
	store      *storage
	sessionErr error
}

var _ cell.Port = (*port)(nil)

// Dispatch hands a call to the executors of its tool. The ref comes from the guest: it may be any
// number.
func (p *port) Dispatch(c cell.Call) *schemas.CallError {
	entry, ok := p.admission.Catalog.Callable(c.Ref)
	if !ok {
		return &schemas.CallError{
			Code: schemas.CallInvalidInput, Location: "input", Effect: schemas.NotStarted,
			Message: "no such tool in this run's catalog; find tools with catalog.search(query)",
		}
	}
	if p.restartSafe && !replaySafe(&entry.Tool) {
		return &schemas.CallError{
			Code: schemas.CallInvalidInput, Location: "policy", Effect: schemas.NotStarted,
			Message: entry.CallableName + " is not marked replay-safe by its owner, so a restart-safe cell can't call it; " +
				"run the program without restartSafe",
		}
	}
	call := &schemas.Call{
		ID: c.ID, Address: p.address, Source: entry.Source, Owner: entry.Owner, Tool: entry.Name,
		Args: c.Args, Identity: p.identity, ParentID: p.parent, TraceParent: p.trace,
		BudgetMs: c.Budget.Milliseconds(),
	}
	if entry.Idempotent {
		call.IdempotencyKey = p.address.Cell + "." + c.ID
	}
	p.counters.call.Add(1)
	p.calls.sent(call.ID, entry.CallableName)
	if err := p.env.Send(call, nil); err != nil {
		return err
	}
	p.env.Fact(&schemas.CallSent{
		At: time.Now().UnixNano(), Address: p.address, Call: c.ID,
		Source: entry.Source, Owner: entry.Owner, Tool: entry.Name,
	})
	return nil
}

// replaySafe tells whether a tool's owner vouches that running it again changes nothing. An MCP
// server's word isn't taken (R1).
func replaySafe(t *schemas.Tool) bool { return t.ReplaySafe && t.Source == schemas.SourceNative }

// Cancel withdraws a call. The host keeps the owner with the call.
func (p *port) Cancel(call string) {
	p.env.Withdraw(p.address, call)
}

// Tool is the callable name of a ref.
func (p *port) Tool(ref int) string {
	entry, ok := p.admission.Catalog.Callable(ref)
	if !ok {
		return ""
	}
	return entry.CallableName
}

// Local answers searches and descriptions from the admitted catalog, and what has to do with kept values.
func (p *port) Local(kind string, payload schemas.JSON, tainted bool) cell.Local {
	switch kind {
	case "search":
		p.counters.search.Add(1)
		return p.search(payload)
	case "describe":
		p.counters.describe.Add(1)
		return p.describe(payload)
	case "store", "load":
		return p.storeLocal(kind, payload, tainted)
	case "results.save", "results.load", "results.delete":
		return p.resultsLocal(kind, payload, tainted)
	}
	return refuse("Error", "unknown request "+kind)
}

func (p *port) search(payload schemas.JSON) cell.Local {
	records, untrusted, err := p.admission.Catalog.SearchRequest(payload)
	if err != nil {
		return refuse("TypeError", messageOf(err))
	}
	return cell.Local{Value: records, Untrusted: untrusted}
}

func (p *port) describe(payload schemas.JSON) cell.Local {
	var ask struct {
		Ref *int `json:"ref"`
	}
	if err := json.Unmarshal(payload, &ask); err != nil || ask.Ref == nil {
		return refuse("TypeError", "describe wants a tool handle")
	}
	value, err := p.admission.Catalog.Describe(*ask.Ref)
	if err != nil {
		return refuse("Error", messageOf(err))
	}
	return cell.Local{Value: value, Untrusted: p.untrusted(*ask.Ref)}
}

func (p *port) untrusted(ref int) bool {
	entry, ok := p.admission.Catalog.Tool(ref)
	return ok && entry.Untrusted()
}

// messageOf is what a program reads of an error: the code has a field of its own.
func messageOf(err error) string {
	if known, ok := errors.AsType[*schemas.Error](err); ok {
		return known.Message
	}
	return err.Error()
}

func refuse(name, message string) cell.Local {
	return cell.Local{Err: &schemas.CallError{
		Code: schemas.CallInvalidInput, Name: name, Message: message, Location: "input", Effect: schemas.NotStarted,
	}}
}

// Sync answers an immediate look-up.
func (p *port) Sync(method string, payload []byte) (answer []byte, untrusted bool) {
	return p.admission.Catalog.SyncTrust(method, payload)
}

// Awaits tells whether the call keeps its cell open until it has its result (Q4). In the background it doesn't.
func (p *port) Awaits(ref int, args schemas.JSON) bool {
	entry, ok := p.admission.Catalog.Callable(ref)
	if !ok || !entry.Awaitable || entry.Source != schemas.SourceNative || !bytes.Contains(args, []byte(`"awaitResults"`)) {
		return false
	}
	var given map[string]json.RawMessage
	return json.Unmarshal(args, &given) == nil && string(given["awaitResults"]) == "true" && string(given["background"]) != "true"
}

// Settled tells how a call has ended.
func (p *port) Settled(s cell.Settled) { p.calls.settled(s.ID, s.Outcome) }

// DryRun lists the calls of a dry run.
func (p *port) DryRun() *schemas.DryRun { return nil }

// Telemetry gives the run's part of a result's telemetry.
func (p *port) Telemetry() schemas.Telemetry {
	return p.counters.telemetry(p.admission.Catalog)
}

// Fact publishes a fact.
func (p *port) Fact(fact any) { p.env.Fact(fact) }
