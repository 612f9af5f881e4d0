package bus

import (
	"strings"

	"github.com/codecell/codecell/schemas"
)

// Prefix begins every subject of this version.
const Prefix = "codecell.v1."

// Verbs: the first token after the prefix, so that a permission is a prefix (U7).
const (
	verbOpen     = "open"
	verbExec     = "exec"
	verbDirect   = "direct"
	verbWait     = "wait"
	verbCancel   = "cancel"
	verbClose    = "close"
	verbHold     = "hold"
	verbBring    = "bring"
	verbClient   = "client"
	verbAlive    = "alive"
	verbDescribe = "describe"
	verbSearch   = "search"
	verbStatus   = "status"
	verbTool     = "tool"
	verbScope    = "scope"
	verbStop     = "stop"
	verbExecutor = "executor"
	verbReply    = "reply"
	verbHook     = "hook"
	verbDecide   = "decide"
	verbNode     = "node"
	verbProbe    = "probe"
	verbSession  = "session"
	verbFeed     = "feed"
)

// HostQueue is the queue group of the hosts on [OpenSubject].
const HostQueue = "host"

// OpenSubject asks any host: Open → Opened, queue group [HostQueue].
func OpenSubject() string { return Prefix + verbOpen }

// ExecSubject starts a cell in a run: Exec → Result.
func ExecSubject(host, run string) string { return join2(verbExec, host, run) }

// DirectSubject calls a direct-only tool for a run: Direct → Directed.
func DirectSubject(host, run string) string { return join2(verbDirect, host, run) }

// WaitSubject continues a parked cell: Wait → Result.
func WaitSubject(host, cell string) string { return join2(verbWait, host, cell) }

// CancelSubject ends a cell: Cancel → Ack.
func CancelSubject(host, cell string) string { return join2(verbCancel, host, cell) }

// CloseSubject ends a run: Close → Ack.
func CloseSubject(host, run string) string { return join2(verbClose, host, run) }

// HoldSubject tells a run that its caller is there: Hold → Ack.
func HoldSubject(host, run string) string { return join2(verbHold, host, run) }

// BringSubject brings a caller's tools for a run: Bring → Brought.
func BringSubject(host, run string) string { return join2(verbBring, host, run) }

// ClientSubject carries the calls of the tools that a client brought for a run: Call → Answer. The host derives it, so that
// no message can have it call anywhere else.
func ClientSubject(host, run, client string) string { return join3(verbClient, host, run, client) }

// AliveSubject asks such a client whether it is there: Ping → Pong.
func AliveSubject(host, run, client string) string { return join3(verbAlive, host, run, client) }

// DescribeSubject asks for a run's surface and catalog: Describe → Described.
func DescribeSubject(host, run string) string { return join2(verbDescribe, host, run) }

// SearchSubject searches a run's catalog: Search → Found.
func SearchSubject(host, run string) string { return join2(verbSearch, host, run) }

// HostsSubject asks every host: StatusAsk → HostStatus from each.
func HostsSubject() string { return Prefix + verbStatus }

// StatusSubject asks one host: StatusAsk → HostStatus.
func StatusSubject(host string) string { return join1(verbStatus, host) }

// ToolSubject carries the calls of one tool: Call → Answer, queue group [ToolQueue].
func ToolSubject(source schemas.Source, owner, tool string) string {
	return join2(verbTool, OwnerToken(source, owner), Token(tool))
}

// ToolQueue is the queue group of the executors of an owner.
func ToolQueue(source schemas.Source, owner string) string {
	return verbTool + "-" + OwnerToken(source, owner)
}

// ScopeSubject asks the owner of a namespace what it holds for a run: ScopeAsk → Scope, queue group [ToolQueue].
func ScopeSubject(owner, namespace string) string {
	return join2(verbScope, OwnerToken(schemas.SourceNative, owner), Token(namespace))
}

// StopSubject tells all executors of an owner (an [OwnerToken]) that a call isn't wanted any more: Stop.
func StopSubject(ownerToken, host, cell, call string) string {
	return join4(verbStop, ownerToken, host, cell, call)
}

// ExecutorSubject reaches one executor: Ping → Pong.
func ExecutorSubject(executor string) string { return join1(verbExecutor, executor) }

// ReplySubject is where the answers of one call go: Answer.
func ReplySubject(host, cell, call string) string {
	return join3(verbReply, host, cell, call)
}

// HookSubject asks one hook in a phase: HookEvent → Verdict, queue group [HookQueue].
func HookSubject(phase, hook string) string { return join2(verbHook, phase, hook) }

// HookQueue is the queue group of the processes that are one hook.
func HookQueue(hook string) string { return verbHook + "-" + clean(hook) }

// DecideSubject takes the decision about an approval that an executor waits for: Decision → Ack.
func DecideSubject(executor, approval string) string { return join2(verbDecide, executor, approval) }

// DecisionsFor is the pattern of all decisions for an executor.
func DecisionsFor(executor string) string { return join1(verbDecide, executor) + ".*" }

// NodeSubject calls a node, by its public key: NodeCall → Sealed, which holds a NodeOutcome.
func NodeSubject(node string) string { return join1(verbNode, node) }

// ProbeSubject asks a node whether it is there: Ping → Pong.
func ProbeSubject(node string) string { return join1(verbProbe, node) }

// SessionSubject keeps the transcript of one session, by its key: SessionBatch, in the sessions stream.
func SessionSubject(key string) string { return join1(verbSession, Token(key)) }

// AllSessions is the pattern of all transcripts.
func AllSessions() string { return Prefix + verbSession + ".*" }

// OnHost is the pattern of all subjects of one host and verb, such as every exec:
// OnHost(ExecSubject, host).
func OnHost(build func(host, id string) string, host string) string {
	s := build(host, "x")
	return s[:len(s)-1] + "*"
}

// RepliesTo is the pattern of all answers to one host's calls.
func RepliesTo(host string) string { return join1(verbReply, host) + ".>" }

// StopsOf is the pattern of all stops for an owner's executors.
func StopsOf(ownerToken string) string { return join1(verbStop, ownerToken) + ".>" }

// Everything is the pattern of all subjects of this version. It is for tests: who subscribes
// to a request's subject counts as somebody who listens, so a request that nobody serves
// isn't told so at once any more. Watch [Facts] instead.
func Everything() string { return Prefix + ">" }

// Facts is the pattern of facts: all of them, or those of one noun ("cell"), or of one kind of
// a noun ("cell", "ended").
func Facts(nounKind ...string) string {
	tokens := []string{Prefix + verbFeed}
	for _, t := range nounKind {
		tokens = append(tokens, clean(t))
	}
	return strings.Join(append(tokens, ">"), ".")
}

func join1(verb, a string) string    { return Prefix + verb + "." + clean(a) }
func join2(verb, a, b string) string { return Prefix + verb + "." + clean(a) + "." + clean(b) }
func join3(verb, a, b, c string) string {
	return Prefix + verb + "." + clean(a) + "." + clean(b) + "." + clean(c)
}
func join4(verb, a, b, c, d string) string {
	return Prefix + verb + "." + clean(a) + "." + clean(b) + "." + clean(c) + "." + clean(d)
}
