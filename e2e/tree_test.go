package e2e

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxLines bounds a file of code: beyond it, it holds more than one noun.
const maxLines = 400

var (
	generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	// hosts of package registries, in parts so that this file passes too.
	hosts = regexp.MustCompile(`registry\.(npmjs|yarnpkg)|proxy\.(golang)`)
)

// TestTree_FilesAreShort keeps one noun a file.
func TestTree_FilesAreShort(t *testing.T) {
	code := []string{".go", ".js", ".mjs", ".sh"}
	for path, content := range sources(t) {
		if !slices.Contains(code, filepath.Ext(path)) || generated.Match(content) {
			continue
		}
		if n := bytes.Count(content, []byte("\n")); n > maxLines {
			t.Errorf("%s has %d lines, more than %d: it holds several nouns", path, n, maxLines)
		}
	}
}

// TestTree_LockFilesNameNoHost keeps the tree installable through any registry or mirror.
func TestTree_LockFilesNameNoHost(t *testing.T) {
	locks := 0
	for path, content := range sources(t) {
		switch filepath.Base(path) {
		case "package-lock.json":
			locks++
			if bytes.Contains(content, []byte(`"resolved"`)) {
				t.Errorf("%s says where packages came from: install with omit-lockfile-registry-resolved", path)
			}
			if !bytes.Contains(content, []byte(`"integrity": "sha512-`)) {
				t.Errorf("%s has no integrity hashes", path)
			}
		}
		if host := hosts.Find(content); host != nil {
			t.Errorf("%s names a registry's host (%s…)", path, host)
		}
	}
	if locks != 2 {
		t.Errorf("found %d lock files of npm, want those of wasm/guest and e2e", locks)
	}
}

// TestTree_DependenciesAreExact keeps ranges out of the packages that tests and builds install.
func TestTree_DependenciesAreExact(t *testing.T) {
	loose := regexp.MustCompile(`":\s*"([\^~*<>=]|latest|[0-9]+\.x)`)
	for path, content := range sources(t) {
		if filepath.Base(path) != "package.json" {
			continue
		}
		lines := bufio.NewScanner(bytes.NewReader(content))
		for n := 1; lines.Scan(); n++ {
			if loose.Match(lines.Bytes()) && !strings.Contains(lines.Text(), `"node"`) {
				t.Errorf("%s:%d: not an exact version: %s", path, n, strings.TrimSpace(lines.Text()))
			}
		}
	}
}

// sources returns the files of the tree that are committed or about to be, by path from its root.
func sources(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	root := ".."
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains([]string{".git", "node_modules", "bin", "dist"}, entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || filepath.Ext(path) == ".wasm" {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		files[filepath.ToSlash(name)] = content
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
