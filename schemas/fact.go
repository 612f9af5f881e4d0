package schemas

// Facts are what happened, in the past tense, one subject and one type a kind (U4). At is
// Unix nanoseconds. Facts carry names, counts and ids, never arguments or results.

// RunOpened says that a run began: feed.run.opened.<host>.<run>
type RunOpened struct {
	At       int64    `msgpack:"at" json:"at"`
	Host     string   `msgpack:"host" json:"host"`
	Run      string   `msgpack:"run" json:"run"`
	Identity Identity `msgpack:"identity" json:"identity"`
	Tools    int      `msgpack:"tools" json:"tools"`
}

// RunClosed says that a run and its cells ended: feed.run.closed.<host>.<run>
type RunClosed struct {
	At     int64  `msgpack:"at" json:"at"`
	Host   string `msgpack:"host" json:"host"`
	Run    string `msgpack:"run" json:"run"`
	Reason string `msgpack:"reason,omitempty" json:"reason,omitempty"`
}

// CellStarted says that a program was admitted: feed.cell.started.<host>.<cell>
type CellStarted struct {
	At      int64   `msgpack:"at" json:"at"`
	Address Address `msgpack:"address" json:"address"`
	Title   string  `msgpack:"title" json:"title"`
}

// CellNoted says what a program tells of its progress, by phase or log (G10): feed.cell.noted.<host>.<cell>
type CellNoted struct {
	At      int64   `msgpack:"at" json:"at"`
	Address Address `msgpack:"address" json:"address"`
	// Phase is the phase that the program is in; Text is empty for the beginning of one. Both are bounded.
	Phase string `msgpack:"phase,omitempty" json:"phase,omitempty"`
	Text  string `msgpack:"text,omitempty" json:"text,omitempty"`
}

// CellParked says that the caller has a waiting result: feed.cell.parked.<host>.<cell>. The cell
// keeps a snapshot of so many bytes, or, where it parks live, its guest.
type CellParked struct {
	At            int64   `msgpack:"at" json:"at"`
	Address       Address `msgpack:"address" json:"address"`
	Reason        string  `msgpack:"reason" json:"reason"`
	Pending       int     `msgpack:"pending" json:"pending"`
	SnapshotBytes int     `msgpack:"snapshot_bytes" json:"snapshotBytes"`
	GuestBytes    int     `msgpack:"guest_bytes,omitempty" json:"guestBytes,omitempty"`
}

// CellResumed says that a wait was admitted: feed.cell.resumed.<host>.<cell>
type CellResumed struct {
	At      int64   `msgpack:"at" json:"at"`
	Address Address `msgpack:"address" json:"address"`
}

// CellEnded says how a cell ended: feed.cell.ended.<host>.<cell>
type CellEnded struct {
	At         int64   `msgpack:"at" json:"at"`
	Address    Address `msgpack:"address" json:"address"`
	Status     Status  `msgpack:"status" json:"status"`
	Code       Code    `msgpack:"code,omitempty" json:"code,omitempty"`
	Calls      int     `msgpack:"calls" json:"calls"`
	DurationUs int64   `msgpack:"duration_us" json:"durationUs"`
}

// CallSent says that a call is on its way: feed.call.sent.<host>.<cell>.<call>
type CallSent struct {
	At      int64   `msgpack:"at" json:"at"`
	Address Address `msgpack:"address" json:"address"`
	Call    string  `msgpack:"call" json:"call"`
	Source  Source  `msgpack:"source" json:"source"`
	Owner   string  `msgpack:"owner" json:"owner"`
	Tool    string  `msgpack:"tool" json:"tool"`
}

// CallStarted is told by the executor that holds a call: feed.call.started.<host>.<cell>.<call>
type CallStarted struct {
	At       int64   `msgpack:"at" json:"at"`
	Address  Address `msgpack:"address" json:"address"`
	Call     string  `msgpack:"call" json:"call"`
	Executor string  `msgpack:"executor" json:"executor"`
}

// CallEnded is told by the cell when its call has settled: feed.call.ended.<host>.<cell>.<call>
type CallEnded struct {
	At         int64    `msgpack:"at" json:"at"`
	Address    Address  `msgpack:"address" json:"address"`
	Call       string   `msgpack:"call" json:"call"`
	Outcome    Outcome  `msgpack:"outcome" json:"outcome"`
	Code       CallCode `msgpack:"code,omitempty" json:"code,omitempty"`
	DurationUs int64    `msgpack:"duration_us" json:"durationUs"`
}

// CallProgressed is what a running tool says of itself, now and then: feed.call.progressed.<host>.<cell>.<call>
type CallProgressed struct {
	At      int64   `msgpack:"at" json:"at"`
	Address Address `msgpack:"address" json:"address"`
	Call    string  `msgpack:"call" json:"call"`
	// Done of Total, in the tool's own unit; a Total of 0 is unknown.
	Done  float64 `msgpack:"done" json:"done"`
	Total float64 `msgpack:"total,omitempty" json:"total,omitempty"`
	// Message is the tool's own text, untrusted and cut.
	Message string `msgpack:"message,omitempty" json:"message,omitempty"`
}

// SlotTaken says that a cell holds a slot: feed.slot.taken.<host>
type SlotTaken struct {
	At   int64  `msgpack:"at" json:"at"`
	Host string `msgpack:"host" json:"host"`
	Cell string `msgpack:"cell" json:"cell"`
	Held int    `msgpack:"held" json:"held"`
}

// SlotFreed says that a cell gave its slot back: feed.slot.freed.<host>
type SlotFreed struct {
	At   int64  `msgpack:"at" json:"at"`
	Host string `msgpack:"host" json:"host"`
	Cell string `msgpack:"cell" json:"cell"`
	Held int    `msgpack:"held" json:"held"`
}

// HostStarted says that a host takes runs: feed.host.started.<host>
type HostStarted struct {
	At      int64  `msgpack:"at" json:"at"`
	Host    string `msgpack:"host" json:"host"`
	Version string `msgpack:"version" json:"version"`
	Slots   int    `msgpack:"slots" json:"slots"`
}

// HostStopped says that a host is gone: feed.host.stopped.<host>. Dropped counts the facts that it
// could not publish.
type HostStopped struct {
	At      int64  `msgpack:"at" json:"at"`
	Host    string `msgpack:"host" json:"host"`
	Reason  string `msgpack:"reason,omitempty" json:"reason,omitempty"`
	Dropped uint64 `msgpack:"dropped" json:"dropped"`
}

// ExecutorJoined says that an executor offers tools: feed.executor.joined.<executor>
type ExecutorJoined struct {
	At       int64  `msgpack:"at" json:"at"`
	Executor string `msgpack:"executor" json:"executor"`
	Owner    string `msgpack:"owner" json:"owner"`
	Tools    int    `msgpack:"tools" json:"tools"`
}

// ExecutorLeft says that it offers them no more: feed.executor.left.<executor>
type ExecutorLeft struct {
	At       int64  `msgpack:"at" json:"at"`
	Executor string `msgpack:"executor" json:"executor"`
	Owner    string `msgpack:"owner" json:"owner"`
	Reason   string `msgpack:"reason,omitempty" json:"reason,omitempty"`
}

// ExecutorTrouble says that a server can't be reached or a tool can't be admitted:
// feed.executor.trouble.<executor>
type ExecutorTrouble struct {
	At       int64  `msgpack:"at" json:"at"`
	Executor string `msgpack:"executor" json:"executor"`
	Owner    string `msgpack:"owner" json:"owner"`
	Problem  string `msgpack:"problem" json:"problem"`
}
