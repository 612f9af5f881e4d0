package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// servers is the mcpServers block of a config.
type servers map[string]map[string]any

// stdio returns the entry of an npm server.
func stdio(t *testing.T, entry string, args ...string) map[string]any {
	t.Helper()
	return map[string]any{"command": node(t), "args": append([]string{npm(t, entry)}, args...)}
}

// with returns the entry with more fields.
func with(entry map[string]any, more map[string]any) map[string]any {
	entry = maps.Clone(entry)
	maps.Copy(entry, more)
	return entry
}

// config writes a config with these servers, and the workspace of the core tools in an empty folder, and returns its path.
func config(t *testing.T, s servers) string {
	t.Helper()
	return directConfig(t, s)
}

// directConfig is config, and the model sees these tools itself.
func directConfig(t *testing.T, s servers, direct ...string) string {
	t.Helper()
	dir := t.TempDir()
	return writeJSON(t, filepath.Join(dir, "codecell.json5"), map[string]any{
		"mcpServers": s,
		"tools":      map[string]any{"direct": append([]string{}, direct...)}, // never null
		"workspace":  map[string]any{"root": t.TempDir()},
	})
}

func writeJSON(t *testing.T, path string, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, path, string(text))
}

func writeFile(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// program writes a program for exec and returns its path.
func program(t *testing.T, source string) string {
	t.Helper()
	return writeFile(t, filepath.Join(t.TempDir(), "program.js"), source)
}
