package schemas

// Facts are what happened, in the past tense, one subject and one type a kind (U4). At is
// Unix nanoseconds. Facts carry names, counts and ids, never arguments or results.

// RunOpened: feed.run.opened.<host>.<run>
type RunOpened struct {
	At       int64    `msgpack:"at"`
	Host     string   `msgpack:"host"`
	Run      string   `msgpack:"run"`
	Identity Identity `msgpack:"identity"`
	Tools    int      `msgpack:"tools"`
}

// RunClosed: feed.run.closed.<host>.<run>
type RunClosed struct {
	At     int64  `msgpack:"at"`
	Host   string `msgpack:"host"`
	Run    string `msgpack:"run"`
	Reason string `msgpack:"reason,omitempty"`
}

// CellStarted: feed.cell.started.<host>.<cell>
type CellStarted struct {
	At      int64   `msgpack:"at"`
	Address Address `msgpack:"address"`
	Title   string  `msgpack:"title"`
}

// CellParked: feed.cell.parked.<host>.<cell>. The caller has a waiting result.
type CellParked struct {
	At            int64   `msgpack:"at"`
	Address       Address `msgpack:"address"`
	Reason        string  `msgpack:"reason"`
	Pending       int     `msgpack:"pending"`
	SnapshotBytes int     `msgpack:"snapshot_bytes"`
}

// CellResumed: feed.cell.resumed.<host>.<cell>. A wait was admitted.
type CellResumed struct {
	At      int64   `msgpack:"at"`
	Address Address `msgpack:"address"`
}

// CellEnded: feed.cell.ended.<host>.<cell>
type CellEnded struct {
	At         int64   `msgpack:"at"`
	Address    Address `msgpack:"address"`
	Status     Status  `msgpack:"status"`
	Code       Code    `msgpack:"code,omitempty"`
	Calls      int     `msgpack:"calls"`
	DurationUs int64   `msgpack:"duration_us"`
}

// CallSent: feed.call.sent.<host>.<cell>.<call>
type CallSent struct {
	At      int64   `msgpack:"at"`
	Address Address `msgpack:"address"`
	Call    string  `msgpack:"call"`
	Source  Source  `msgpack:"source"`
	Owner   string  `msgpack:"owner"`
	Tool    string  `msgpack:"tool"`
}

// CallStarted: feed.call.started.<host>.<cell>.<call>, told by the executor.
type CallStarted struct {
	At       int64   `msgpack:"at"`
	Address  Address `msgpack:"address"`
	Call     string  `msgpack:"call"`
	Executor string  `msgpack:"executor"`
}

// CallEnded: feed.call.ended.<host>.<cell>.<call>, told by the cell.
type CallEnded struct {
	At         int64    `msgpack:"at"`
	Address    Address  `msgpack:"address"`
	Call       string   `msgpack:"call"`
	Outcome    Outcome  `msgpack:"outcome"`
	Code       CallCode `msgpack:"code,omitempty"`
	DurationUs int64    `msgpack:"duration_us"`
}

// SlotTaken: feed.slot.taken.<host>
type SlotTaken struct {
	At   int64  `msgpack:"at"`
	Host string `msgpack:"host"`
	Cell string `msgpack:"cell"`
	Held int    `msgpack:"held"`
}

// SlotFreed: feed.slot.freed.<host>
type SlotFreed struct {
	At   int64  `msgpack:"at"`
	Host string `msgpack:"host"`
	Cell string `msgpack:"cell"`
	Held int    `msgpack:"held"`
}

// HostStarted: feed.host.started.<host>
type HostStarted struct {
	At      int64  `msgpack:"at"`
	Host    string `msgpack:"host"`
	Version string `msgpack:"version"`
	Slots   int    `msgpack:"slots"`
}

// HostStopped: feed.host.stopped.<host>. Dropped counts facts that the host could not publish.
type HostStopped struct {
	At      int64  `msgpack:"at"`
	Host    string `msgpack:"host"`
	Reason  string `msgpack:"reason,omitempty"`
	Dropped uint64 `msgpack:"dropped"`
}

// ExecutorJoined: feed.executor.joined.<executor>
type ExecutorJoined struct {
	At       int64  `msgpack:"at"`
	Executor string `msgpack:"executor"`
	Owner    string `msgpack:"owner"`
	Tools    int    `msgpack:"tools"`
}

// ExecutorLeft: feed.executor.left.<executor>
type ExecutorLeft struct {
	At       int64  `msgpack:"at"`
	Executor string `msgpack:"executor"`
	Owner    string `msgpack:"owner"`
	Reason   string `msgpack:"reason,omitempty"`
}

// ExecutorTrouble: feed.executor.trouble.<executor>: a server can't be reached or a tool can't be admitted.
type ExecutorTrouble struct {
	At       int64  `msgpack:"at"`
	Executor string `msgpack:"executor"`
	Owner    string `msgpack:"owner"`
	Problem  string `msgpack:"problem"`
}
