package schemas

import "time"

// ApprovalState is where an approval is.
type ApprovalState string

const (
	ApprovalPending  ApprovalState = "pending"
	ApprovalApproved ApprovalState = "approved"
	ApprovalDenied   ApprovalState = "denied"
	// ApprovalExpired: nobody decided in time.
	ApprovalExpired ApprovalState = "expired"
	// ApprovalCancelled: the call that asked isn't wanted any more, or its executor has shut down.
	ApprovalCancelled ApprovalState = "cancelled"
)

// Approval is one call that waits for somebody's decision, or has waited: a value of the approvals bucket.
type Approval struct {
	// ID names it on the bus and for people.
	ID       string        `msgpack:"id" json:"id"`
	Executor string        `msgpack:"executor" json:"executor"`
	State    ApprovalState `msgpack:"state" json:"state"`
	// What is asked for.
	Tool     string   `msgpack:"tool" json:"tool"`
	Source   Source   `msgpack:"source" json:"source"`
	Owner    string   `msgpack:"owner" json:"owner"`
	Input    JSON     `msgpack:"input" json:"input"`
	Call     string   `msgpack:"call" json:"call"`
	ParentID string   `msgpack:"parent_id,omitempty" json:"parentId,omitempty"`
	Address  Address  `msgpack:"address" json:"address"`
	Identity Identity `msgpack:"identity" json:"identity"`
	// Reason is why the call needs an approval.
	Reason string `msgpack:"reason,omitempty" json:"reason,omitempty"`
	// Opened, Deadline and DecidedAt are Unix nanoseconds.
	Opened    int64 `msgpack:"opened" json:"opened"`
	Deadline  int64 `msgpack:"deadline" json:"deadline"`
	DecidedAt int64 `msgpack:"decided_at,omitempty" json:"decidedAt,omitempty"`
	// By is who decided, as they said; Note is for the program and the record.
	By   string `msgpack:"by,omitempty" json:"by,omitempty"`
	Note string `msgpack:"note,omitempty" json:"note,omitempty"`
	// Grant is what the decision allowed besides this call.
	Grant *Grant `msgpack:"grant,omitempty" json:"grant,omitempty"`
}

// Decision decides one pending approval: codecell.v1.decide.<executor>.<approval>, answered by [Ack].
// It can be made once, before the deadline.
type Decision struct {
	Approval string `msgpack:"approval" json:"approval"`
	Approve  bool   `msgpack:"approve,omitempty" json:"approve,omitempty"`
	By       string `msgpack:"by" json:"by"`
	Note     string `msgpack:"note,omitempty" json:"note,omitempty"`
	// Grant, with an approval, allows further calls of the same tool without asking (P3).
	Grant *Grant `msgpack:"grant,omitempty" json:"grant,omitempty"`
}

// GrantScope says where a grant holds.
type GrantScope string

const (
	GrantCell    GrantScope = "cell"
	GrantRun     GrantScope = "run"
	GrantSession GrantScope = "session"
)

// Grant allows at most Calls further calls of one tool whose input matches a JSON Schema, within a scope.
type Grant struct {
	Scope GrantScope `msgpack:"scope" json:"scope"`
	// Calls is how many calls it allows, at least 1; Used how many it has.
	Calls int `msgpack:"calls" json:"calls"`
	Used  int `msgpack:"used,omitempty" json:"used,omitempty"`
	// Match is the JSON Schema of the inputs that it allows; empty means any.
	Match JSON `msgpack:"match,omitempty" json:"match,omitempty"`
	// Expires is Unix nanoseconds; 0 is the end of its scope, at most a day later.
	Expires int64 `msgpack:"expires,omitempty" json:"expires,omitempty"`
	// Set when it is given: the tool, and the approval that it came with.
	Source   Source `msgpack:"source,omitempty" json:"source,omitempty"`
	Owner    string `msgpack:"owner,omitempty" json:"owner,omitempty"`
	Tool     string `msgpack:"tool,omitempty" json:"tool,omitempty"`
	Approval string `msgpack:"approval,omitempty" json:"approval,omitempty"`
	By       string `msgpack:"by,omitempty" json:"by,omitempty"`
}

// Grants are those of one scope: a value of the grants bucket.
type Grants struct {
	Grants []Grant `msgpack:"grants" json:"grants"`
}

// ApprovalOpened says that a call waits for a decision: feed.approval.opened.<host>.<cell>.<call>
type ApprovalOpened struct {
	At       int64   `msgpack:"at" json:"at"`
	Address  Address `msgpack:"address" json:"address"`
	Call     string  `msgpack:"call" json:"call"`
	Approval string  `msgpack:"approval" json:"approval"`
	Source   Source  `msgpack:"source" json:"source"`
	Owner    string  `msgpack:"owner" json:"owner"`
	Tool     string  `msgpack:"tool" json:"tool"`
	Deadline int64   `msgpack:"deadline" json:"deadline"`
}

// ApprovalClosed says how it was decided, or that it wasn't: feed.approval.closed.<host>.<cell>.<call>
type ApprovalClosed struct {
	At       int64         `msgpack:"at" json:"at"`
	Address  Address       `msgpack:"address" json:"address"`
	Call     string        `msgpack:"call" json:"call"`
	Approval string        `msgpack:"approval" json:"approval"`
	State    ApprovalState `msgpack:"state" json:"state"`
	By       string        `msgpack:"by,omitempty" json:"by,omitempty"`
	// Granted is how many further calls the decision allowed, in Scope.
	Granted int        `msgpack:"granted,omitempty" json:"granted,omitempty"`
	Scope   GrantScope `msgpack:"scope,omitempty" json:"scope,omitempty"`
}

// GrantUsed says that a call went on without asking: feed.approval.used.<host>.<cell>.<call>
type GrantUsed struct {
	At       int64      `msgpack:"at" json:"at"`
	Address  Address    `msgpack:"address" json:"address"`
	Call     string     `msgpack:"call" json:"call"`
	Approval string     `msgpack:"approval" json:"approval"`
	Tool     string     `msgpack:"tool" json:"tool"`
	Scope    GrantScope `msgpack:"scope" json:"scope"`
	Left     int        `msgpack:"left" json:"left"`
}

// Settled says how and when the approval came to its end, as a refusal of a further decision; nil while it is pending.
func (a *Approval) Settled() *Error {
	by := ""
	if a.By != "" {
		by = " by " + a.By
	}
	var how string
	switch a.State {
	case ApprovalPending:
		return nil
	case ApprovalApproved, ApprovalDenied:
		how = "was " + string(a.State) + by
	case ApprovalExpired:
		how = "expired, since nobody decided in time,"
	case ApprovalCancelled:
		how = "was cancelled, since nobody waits for the call any more,"
	default:
		how = "has ended"
	}
	return Refuse("approval", "approval "+a.ID+" "+how+" at "+time.Unix(0, a.DecidedAt).UTC().Format(time.DateTime)+
		" UTC, and can't be decided again: nothing was changed")
}
