package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// member is a process that another one started, by id and birth, since ids are used again.
type member struct {
	pid   int
	name  string
	birth string // in clock ticks since boot
}

// descendants returns the living children of a process, and theirs.
func descendants(pid int) []member {
	children := map[int][]member{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		if m, parent, ok := readStat(path); ok {
			children[parent] = append(children[parent], m)
		}
	}
	family := slices.Clone(children[pid])
	for i := 0; i < len(family); i++ {
		family = append(family, children[family[i].pid]...)
	}
	return family
}

// alive reports whether the process runs. One that ended and was not waited for is dead.
func (m member) alive() bool {
	now, _, ok := readStat("/proc/" + strconv.Itoa(m.pid) + "/stat")
	return ok && now.birth == m.birth
}

// readStat reads a process's row: id, (name), state, parent, … and the time of its start as the 22nd field.
func readStat(path string) (m member, parent int, ok bool) {
	row, err := os.ReadFile(path)
	if err != nil {
		return m, 0, false
	}
	open, end := bytes.IndexByte(row, '('), bytes.LastIndexByte(row, ')')
	if open < 0 || end < open {
		return m, 0, false
	}
	rest := strings.Fields(string(row[end+1:]))
	if len(rest) < 20 || rest[0] == "Z" || rest[0] == "X" {
		return m, 0, false
	}
	m.name, m.birth = string(row[open+1:end]), rest[19]
	m.pid, _ = strconv.Atoi(strings.TrimSpace(string(row[:open])))
	parent, _ = strconv.Atoi(rest[1])
	return m, parent, true
}
