package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/codecell/codecell/schemas"
)

// workspace is a folder that the core tools can't leave: every look-up goes through
// os.Root, which resolves links itself and refuses those that point outside, also when
// they are swapped in meanwhile. Paths in messages are the caller's own, never the host's.
type workspace struct {
	root *os.Root
	// writing is held while a file is looked at and replaced: of two edits of a file none gets lost.
	writing sync.Mutex
}

func openWorkspace(dir string) (*workspace, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("the workspace folder can't be opened: %w", err)
	}
	return &workspace{root: root}, nil
}

func (w *workspace) close() error { return w.root.Close() }

// resolve gives a path that os.Root takes. An empty path is the workspace itself.
func (w *workspace) resolve(name string) (string, error) {
	switch {
	case name == "":
		return ".", nil
	case strings.ContainsRune(name, 0):
		return "", refusedPath(name, "has a NUL character in it")
	case strings.HasPrefix(name, "/"):
		return "", refusedPath(name, "is absolute: give a path relative to the workspace, such as \"src/main.go\"")
	}
	return name, nil
}

// openFile opens a regular file. Opening never blocks and never touches a device: what
// isn't a regular file is refused before, and again after, it is opened.
func (w *workspace) openFile(name string) (*os.File, fs.FileInfo, error) {
	p, err := w.resolve(name)
	if err != nil {
		return nil, nil, err
	}
	info, err := w.root.Stat(p)
	if err != nil {
		return nil, nil, pathError(name, err)
	}
	if err := regular(name, info); err != nil {
		return nil, nil, err
	}
	f, err := w.root.OpenFile(p, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, pathError(name, err)
	}
	if info, err = f.Stat(); err == nil {
		err = regular(name, info)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, pathError(name, err)
	}
	return f, info, nil
}

func regular(name string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return refusedPath(name, "is a folder: use ls to see what is in it")
	default:
		return refusedPath(name, "is no regular file (a device, pipe or socket)")
	}
}

// list gives a folder's entries, sorted by name.
func (w *workspace) list(name string) ([]fs.DirEntry, error) {
	p, err := w.resolve(name)
	if err != nil {
		return nil, err
	}
	info, err := w.root.Stat(p)
	if err != nil {
		return nil, pathError(name, err)
	}
	if !info.IsDir() {
		return nil, refusedPath(name, "is no folder")
	}
	dir, err := w.root.OpenFile(p, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, pathError(name, err)
	}
	defer dir.Close()
	entries, err := dir.ReadDir(maxFolderEntries + 1)
	if err != nil && len(entries) == 0 && !isEOF(err) {
		return nil, pathError(name, err)
	}
	if len(entries) > maxFolderEntries {
		return nil, refusedPath(name, fmt.Sprintf("has more than %d entries: use find with a narrower pattern elsewhere", maxFolderEntries))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// errStop ends a walk early without an error.
var errStop = errors.New("stop")

// walk visits everything below a folder in a fixed order: by name, folders after they are
// visited themselves. Links are visited and not followed. Folders that can't be read are
// counted in skipped. A file given instead of a folder is visited alone.
func (w *workspace) walk(ctx context.Context, name string, visit func(rel string, d fs.DirEntry) error) (skipped int, err error) {
	p, err := w.resolve(name)
	if err != nil {
		return 0, err
	}
	info, err := w.root.Stat(p)
	if err != nil {
		return 0, pathError(name, err)
	}
	if !info.IsDir() {
		err = visit(path.Clean(p), fs.FileInfoToDirEntry(info))
		if errors.Is(err, errStop) {
			err = nil
		}
		return 0, err
	}
	seen := 0
	var down func(dir string) error
	down = func(dir string) error {
		entries, err := w.list(dir)
		if err != nil {
			skipped++
			return nil //nolint:nilerr // counted: one folder that can't be read doesn't end the walk
		}
		for _, d := range entries {
			if err := ctx.Err(); err != nil {
				return err
			}
			if seen++; seen > maxWalked {
				return &schemas.CallError{
					Code: schemas.CallToolError, Location: atTool,
					Message: fmt.Sprintf("there are more than %d entries below %q: give a narrower path", maxWalked, name),
				}
			}
			rel := path.Join(dir, d.Name())
			if err := visit(rel, d); err != nil {
				return err
			}
			if d.IsDir() && d.Name() != ".git" {
				if err := down(rel); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err = down(p); errors.Is(err, errStop) {
		err = nil
	}
	return skipped, err
}

// Bounds of one listing and one walk: large enough for real source trees, small enough to
// hold in memory.
const (
	maxFolderEntries = 50_000
	maxWalked        = 500_000
)

// refusedPath is the answer to a path that can't be used.
func refusedPath(name, why string) *schemas.CallError {
	return &schemas.CallError{
		Code: schemas.CallToolError, Location: atTool, Effect: schemas.Failed,
		Message: fmt.Sprintf("%q %s", name, why),
	}
}

// pathError says what went wrong with a path that was to be read, without the host's own paths.
func pathError(name string, err error) error { return pathFailure(name, "read", err) }

// pathFailure says what went wrong with a path that was to be done something with.
func pathFailure(name, done string, err error) error {
	var known *schemas.CallError
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return refusedPath(name, "doesn't exist in the workspace")
	case errors.Is(err, fs.ErrPermission):
		return refusedPath(name, "can't be "+done+": permission denied")
	case errors.Is(err, syscall.ELOOP):
		return refusedPath(name, "is a loop of links")
	case errors.Is(err, syscall.ENAMETOOLONG):
		return refusedPath(name, "is too long")
	case errors.As(err, &at) && strings.Contains(at.Err.Error(), "escapes"):
		return refusedPath(name, "leads out of the workspace")
	case errors.As(err, &at):
		return refusedPath(name, "can't be "+done+": "+at.Err.Error())
	case errors.As(err, &link):
		return refusedPath(name, "can't be "+done+": "+link.Err.Error())
	default:
		return refusedPath(name, "can't be "+done)
	}
}
