package schemas

import "time"

// Limits are the effective limits of a run's cells after defaults and clamps (F2).
// The zero value is not usable: take [DefaultLimits].
type Limits struct {
	// Timeout is the wall-clock budget of one exec or wait call.
	Timeout time.Duration
	// MemoryBytes bounds a guest's linear memory.
	MemoryBytes int
	// OutputBytes is the cumulative UTF-8 budget of output, value and error.
	OutputBytes int
	// SnapshotBytes bounds a parked cell's snapshot.
	SnapshotBytes int
	// PendingCalls bounds the requests in flight at once; QueuedCalls those that wait for a place.
	PendingCalls int
	QueuedCalls  int
	// SnapshotTTL is how long a parked cell is kept.
	SnapshotTTL time.Duration
	// SearchDefault and SearchMax bound the hits of one search.
	SearchDefault int
	SearchMax     int
}

// DefaultLimits are the limits of a configuration that says nothing.
func DefaultLimits() Limits {
	return Limits{
		Timeout:       10 * time.Second,
		MemoryBytes:   64 << 20,
		OutputBytes:   64 << 10,
		SnapshotBytes: 10 << 20,
		PendingCalls:  16,
		QueuedCalls:   128,
		SnapshotTTL:   900 * time.Second,
		SearchDefault: 8,
		SearchMax:     50,
	}
}
