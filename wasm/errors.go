package wasm

import (
	"errors"
	"fmt"
)

var (
	// ErrUnavailable is matched when the guest runtime can't be used at all: the engine module is missing, altered, or doesn't
	// compile. There is no other way to run a program then.
	ErrUnavailable = errors.New("guest runtime unavailable")
	// ErrInterrupted is matched when a leg was stopped from outside. The error also matches the context's error:
	// context.DeadlineExceeded or context.Canceled. The guest is poisoned, unless the context had ended before the leg began.
	ErrInterrupted = errors.New("guest interrupted")
	// ErrTrap is matched when the machine itself failed, by a fault of the engine or a limit that it can't survive.
	// The guest is poisoned.
	ErrTrap = errors.New("guest trapped")
	// ErrMemory is matched when the guest needed more memory than its limit and couldn't go on. A program can catch most
	// such failures itself; those aren't errors of the leg.
	ErrMemory = errors.New("guest out of memory")
	// ErrPoisoned is matched when a guest is used after its leg was stopped or trapped.
	ErrPoisoned = errors.New("guest is poisoned by an earlier stop")
	// ErrBusy is matched when a guest is used while one of its legs runs.
	ErrBusy = errors.New("guest is running")
	// ErrClosed is matched when a closed Engine or Guest is used, and by the error of a leg that Close stopped.
	ErrClosed = errors.New("guest or engine is closed")
	// ErrSnapshot is matched when a snapshot can't be restored: damaged, of another version, engine or image, or over a limit.
	ErrSnapshot = errors.New("snapshot can't be restored")
	// ErrSnapshotLimit is matched when a snapshot would be larger than allowed. The guest is unharmed.
	ErrSnapshotLimit = errors.New("snapshot over its size limit")
	// ErrController is matched when the guest's own JavaScript broke its contract with this package: a defect, not a
	// program's fault.
	ErrController = errors.New("guest controller failed")
)

// GuestError is an error as the program would see it: plain data that the controller rendered inside the guest.
type GuestError struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	// Stack holds the frames of the user's file, one a line, with line numbers of the submitted source. May be empty.
	Stack string `json:"stack,omitempty"`
	// Code is set only for errors that the host raised or whose cause the controller knows for sure (invalid_input for a
	// syntax error). Never derived from a message.
	Code string `json:"code,omitempty"`
	// Line and Column are one-based positions in the submitted source; 0 when unknown.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}

// Error returns name, message and stack.
func (e *GuestError) Error() string {
	s := e.Name
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.Stack != "" {
		s += "\n" + e.Stack
	}
	return s
}

func unavailable(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrUnavailable, fmt.Errorf(format, args...))
}
