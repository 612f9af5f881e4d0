package bus

import (
	"fmt"
	"strings"

	"github.com/codecell/codecell/schemas"
)

// Row is one subject of the table: what it carries and who listens.
type Row struct {
	// Verb is what follows the prefix, such as "exec" or "feed.cell.started".
	Verb string
	// Address names the tokens after the verb.
	Address []string
	// Queue is the queue group of the listeners: empty if all of them hear every message.
	Queue string
	// New gives a new value of the message's type, NewReply one of its answer's; nil if the
	// subject carries none.
	New, NewReply func() any
}

// Pattern is the row as people read it: "codecell.v1.exec.<host>.<run>".
func (r *Row) Pattern() string {
	var b strings.Builder
	b.WriteString(Prefix + r.Verb)
	for _, a := range r.Address {
		b.WriteString(".<" + a + ">")
	}
	return b.String()
}

// Rows is the table of all subjects, one Go type each.
func Rows() []Row { return append([]Row(nil), rows...) }

func of[T any]() func() any { return func() any { return new(T) } }

var rows = []Row{
	{Verb: verbOpen, Queue: HostQueue, New: of[schemas.Open](), NewReply: of[schemas.Opened]()},
	{Verb: verbExec, Address: onRun, New: of[schemas.Exec](), NewReply: of[schemas.Result]()},
	{Verb: verbDirect, Address: onRun, New: of[schemas.Direct](), NewReply: of[schemas.Directed]()},
	{Verb: verbWait, Address: onCell, New: of[schemas.Wait](), NewReply: of[schemas.Result]()},
	{Verb: verbCancel, Address: onCell, New: of[schemas.Cancel](), NewReply: of[schemas.Ack]()},
	{Verb: verbClose, Address: onRun, New: of[schemas.Close](), NewReply: of[schemas.Ack]()},
	{Verb: verbHold, Address: onRun, New: of[schemas.Hold](), NewReply: of[schemas.Ack]()},
	{Verb: verbBring, Address: onRun, New: of[schemas.Bring](), NewReply: of[schemas.Brought]()},
	{Verb: verbClient, Address: onClient, New: of[schemas.Call](), NewReply: of[schemas.Answer]()},
	{Verb: verbAlive, Address: onClient, New: of[schemas.Ping](), NewReply: of[schemas.Pong]()},
	{Verb: verbDescribe, Address: onRun, New: of[schemas.Describe](), NewReply: of[schemas.Described]()},
	{Verb: verbSearch, Address: onRun, New: of[schemas.Search](), NewReply: of[schemas.Found]()},
	{Verb: verbStatus, New: of[schemas.StatusAsk](), NewReply: of[schemas.HostStatus]()},
	{Verb: verbStatus, Address: onHost, New: of[schemas.StatusAsk](), NewReply: of[schemas.HostStatus]()},
	{Verb: verbTool, Address: []string{"owner", "name"}, Queue: "tool-<owner>", New: of[schemas.Call](), NewReply: of[schemas.Answer]()},
	{Verb: verbScope, Address: []string{"owner", "namespace"}, Queue: "tool-<owner>", New: of[schemas.ScopeAsk](), NewReply: of[schemas.Scope]()},
	{Verb: verbStop, Address: []string{"owner", "host", "cell", "call"}, New: of[schemas.Stop]()},
	{Verb: verbExecutor, Address: onExecutor, New: of[schemas.Ping](), NewReply: of[schemas.Pong]()},
	{Verb: verbReply, Address: onCall, New: of[schemas.Answer]()},
	{Verb: verbHook, Address: []string{"phase", "hook"}, Queue: "hook-<hook>", New: of[schemas.HookEvent](), NewReply: of[schemas.Verdict]()},
	{Verb: verbDecide, Address: []string{"executor", "approval"}, New: of[schemas.Decision](), NewReply: of[schemas.Ack]()},
	{Verb: verbNode, Address: onNode, New: of[schemas.NodeCall](), NewReply: of[schemas.Sealed]()},
	{Verb: verbProbe, Address: onNode, New: of[schemas.Ping](), NewReply: of[schemas.Pong]()},
	{Verb: verbSession, Address: []string{"session"}, New: of[schemas.SessionBatch]()},

	{Verb: "feed.run.opened", Address: onRun, New: of[schemas.RunOpened]()},
	{Verb: "feed.run.closed", Address: onRun, New: of[schemas.RunClosed]()},
	{Verb: "feed.turn.started", Address: onRun, New: of[schemas.TurnStarted]()},
	{Verb: "feed.turn.requested", Address: onRun, New: of[schemas.TurnRequested]()},
	{Verb: "feed.turn.ended", Address: onRun, New: of[schemas.TurnEnded]()},
	{Verb: "feed.cell.noted", Address: onCell, New: of[schemas.CellNoted]()},
	{Verb: "feed.cell.started", Address: onCell, New: of[schemas.CellStarted]()},
	{Verb: "feed.cell.parked", Address: onCell, New: of[schemas.CellParked]()},
	{Verb: "feed.cell.resumed", Address: onCell, New: of[schemas.CellResumed]()},
	{Verb: "feed.cell.ended", Address: onCell, New: of[schemas.CellEnded]()},
	{Verb: "feed.call.sent", Address: onCall, New: of[schemas.CallSent]()},
	{Verb: "feed.call.started", Address: onCall, New: of[schemas.CallStarted]()},
	{Verb: "feed.call.progressed", Address: onCall, New: of[schemas.CallProgressed]()},
	{Verb: "feed.call.ended", Address: onCall, New: of[schemas.CallEnded]()},
	{Verb: "feed.approval.opened", Address: onCall, New: of[schemas.ApprovalOpened]()},
	{Verb: "feed.approval.closed", Address: onCall, New: of[schemas.ApprovalClosed]()},
	{Verb: "feed.approval.used", Address: onCall, New: of[schemas.GrantUsed]()},
	{Verb: "feed.slot.taken", Address: onHost, New: of[schemas.SlotTaken]()},
	{Verb: "feed.slot.freed", Address: onHost, New: of[schemas.SlotFreed]()},
	{Verb: "feed.host.started", Address: onHost, New: of[schemas.HostStarted]()},
	{Verb: "feed.host.stopped", Address: onHost, New: of[schemas.HostStopped]()},
	{Verb: "feed.executor.joined", Address: onExecutor, New: of[schemas.ExecutorJoined]()},
	{Verb: "feed.executor.left", Address: onExecutor, New: of[schemas.ExecutorLeft]()},
	{Verb: "feed.executor.trouble", Address: onExecutor, New: of[schemas.ExecutorTrouble]()},
}

