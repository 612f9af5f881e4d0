package schemas

// SessionBatch is what one append adds to a session: codecell.v1.session.<session>, kept in the sessions
// stream. Its entries follow each other: each one's parent is the one before, unless it names another.
type SessionBatch struct {
	// Key is the session's key; the subject holds a token made from it.
	Key string `msgpack:"key" json:"key"`
	// Entries are the JSON texts of [SessionEntry] values.
	Entries []JSON `msgpack:"entries" json:"entries"`
}

// EntryKind says which part of a [SessionEntry] is set.
type EntryKind string

const (
	EntryMessage EntryKind = "message"
	EntryExec    EntryKind = "exec"
	EntryWait    EntryKind = "wait"
	EntryResult  EntryKind = "result"
	EntryCall    EntryKind = "call"
	EntryOutcome EntryKind = "outcome"
	EntryStore   EntryKind = "store"
	EntryFork    EntryKind = "fork"
	EntryCompact EntryKind = "compact"
	EntryTurn    EntryKind = "turn"
)

// SessionEntry is one entry of a session's transcript. Entries form a tree by their parents (T3); a branch is the
// path from an entry to the root.
type SessionEntry struct {
	// ID is unique in its session; Parent is the id of the entry before it on its branch, empty at the root.
	ID     string    `json:"id"`
	Parent string    `json:"parent,omitempty"`
	At     int64     `json:"at"`
	Kind   EntryKind `json:"kind"`

	Message *MessageEntry `json:"message,omitempty"`
	Exec    *ExecEntry    `json:"exec,omitempty"`
	Wait    *WaitEntry    `json:"wait,omitempty"`
	Result  *ResultEntry  `json:"result,omitempty"`
	Call    *CallEntry    `json:"call,omitempty"`
	Outcome *OutcomeEntry `json:"outcome,omitempty"`
	Store   *StoreEntry   `json:"store,omitempty"`
	Fork    *ForkEntry    `json:"fork,omitempty"`
	Compact *CompactEntry `json:"compact,omitempty"`
	Turn    *TurnEntry    `json:"turn,omitempty"`
}

// MessageEntry is something that a person or a model said.
type MessageEntry struct {
	// Role is "user", "assistant", "system" or "tool".
	Role string `json:"role"`
	// Content is its JSON: see [NewMessage] and [MessageEntry.Said].
	Content JSON `json:"content"`
}

// ExecEntry is an exec call as it was submitted (P7).
type ExecEntry struct {
	CallID string `json:"callId"`
	// Cell is the public id of the cell; empty if none was started.
	Cell     string   `json:"cell,omitempty"`
	Host     string   `json:"host"`
	Identity Identity `json:"identity"`
	// Input is the exec input. Redacted says that credentials were masked in it, so that it can't be run
	// again (P8); Truncated that it was too large to be kept whole.
	Input       JSON `json:"input"`
	Redacted    bool `json:"redacted,omitempty"`
	Truncated   bool `json:"truncated,omitempty"`
	RestartSafe bool `json:"restartSafe,omitempty"`
	DryRun      bool `json:"dryRun,omitempty"`
	// Recovers is the call id of the interrupted exec that this one runs again (R2).
	Recovers string `json:"recovers,omitempty"`
}

// WaitEntry is a wait call.
type WaitEntry struct {
	CallID string `json:"callId"`
	Cell   string `json:"cell"`
}

// ResultEntry is what an exec or a wait was answered.
type ResultEntry struct {
	// CallID is that of the exec or wait; ParentID that of the cell's exec.
	CallID   string `json:"callId"`
	ParentID string `json:"parentId"`
	Cell     string `json:"cell,omitempty"`
	Status   Status `json:"status"`
	Code     Code   `json:"code,omitempty"`
	// Result is the result's JSON, or the beginning of it as a JSON string with Truncated set.
	Result     JSON `json:"result"`
	Truncated  bool `json:"truncated,omitempty"`
	ReplaySafe bool `json:"replaySafe,omitempty"`
	Untrusted  bool `json:"untrusted,omitempty"`
}

// CallEntry is a nested call on its way to its tool (P6).
type CallEntry struct {
	// ParentID is the exec's call id, Cell and Call name the call.
	ParentID string `json:"parentId"`
	Cell     string `json:"cell"`
	Call     string `json:"call"`
	Source   Source `json:"source"`
	Owner    string `json:"owner"`
	Tool     string `json:"tool"`
	// Args are raw (P7), or the beginning of them as a JSON string with Truncated set.
	Args      JSON `json:"args"`
	Truncated bool `json:"truncated,omitempty"`
	// ReplaySafe: the tool's owner vouches that running it again changes nothing.
	ReplaySafe bool `json:"replaySafe,omitempty"`
	// Placeholder: it was not sent, but answered by a placeholder (a dry run).
	Placeholder bool `json:"placeholder,omitempty"`
}

// OutcomeEntry is how a nested call ended.
type OutcomeEntry struct {
	ParentID string  `json:"parentId"`
	Cell     string  `json:"cell"`
	Call     string  `json:"call"`
	Outcome  Outcome `json:"outcome"`
	// Value is raw, or the beginning of it as a JSON string with Truncated set.
	Value     JSON       `json:"value,omitempty"`
	Truncated bool       `json:"truncated,omitempty"`
	Err       *CallError `json:"error,omitempty"`
	Untrusted bool       `json:"untrusted,omitempty"`
	// DurationUs is from the dispatch to the settlement, in microseconds.
	DurationUs int64 `json:"durationUs"`
}

// StoreEntry commits what a cell stored (T2). A commit that is too large for one message has several parts;
// it counts when the last one is there.
type StoreEntry struct {
	Commit string       `json:"commit"`
	Part   int          `json:"part"`
	Parts  int          `json:"parts"`
	Cell   string       `json:"cell,omitempty"`
	Writes []StoreWrite `json:"writes"`
}

// StoreWrite sets or, without a value, deletes one key.
type StoreWrite struct {
	Key   string `json:"key"`
	Value JSON   `json:"value,omitempty"`
	// Untrusted: data of an MCP server or a client took part in the program that stored it (O5).
	Untrusted bool `json:"untrusted,omitempty"`
}

// ForkEntry begins a session as a copy of another one's branch: what is before it is that branch.
type ForkEntry struct {
	// Session and Entry name the other session's key and the last entry that counts.
	Session string `json:"session"`
	Entry   string `json:"entry"`
}

// CompactEntry stands for the branch before it, from the root to the entry before Keep: a reader of the branch
// sees the summary, then the entries from Keep on. Committed values stay (T3).
type CompactEntry struct {
	Summary string `json:"summary"`
	// Keep is the id of the first entry that is kept; empty keeps none.
	Keep string `json:"keep,omitempty"`
}
