package run

import "github.com/codecell/codecell/schemas"

// Session is what a run needs of the session that it is bound to. Its methods are called from many goroutines, and none
// of them blocks.
type Session interface {
	// Append adds entries to the transcript, in the order of the calls. Their ids, parents and times are filled in where they
	// are missing. What can't be kept is counted, and told in the host's status.
	Append(entries ...schemas.SessionEntry)
	// Values are the committed values by key, as they are now. Nobody changes the map any more.
	Values() map[string]schemas.StoreWrite
	// Commit keeps all of the writes or none (T2), and calls done once, from any goroutine, within a bounded time.
	Commit(cell string, writes []schemas.StoreWrite, done func(error))
}
