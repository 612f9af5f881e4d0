package main

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/codecell/codecell/e2e/provider/brain"
	"github.com/codecell/codecell/schemas"
)

// entry is a tool of the catalog that is measured.
type entry struct {
	// ID is the data set's own, Server whose tool it is, Name the server's name for it.
	ID          string          `json:"id"`
	Server      string          `json:"server"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// query is a text and the one tool that it is for.
type query struct {
	Query string              `json:"query"`
	Gold  []string            `json:"gold"`
	Equiv map[string][]string `json:"equiv"`
}

// collection is a catalog and what is asked of it.
type collection struct {
	name    string
	entries []entry
	queries []query
}

// load reads a data set of the folder: NAME.tools.jsonl, and the queries of QUERIES.queries.jsonl that have exactly one
// right answer.
func load(folder, name, queries string) (*collection, error) {
	c := &collection{name: name}
	err := readLines(filepath.Join(folder, name+".tools.jsonl"), func(e entry) {
		e.Parameters = orObject(e.Parameters)
		if _, err := schemas.Compile(schemas.JSON(e.Parameters)); err == nil { // one that can't be called is shown by nobody
			c.entries = append(c.entries, e)
		}
	})
	if err != nil {
		return nil, err
	}
	err = readLines(filepath.Join(folder, queries+".queries.jsonl"), func(q query) {
		if len(q.Gold) == 1 && len(q.Equiv) == 0 {
			c.queries = append(c.queries, q)
		}
	})
	return c, err
}

func readLines[T any](path string, each func(T)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
		each(v)
	}
	return lines.Err()
}

// sample keeps so many tools and queries: those whose hashes come first, so that the same numbers give the same sample. A
// tool that is asked for is kept whatever its hash.
func (c *collection) sample(tools, queries int) {
	slices.SortFunc(c.queries, func(a, b query) int { return byHash(a.Query, b.Query) })
	c.queries = c.queries[:min(queries, len(c.queries))]
	wanted := map[string]bool{}
	for _, q := range c.queries {
		wanted[q.Gold[0]] = true
	}
	slices.SortFunc(c.entries, func(a, b entry) int {
		if wanted[a.ID] != wanted[b.ID] {
			return cmp.Compare(rank(wanted[a.ID]), rank(wanted[b.ID]))
		}
		return byHash(a.ID, b.ID)
	})
	c.entries = c.entries[:min(max(tools, len(wanted)), len(c.entries))]
	slices.SortFunc(c.entries, func(a, b entry) int { return strings.Compare(a.ID, b.ID) })
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

func byHash(a, b string) int {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return bytes.Compare(x[:], y[:])
}

// rename gives every tool a name of its own, as plugins have: of two with one name, each gets its server's before its own.
func (c *collection) rename() {
	seen := map[string]int{}
	for _, e := range c.entries {
		seen[e.Name]++
	}
	for i := range c.entries {
		if e := &c.entries[i]; seen[e.Name] > 1 {
			e.Name = identifier(e.Server) + "_" + e.Name
		}
	}
}

// identifier makes a name of letters, digits and _.
func identifier(name string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '_'
	}, name)
}

// cases gives what a model is asked, with the tool that it is for, arguments that fit, and how often it is to be called.
func (c *collection) cases(mcp bool, times int) ([]brain.Case, error) {
	byID := make(map[string]*entry, len(c.entries))
	for i := range c.entries {
		byID[c.entries[i].ID] = &c.entries[i]
	}
	all := make([]brain.Case, 0, len(c.queries))
	for _, q := range c.queries {
		e := byID[q.Gold[0]]
		if e == nil {
			return nil, fmt.Errorf("%q asks for %s, which isn't in the catalog", q.Query, q.Gold[0])
		}
		args, err := arguments(e.Parameters)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.ID, err)
		}
		if s, err := schemas.Compile(schemas.JSON(e.Parameters)); err == nil {
			if wrong := s.Validate(schemas.JSON(args)); len(wrong) > 0 {
				return nil, fmt.Errorf("%s: the arguments %s don't fit: %v", e.ID, args, wrong)
			}
		}
		all = append(all, brain.Case{
			Prompt: q.Query, Tool: brain.Tool{MCP: mcp, Owner: e.Server, Name: e.Name, Description: e.Description}, Args: args, Times: times,
		})
	}
	return all, nil
}
