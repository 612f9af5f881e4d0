package bus

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const (
	// lockName is the file by which a server claims its folder, sessionsMark the one that says that the folder has
	// held transcripts.
	lockName     = "codecell.lock"
	sessionsMark = "codecell-sessions"
	markText     = "The stream " + sessionsStream + " was made in this folder. A server that finds this file without the stream doesn't start.\n"
	// probeBytes is what must fit in the folder before a server whose disk was full tries again.
	probeBytes = 4 << 20
)

// folder is where a server keeps its files. Two servers on one folder would destroy it, so one of them holds its lock.
type folder struct {
	dir  string
	lock *os.File
}

// claimFolder makes the folder if need be, and locks it. The lock ends with the process, whatever ends that.
func claimFolder(dir string) (*folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("bus.storeDir %s can't be used: %w", dir, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("bus.storeDir %s can't be written: %w", dir, err)
	}
	if err := lockFile(f); err != nil {
		_ = f.Close() // nothing was written
		if errors.Is(err, errLocked) {
			return nil, fmt.Errorf("another process uses bus.storeDir %s: connect to it with --bus, or end it", dir)
		}
		return nil, fmt.Errorf("bus.storeDir %s can't be locked: %w", dir, err)
	}
	return &folder{dir: dir, lock: f}, nil
}

func (f *folder) release() {
	_ = f.lock.Close() // nothing was written
}

// marked tells whether transcripts were kept here.
func (f *folder) marked() (bool, error) {
	_, err := os.Stat(filepath.Join(f.dir, sessionsMark))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (f *folder) mark() error {
	return os.WriteFile(filepath.Join(f.dir, sessionsMark), []byte(markText), 0o600)
}

// writable tells whether a few megabytes can be written.
func (f *folder) writable() error {
	probe, err := os.CreateTemp(f.dir, "codecell-probe-")
	if err != nil {
		return err
	}
	defer os.Remove(probe.Name())
	_, err = probe.Write(make([]byte, probeBytes))
	return errors.Join(err, probe.Sync(), probe.Close())
}
