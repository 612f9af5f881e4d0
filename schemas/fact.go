package schemas

// Facts are what happened, in the past tense, one subject and one type a kind (U4). At is
// Unix nanoseconds. Facts carry names, counts and ids, never arguments or results.

// RunOpened says that a run began: feed.run.opened.<host>.<run>
type RunOpened struct {
	At       int64    `msgpack:"at"`
	Host     string   `msgpack:"host"`
	Run      string   `msgpack:"run"`
	Identity Identity `msgpack:"identity"`
	Tools    int      `msgpack:"tools"`
}

// RunClosed says that a run and its cells ended: feed.run.closed.<host>.<run>
type RunClosed struct {
	At     int64  `msgpack:"at"`
	Host   string `msgpack:"host"`
	Run    string `msgpack:"run"`
	Reason string `msgpack:"reason,omitempty"`
}

// CellStarted says that a program was admitted: feed.cell.started.<host>.<cell>
type CellStarted struct {
	At      int64   `msgpack:"at"`
	Address Address `msgpack:"address"`
	Title   string  `msgpack:"title"`
}

// CellParked says that the caller has a waiting result: feed.cell.parked.<host>.<cell>
type CellParked struct {
	At            int64   `msgpack:"at"`
	Address       Address `msgpack:"address"`
	Reason        string  `msgpack:"reason"`
	Pending       int     `msgpack:"pending"`
	SnapshotBytes int     `msgpack:"snapshot_bytes"`
}

// CellResumed says that a wait was admitted: feed.cell.resumed.<host>.<cell>
type CellResumed struct {
	At      int64   `msgpack:"at"`
	Address Address `msgpack:"address"`
}

// CellEnded says how a cell ended: feed.cell.ended.<host>.<cell>
type CellEnded struct {
	At         int64   `msgpack:"at"`
	Address    Address `msgpack:"address"`
	Status     Status  `msgpack:"status"`
	Code       Code    `msgpack:"code,omitempty"`
	Calls      int     `msgpack:"calls"`
	DurationUs int64   `msgpack:"duration_us"`
}

// CallSent says that a call is on its way: feed.call.sent.<host>.<cell>.<call>
type CallSent struct {
	At      int64   `msgpack:"at"`
	Address Address `msgpack:"address"`
	Call    string  `msgpack:"call"`
	Source  Source  `msgpack:"source"`
	Owner   string  `msgpack:"owner"`
	Tool    string  `msgpack:"tool"`
}

// CallStarted is told by the executor that holds a call: feed.call.started.<host>.<cell>.<call>
type CallStarted struct {
	At       int64   `msgpack:"at"`
	Address  Address `msgpack:"address"`
	Call     string  `msgpack:"call"`
	Executor string  `msgpack:"executor"`
}

// CallEnded is told by the cell when its call has settled: feed.call.ended.<host>.<cell>.<call>
type CallEnded struct {
	At         int64    `msgpack:"at"`
	Address    Address  `msgpack:"address"`
	Call       string   `msgpack:"call"`
	Outcome    Outcome  `msgpack:"outcome"`
	Code       CallCode `msgpack:"code,omitempty"`
	DurationUs int64    `msgpack:"duration_us"`
}

// SlotTaken says that a cell holds a slot: feed.slot.taken.<host>
type SlotTaken struct {
	At   int64  `msgpack:"at"`
	Host string `msgpack:"host"`
	Cell string `msgpack:"cell"`
	Held int    `msgpack:"held"`
}

// SlotFreed says that a cell gave its slot back: feed.slot.freed.<host>
type SlotFreed struct {
	At   int64  `msgpack:"at"`
	Host string `msgpack:"host"`
	Cell string `msgpack:"cell"`
	Held int    `msgpack:"held"`
}

// HostStarted says that a host takes runs: feed.host.started.<host>
type HostStarted struct {
	At      int64  `msgpack:"at"`
	Host    string `msgpack:"host"`
	Version string `msgpack:"version"`
	Slots   int    `msgpack:"slots"`
}

// HostStopped says that a host is gone: feed.host.stopped.<host>. Dropped counts the facts that it
// could not publish.
type HostStopped struct {
	At      int64  `msgpack:"at"`
	Host    string `msgpack:"host"`
	Reason  string `msgpack:"reason,omitempty"`
	Dropped uint64 `msgpack:"dropped"`
}

// ExecutorJoined says that an executor offers tools: feed.executor.joined.<executor>
type ExecutorJoined struct {
	At       int64  `msgpack:"at"`
	Executor string `msgpack:"executor"`
	Owner    string `msgpack:"owner"`
	Tools    int    `msgpack:"tools"`
}

// ExecutorLeft says that it offers them no more: feed.executor.left.<executor>
type ExecutorLeft struct {
	At       int64  `msgpack:"at"`
	Executor string `msgpack:"executor"`
	Owner    string `msgpack:"owner"`
	Reason   string `msgpack:"reason,omitempty"`
}

// ExecutorTrouble says that a server can't be reached or a tool can't be admitted:
// feed.executor.trouble.<executor>
type ExecutorTrouble struct {
	At       int64  `msgpack:"at"`
	Executor string `msgpack:"executor"`
	Owner    string `msgpack:"owner"`
	Problem  string `msgpack:"problem"`
}
