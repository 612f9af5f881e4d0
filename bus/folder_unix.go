//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package bus

import (
	"errors"
	"os"
	"syscall"
)

// errLocked says that another process holds the lock.
var errLocked = errors.New("locked")

func lockFile(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errLocked
	}
	return err
}