var (
	onHost     = []string{"host"}
	onRun      = []string{"host", "run"}
	onClient   = []string{"host", "run", "client"}
	onCell     = []string{"host", "cell"}
	onCall     = []string{"host", "cell", "call"}
	onExecutor = []string{"executor"}
	onNode     = []string{"node"}
)

// FactSubject is the subject of a fact, a pointer to one of the types of the feed rows:
// the address is read from the fact itself, so that a fact can't be told on another's subject.
func FactSubject(fact any) (string, error) {
	switch f := fact.(type) {
	case *schemas.RunOpened:
		return join2("feed.run.opened", f.Host, f.Run), nil
	case *schemas.RunClosed:
		return join2("feed.run.closed", f.Host, f.Run), nil
	case *schemas.TurnStarted:
		return join2("feed.turn.started", f.Host, f.Run), nil
	case *schemas.TurnRequested:
		return join2("feed.turn.requested", f.Host, f.Run), nil
	case *schemas.TurnEnded:
		return join2("feed.turn.ended", f.Host, f.Run), nil
	case *schemas.CellNoted:
		return onCellOf("feed.cell.noted", f.Address), nil
	case *schemas.CellStarted:
		return onCellOf("feed.cell.started", f.Address), nil
	case *schemas.CellParked:
		return onCellOf("feed.cell.parked", f.Address), nil
	case *schemas.CellResumed:
		return onCellOf("feed.cell.resumed", f.Address), nil
	case *schemas.CellEnded:
		return onCellOf("feed.cell.ended", f.Address), nil
	case *schemas.CallSent:
		return onCellOf("feed.call.sent", f.Address) + "." + clean(f.Call), nil
	case *schemas.CallStarted:
		return onCellOf("feed.call.started", f.Address) + "." + clean(f.Call), nil
	case *schemas.CallEnded:
		return onCellOf("feed.call.ended", f.Address) + "." + clean(f.Call), nil
	case *schemas.CallProgressed:
		return onCellOf("feed.call.progressed", f.Address) + "." + clean(f.Call), nil
	case *schemas.ApprovalOpened:
		return onCellOf("feed.approval.opened", f.Address) + "." + clean(f.Call), nil
	case *schemas.ApprovalClosed:
		return onCellOf("feed.approval.closed", f.Address) + "." + clean(f.Call), nil
	case *schemas.GrantUsed:
		return onCellOf("feed.approval.used", f.Address) + "." + clean(f.Call), nil
	case *schemas.SlotTaken:
		return join1("feed.slot.taken", f.Host), nil
	case *schemas.SlotFreed:
		return join1("feed.slot.freed", f.Host), nil
	case *schemas.HostStarted:
		return join1("feed.host.started", f.Host), nil
	case *schemas.HostStopped:
		return join1("feed.host.stopped", f.Host), nil
	case *schemas.ExecutorJoined:
		return join1("feed.executor.joined", f.Executor), nil
	case *schemas.ExecutorLeft:
		return join1("feed.executor.left", f.Executor), nil
	case *schemas.ExecutorTrouble:
		return join1("feed.executor.trouble", f.Executor), nil
	}
	return "", fmt.Errorf("%T is not a fact: pass a pointer to one of the types of schemas/fact.go", fact)
}

func onCellOf(verb string, a schemas.Address) string { return join2(verb, a.Host, a.Cell) }
