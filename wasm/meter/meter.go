// Package meter rewrites a WebAssembly module so that whoever runs it can stop it.
//
// A WebAssembly engine without such a rewrite has no way to stop a native loop: the goroutine that runs it never calls
// back into Go, so neither a context nor the Go garbage collector's stop-the-world can reach it, and one hostile program
// freezes the whole process. The rewritten module counts fuel and calls an import at short intervals; that call is both
// the point where the host can say "stop" and the safepoint the garbage collector waits for.
//
// What is charged:
//
//   - every pass through a `loop` header, one unit;
//   - entries of functions, one unit, chosen so that every cycle of calls passes one of them (recursion needs no loop, and
//     a call tree of depth d visits 2^d functions);
//   - memory.fill and memory.copy, one unit per 64 bytes, in pieces of at most 256 KiB.
//
// What lies between two charges is code without loops and recursion, so the time between two calls of the import is bounded
// by Options.Interval times the longest such stretch in the module.
//
// The rewriter accepts the instructions that a QuickJS build uses (MVP, sign extension, saturating conversions, bulk
// memory, reference types). Any other opcode is an error and never a guess: tail calls, for one, would be loops without
// a header.
package meter

import (
	"errors"
	"fmt"
)

// Version names the rewrite's form. It changes whenever the same input would give other output.
const Version = 1

// ErrUnsupported is matched by every error that says the module uses something the rewriter can't charge for.
var ErrUnsupported = errors.New("unsupported by the meter")

// ErrMalformed is matched by every error that says the input isn't a well-formed module.
var ErrMalformed = errors.New("malformed module")

// Options say how to meter a module.
type Options struct {
	// ImportModule and ImportName name an imported function of type [] -> [i32]. The module calls it each time its fuel is
	// used up; a result other than 0 makes it trap (`unreachable`). Required.
	ImportModule, ImportName string
	// Interval is the number of units between two calls of the import, 1 to 1<<30. Required.
	Interval int32
	// SkipEntries leaves function entries uncharged. For measuring what they cost; a module made so can be kept busy by
	// recursion.
	SkipEntries bool
}

// Report tells what Instrument did.
type Report struct {
	// Loops, Entries and Bulk count the charged loop headers, function entries and memory.fill/memory.copy instructions.
	Loops, Entries, Bulk int
	// Functions is the number of functions the module defines.
	Functions int
}

// Instrument returns a metered copy of the module. The input isn't changed.
//
// Indices of existing types, functions and globals stay as they are: additions go to the end of each index space.
func Instrument(module []byte, opts Options) ([]byte, Report, error) {
	if opts.Interval < 1 || opts.Interval > 1<<30 {
		return nil, Report{}, fmt.Errorf("meter: interval %d: want 1 to %d", opts.Interval, 1<<30)
	}
	m, err := parseModule(module)
	if err != nil {
		return nil, Report{}, fmt.Errorf("meter: %w", err)
	}
	out, report, err := rewrite(m, opts)
	if err != nil {
		return nil, Report{}, fmt.Errorf("meter: %w", err)
	}
	return out, report, nil
}
