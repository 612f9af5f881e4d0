package wasm

import "fmt"

const (
	minMemory = 1 << 20
	minStack  = 16 << 10
	// memorySlack is what an allocator needs beyond the bytes it hands out, on top of an eighth of them.
	memorySlack = 512 << 10
)

// Limits bound one guest. Every field must be set, except where a default is named: a missing limit is an error, never
// "unlimited".
type Limits struct {
	// MemoryBytes is what the program may allocate on top of its image: 1 MiB to Config.MaxMemory. Beyond it allocations
	// fail in the program as an "out of memory" error. The machine's whole memory stays below the image's size plus
	// 9/8 of this plus 512 KiB.
	MemoryBytes int64
	// StackBytes bounds the native stack of the engine, 16 KiB to 512 KiB; deeper recursion is a RangeError in the program.
	// 0 means 512 KiB. A program that uses all of that makes the process hold up to 16 MiB of its own stack while it runs.
	StackBytes int64
	// OutputBytes is the number of payload bytes of output kept over the guest's whole life, at least 1. What's beyond is only
	// counted, see Leg.OmittedBytes.
	OutputBytes int64
	// LegOutputBytes are kept of each leg's output even if the guest has used up OutputBytes before. 0 means none.
	LegOutputBytes int64
	// Requests is the number of requests of any kind that may be unanswered at a time, at least 1. See Leg.Overflow.
	Requests int
	// RequestBytes bounds the payloads of one leg's requests. 0 means MemoryBytes.
	RequestBytes int64
}

func (l *Limits) check(maxMemory int64) error {
	if l.StackBytes == 0 {
		l.StackBytes = maxStack
	}
	if l.RequestBytes == 0 {
		l.RequestBytes = l.MemoryBytes
	}
	for _, f := range []struct {
		name            string
		value, low, top int64
	}{
		{"MemoryBytes", l.MemoryBytes, minMemory, maxMemory},
		{"StackBytes", l.StackBytes, minStack, maxStack},
		{"OutputBytes", l.OutputBytes, 1, 1 << 40},
		{"LegOutputBytes", l.LegOutputBytes, 0, 1 << 40},
		{"Requests", int64(l.Requests), 1, 1 << 20},
		{"RequestBytes", l.RequestBytes, 1, 1 << 40},
	} {
		if f.value < f.low || f.value > f.top {
			return fmt.Errorf("wasm: Limits.%s is %d: want %d to %d", f.name, f.value, f.low, f.top)
		}
	}
	return nil
}

// linearLimit is the largest memory, in bytes, of a machine whose image and guest have these sizes.
func linearLimit(image uint64, memory int64) uint64 {
	return min((image+uint64(memory)+uint64(memory)/8+memorySlack)/wasmPage*wasmPage, 1<<32)
}
