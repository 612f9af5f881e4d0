package tool

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

const (
	// maxEditedBytes bounds the files that write compares and edit changes: they are held in memory.
	maxEditedBytes = 8 << 20
	// maxLinks bounds the links that a path to be written may lead through at its end.
	maxLinks = 40
)

type writeArgs struct {
	Path       string `json:"path"`
	Content    string `json:"content"`
	CreateDirs bool   `json:"createDirs"`
}

// written is what write did.
type written struct {
	Changed bool `json:"changed"`
	Created bool `json:"created"`
	Bytes   int  `json:"bytes"`
}

func (w *workspace) writeTool() Func {
	return coreTool("write",
		"Write a text file of the workspace: the whole file is replaced at once, or created. To change a part of a file use edit.",
		`{"type":"object","properties":{`+
			`"path":{"type":"string","minLength":1,"description":"file, relative to the workspace"},`+
			`"content":{"type":"string","description":"the whole new text"},`+
			`"createDirs":{"type":"boolean","default":false,"description":"create missing folders of the path"}},`+
			`"required":["path","content"],"additionalProperties":false}`,
		`{"type":"object","properties":{`+
			`"changed":{"type":"boolean","description":"false: the file had this text already, and was left alone"},`+
			`"created":{"type":"boolean"},"bytes":{"type":"integer","description":"length of the file"}},`+
			`"required":["changed","created","bytes"]}`,
		w.write)
}

func (w *workspace) write(_ context.Context, in writeArgs) (*written, error) {
	w.writing.Lock()
	defer w.writing.Unlock()
	at, before, err := w.target(in.Path)
	if err != nil {
		return nil, err
	}
	out := &written{Created: before == nil, Changed: true, Bytes: len(in.Content)}
	if before != nil && before.Size() == int64(len(in.Content)) && before.Size() <= maxEditedBytes {
		if text, _, err := w.readWhole(in.Path, at); err == nil && string(text) == in.Content {
			out.Changed = false
			return out, nil
		}
	}
	if dir := parent(at); in.CreateDirs && dir != "." {
		if err := w.root.MkdirAll(dir, 0o777); err != nil {
			return nil, pathFailure(in.Path, "written", err)
		}
	}
	if err := w.replace(in.Path, at, before, in.Content); err != nil {
		return nil, err
	}
	return out, nil
}

// target finds the file that a path means when it is written: the one at the end of its links, inside the workspace.
// before is nil if there is none yet. What isn't a regular file is refused, and so is one that nobody may write.
func (w *workspace) target(name string) (at string, before fs.FileInfo, err error) {
	if at, err = w.resolve(name); err != nil {
		return "", nil, err
	}
	for range maxLinks {
		if base := at[strings.LastIndexByte(at, '/')+1:]; base == "" || base == "." || base == ".." {
			return "", nil, refusedPath(name, "names a folder: give the path of a file")
		}
		info, err := w.root.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return at, nil, nil
		case err != nil:
			return "", nil, pathFailure(name, "written", err)
		case info.Mode()&fs.ModeSymlink == 0:
			if err := regular(name, info); err != nil {
				return "", nil, err
			}
			if info.Mode().Perm()&0o222 == 0 {
				return "", nil, refusedPath(name, "is read-only")
			}
			return at, info, nil
		}
		to, err := w.root.Readlink(at)
		if err != nil {
			return "", nil, pathFailure(name, "written", err)
		}
		if strings.HasPrefix(to, "/") {
			return "", nil, refusedPath(name, "leads out of the workspace")
		}
		// Joined as it is: "link/.." isn't where the link stands, and the look-up knows.
		at = parent(at) + "/" + to
	}
	return "", nil, pathFailure(name, "written", syscall.ELOOP)
}

// parent is the folder part of a path, as it is.
func parent(at string) string {
	if i := strings.LastIndexByte(at, '/'); i >= 0 {
		return at[:i]
	}
	return "."
}

// readWhole reads a file that is going to be replaced.
func (w *workspace) readWhole(name, at string) ([]byte, fs.FileInfo, error) {
	f, info, err := w.openFile(at)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info.Size() > maxEditedBytes {
		return nil, nil, refusedPath(name, fmt.Sprintf("has %d bytes, more than the %d of a file that can be edited", info.Size(), maxEditedBytes))
	}
	var text bytes.Buffer
	if _, err := io.Copy(&text, io.LimitReader(f, maxEditedBytes+1)); err != nil {
		return nil, nil, pathError(name, err)
	}
	return text.Bytes(), info, nil
}

// replace puts a text in the place of a file at once: whoever reads the file finds the old text or the new one, also
// after a crash. The file keeps its permissions. before is the file as it was looked at: one that has changed since
// then is left alone.
func (w *workspace) replace(name, at string, before fs.FileInfo, content string) (err error) {
	// The folder is held: what its path leads to meanwhile doesn't matter.
	dir, err := w.root.OpenRoot(parent(at))
	if errors.Is(err, fs.ErrNotExist) {
		return refusedPath(name, "can't be written: its folder doesn't exist; pass createDirs: true to create it")
	}
	if err != nil {
		return pathFailure(name, "written", err)
	}
	defer dir.Close()
	base, temp, mode := path.Base(at), ".codecell-"+rand.Text()+".tmp", fs.FileMode(0o666)
	if before != nil {
		mode = 0o600
	}
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return pathFailure(name, "written", err)
	}
	defer func() {
		if err != nil {
			_ = dir.Remove(temp)
		}
	}()
	_, err = io.WriteString(f, content)
	if err == nil && before != nil {
		err = f.Chmod(before.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return pathFailure(name, "written", err)
	}
	if !unchanged(dir, base, before) {
		return refusedPath(name, "was changed by somebody else meanwhile, and is left as it is: read it again")
	}
	if err := dir.Rename(temp, base); err != nil {
		return pathFailure(name, "written", err)
	}
	return nil
}

// unchanged tells whether a file is still as it was looked at. A change within the moment before it is replaced is lost.
func unchanged(dir *os.Root, base string, before fs.FileInfo) bool {
	now, err := dir.Lstat(base)
	if before == nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return err == nil && os.SameFile(now, before) && now.Size() == before.Size() && now.ModTime().Equal(before.ModTime())
}
