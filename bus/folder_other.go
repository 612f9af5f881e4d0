//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package bus

import (
	"errors"
	"os"
)

// errLocked says that another process holds the lock.
var errLocked = errors.New("locked")

// lockFile does nothing: this system has no lock that we know to use.
func lockFile(*os.File) error { return nil }
