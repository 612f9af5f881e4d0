package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/codecell/codecell/actors/run"
)

const (
	// skillFile is the file that makes a folder a skill.
	skillFile = "SKILL.md"
	// maxSkillBytes is the longest skill that is kept, maxSkills how many are.
	maxSkillBytes = 256 << 10
	maxSkills     = 256
)

// skillFolders are the folders of skills of a configuration (G11). Files are read again when they have changed: cells see
// what is there when they begin.
type skillFolders struct {
	folders []string

	mu     sync.Mutex
	files  map[string]skillRead // by path
	skills *run.Skills
}

// skillRead is what a file was when it was read.
type skillRead struct {
	size    int64
	changed time.Time
	skill   run.Skill
	problem string
}

// now gives the skills as they are.
func (s *skillFolders) now() *run.Skills {
	skills, _ := s.look()
	return skills
}

// look gives the skills as they are, and what is wrong with them.
func (s *skillFolders) look() (*run.Skills, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	look := skillLook{before: s.files, files: make(map[string]skillRead), taken: make(map[string]string)}
	for _, folder := range s.folders {
		look.folder(folder)
	}
	s.files = look.files
	if s.skills == nil || look.changed || len(look.before) != len(look.files) {
		s.skills = run.NewSkills(look.list)
	}
	return s.skills, look.problems
}

// skillLook is one look at all folders.
type skillLook struct {
	before, files map[string]skillRead
	// changed: a file isn't what it was before.
	changed  bool
	list     []run.Skill
	taken    map[string]string // locations by name
	problems []string
}

func (l *skillLook) problem(format string, args ...any) {
	l.problems = append(l.problems, "skills: "+fmt.Sprintf(format, args...))
}

// folder looks at one folder. Nothing outside of it is read, whatever links it has.
func (l *skillLook) folder(folder string) {
	name := filepath.Base(folder)
	root, err := os.OpenRoot(folder)
	if err != nil {
		l.problem("the folder %s can't be opened: %s", name, withoutPath(err))
		return
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		l.problem("the folder %s can't be read: %s", name, withoutPath(err))
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || e.Type().IsRegular() {
			continue
		}
		if len(l.list) == maxSkills {
			l.problem("there are more than %d; those from %s on are left out", maxSkills, path.Join(name, e.Name()))
			return
		}
		l.file(root, folder, e.Name())
	}
}

// file looks at one skill, and reads it if it isn't known.
func (l *skillLook) file(root *os.Root, folder, entry string) {
	inside, location := path.Join(entry, skillFile), path.Join(filepath.Base(folder), entry, skillFile)
	info, err := root.Stat(inside)
	switch {
	case os.IsNotExist(err):
		return
	case err != nil:
		l.problem("%s can't be read: %s", location, withoutPath(err))
		return
	case !info.Mode().IsRegular():
		l.problem("%s isn't a file", location)
		return
	}
	key := filepath.Join(folder, inside)
	read, known := l.before[key]
	if !known || read.size != info.Size() || !read.changed.Equal(info.ModTime()) {
		read = readSkill(root, inside, entry)
		read.size, read.changed, read.skill.Location = info.Size(), info.ModTime(), location
		l.changed = true
	}
	l.files[key] = read
	switch first := l.taken[read.skill.Name]; {
	case read.problem != "":
		l.problem("%s: %s", location, read.problem)
	case first != "":
		l.problem("%s has the name of %s, which counts", location, first)
	default:
		l.taken[read.skill.Name] = location
		l.list = append(l.list, read.skill)
	}
}

// readSkill reads a file that is known to be one.
func readSkill(root *os.Root, inside, entry string) (read skillRead) {
	f, err := root.Open(inside)
	if err != nil {
		return skillRead{problem: withoutPath(err)}
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSkillBytes+1))
	if err != nil {
		return skillRead{problem: withoutPath(err)}
	}
	head, err := readFrontMatter(string(b))
	if err != nil {
		return skillRead{problem: err.Error()}
	}
	read.skill.Name, read.skill.Description = head.name, head.description
	if head.name == "" {
		read.skill.Name = strings.ToValidUTF8(entry, "\ufffd")
	}
	switch {
	case len(b) > maxSkillBytes:
		read.skill.Unreadable = fmt.Sprintf("it is longer than %d bytes", maxSkillBytes)
	case !utf8.Valid(b):
		read.skill.Unreadable = "it isn't UTF-8 text"
	default:
		read.skill.Text = string(b)
	}
	return read
}

// withoutPath is an error without the path of this machine.
func withoutPath(err error) string {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err.Error()
	}
	return err.Error()
}
