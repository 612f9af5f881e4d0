package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"

	"github.com/codecell/codecell/actors/catalog"
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
	decide      func(*schemas.Tool) error // nil unless the run is a restricted one
	record      *record                   // nil unless the run is bound
	// calls is nil unless hooks see the answers of the run's programs.
	calls *callLog
	// gate is nil unless a tool of the run is sequential; dry and playbill are nil unless the run is a dry one.
	gate     *gate
	kept     map[string]*schemas.Call // that wait at the gate, by id; the cell's actor's
	dry      *understudies
	playbill *playbill
	// deliver tells the cell of one of its calls, from any goroutine but not within a call by the cell.
	deliver func(*schemas.Answer)
	// results are the run's. store is nil without a session; sessionErr says why a bound run has none.
	results    *results
	store      *storage
	sessionErr error
	skills     *Skills // nil without any
	// searching: the program is one of Tool Search, which has none of these.
	searching bool
	// older: the program is one of [schemas.Contract202607], which can't load results.
	older bool
	notes notes
}

var _ cell.Port = (*port)(nil)

// Dispatch hands a call to the executors of its tool. The ref comes from the guest: it may be any
// number.
func (p *port) Dispatch(c cell.Call) *schemas.CallError {
	if c.Turn {
		return p.sendKept(c)
	}
	entry, ok := p.admission.Catalog.Callable(c.Ref)
	if !ok {
		p.record.call(c, nil, false)
		return &schemas.CallError{
			Code: schemas.CallInvalidInput, Location: "input", Effect: schemas.NotStarted,
			Message: "no such tool in this run's catalog; find tools with catalog.search(query)",
		}
	}
	p.record.call(c, &entry.Tool, p.dry != nil && !replaySafe(&entry.Tool))
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
		BudgetMs: c.Budget.Milliseconds(), Bound: p.record != nil,
	}
	if entry.Idempotent {
		call.IdempotencyKey = p.address.Cell + "." + c.ID
	}
	p.counters.called(entry)
	if err := blocked(p.decide, &entry.Tool, entry.CallableName); err != nil {
		return err
	}
	p.calls.sent(call.ID, entry.CallableName)
	switch {
	case p.dry != nil && p.rehearse(entry, call):
		return nil
	case p.gate != nil:
		return p.queue(call, entry.Sequential)
	}
	return p.send(call)
}

// send hands a call to the executors, and tells the feed.
func (p *port) send(call *schemas.Call) *schemas.CallError {
	if err := p.env.Send(call, nil); err != nil {
		return err
	}
	p.env.Fact(&schemas.CallSent{
		At: time.Now().UnixNano(), Address: p.address, Call: call.ID,
		Source: call.Source, Owner: call.Owner, Tool: call.Tool,
	})
	return nil
}

// queue sends a call if it is its turn, and keeps it back if it isn't.
func (p *port) queue(call *schemas.Call, sequential bool) *schemas.CallError {
	if p.gate.enter(&gated{
		key: gateKey{p.address.Cell, call.ID}, sequential: sequential,
		turn: func() { p.deliver(&schemas.Answer{ID: call.ID, State: cell.ItsTurn}) },
	}) {
		return p.send(call)
	}
	if p.kept == nil {
		p.kept = make(map[string]*schemas.Call)
	}
	p.kept[call.ID] = call
	return cell.KeptBack
}

// sendKept sends a call whose turn has come.
func (p *port) sendKept(c cell.Call) *schemas.CallError {
	call := p.kept[c.ID]
	delete(p.kept, c.ID)
	call.BudgetMs = c.Budget.Milliseconds()
	return p.send(call)
}

// equip gives a cell's port what only some runs need.
func (r *run) equip(p *port, deliver func(*schemas.Answer)) {
	p.deliver = deliver
	if p.admission.Sequential {
		p.gate = r.gate
	}
	if r.dry != nil {
		p.dry, p.playbill = r.dry, newPlaybill()
	}
}

// rehearse lists a call of a dry run, and tells whether it is answered by a placeholder: what isn't replay-safe isn't called.
func (p *port) rehearse(entry *catalog.Entry, call *schemas.Call) bool {
	fake := !replaySafe(&entry.Tool)
	p.playbill.add(call.ID, entry.CallableName, call.Args, fake)
	if fake {
		go func() { p.deliver(p.dry.answer(&entry.Tool, entry.CallableName, call)) }()
	}
	return fake
}

// replaySafe tells whether a tool's owner vouches that running it again changes nothing. An MCP
// server's word isn't taken (R1).
func replaySafe(t *schemas.Tool) bool { return t.ReplaySafe && t.Source == schemas.SourceNative }

// Cancel withdraws a call. The host keeps the owner with the call, and knows nothing of one that wasn't sent.
func (p *port) Cancel(call string) {
	p.env.Withdraw(p.address, call)
	if p.gate != nil {
		p.gate.cancel(gateKey{p.address.Cell, call})
	}
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
	if p.searching && !toolSearchLocal[kind] {
		return refuse("Error", "unknown request "+kind)
	}
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
	case "skills.list", "skills.read", "skills.search":
		return p.skillsLocal(kind, payload)
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
	switch {
	case p.searching:
		return p.admission.Catalog.FindTool(method, payload, p.admission.shown())
	case method == noteMethod:
		return p.note(payload), false
	}
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

// Settled tells how a call has ended. Others may wait for that.
func (p *port) Settled(s cell.Settled) {
	p.calls.settled(s.ID, s.Outcome)
	p.record.settled(&s)
	if p.gate != nil {
		p.gate.leave(gateKey{p.address.Cell, s.ID})
	}
}

// DryRun lists the calls of a dry run.
func (p *port) DryRun() *schemas.DryRun {
	if p.playbill == nil {
		return nil
	}
	return p.playbill.copied()
}

// Telemetry gives the run's part of a result's telemetry.
func (p *port) Telemetry() schemas.Telemetry {
	return p.counters.telemetry(p.admission)
}

// Fact publishes a fact. The end of a call is one only if the call was.
func (p *port) Fact(fact any) {
	if ended, ok := fact.(*schemas.CallEnded); ok && p.playbill != nil && !p.playbill.made(ended.Call) {
		return
	}
	p.env.Fact(fact)
}
