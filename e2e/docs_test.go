package e2e

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

// fence is a fenced block of a document.
type fence struct {
	file  string // from the root of the tree
	line  int    // of its first line of content
	lang  string
	lines []string
}

func (f *fence) text() string { return strings.Join(f.lines, "\n") + "\n" }

// documents lists what users read, from the root of the tree.
func documents(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "docs", "*.md"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	names := []string{"README.md"}
	for _, file := range files {
		names = append(names, "docs/"+filepath.Base(file))
	}
	return names
}

func readDocument(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fences returns the fenced blocks of a document, in some languages or all.
func fences(t *testing.T, name string, langs ...string) []fence {
	t.Helper()
	var all []fence
	var open *fence
	for i, line := range strings.Split(readDocument(t, name), "\n") {
		lang, marked := strings.CutPrefix(line, "```")
		switch {
		case marked && open == nil:
			open = &fence{file: name, line: i + 2, lang: lang}
		case marked:
			if len(langs) == 0 || slices.Contains(langs, open.lang) {
				all = append(all, *open)
			}
			open = nil
		case open != nil:
			open.lines = append(open.lines, line)
		}
	}
	if open != nil {
		t.Fatalf("%s:%d: the block has no end", name, open.line)
	}
	return all
}

// TestDocs_BlocksAreTested checks what can be checked of a block without running it, and that no block is of a kind that
// nobody tests. See the other tests of documents for console, js and go.
func TestDocs_BlocksAreTested(t *testing.T) {
	// Variables that the configurations of the documents take secrets from.
	for _, name := range []string{"TRACKER_TOKEN", "NATS_TOKEN"} {
		t.Setenv(name, "secret")
	}
	for _, name := range documents(t) {
		for _, f := range fences(t, name) {
			switch f.lang {
			case "console", "js", "go":
			case "text": // a picture
			case "json":
				if !json.Valid([]byte(f.text())) {
					t.Errorf("%s:%d: not JSON", f.file, f.line)
				}
			case "json5": // a configuration
				for _, problem := range schemas.Check([]byte(f.text()), f.file) {
					t.Errorf("%s:%d: %s", f.file, f.line, problem.Message)
				}
			default:
				t.Errorf("%s:%d: a block in the language %q is tested by nothing", f.file, f.line, f.lang)
			}
		}
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	noSlug  = regexp.MustCompile(`[^\p{L}\p{N}\- ]`)
)

// TestDocs_LinksLead follows each link to a file of the tree, and to a heading in it.
func TestDocs_LinksLead(t *testing.T) {
	for _, name := range append(documents(t), "CHANGELOG.md", "RATIONALE.md") {
		for _, m := range link.FindAllStringSubmatch(readDocument(t, name), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			path, anchor, _ := strings.Cut(m[1], "#")
			target := filepath.ToSlash(filepath.Join(filepath.Dir(name), path))
			if path == "" {
				target = name
			}
			if _, err := os.Stat(filepath.Join("..", target)); err != nil {
				t.Errorf("%s links to %s, which isn't there", name, m[1])
				continue
			}
			if anchor != "" && !slices.Contains(anchors(readDocument(t, target)), anchor) {
				t.Errorf("%s links to %s, which has no such heading", name, m[1])
			}
		}
	}
}

func anchors(text string) (all []string) {
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		slug := noSlug.ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(slug, " ", "-"))
	}
	return all
}

// TestDocs_GoIsFromExamples holds each Go block of a document to the body of an example with checked output. Blocks that
// are whole programs are run by TestReal_DocsCommands.
func TestDocs_GoIsFromExamples(t *testing.T) {
	bodies := exampleBodies(t)
	found := 0
	for _, name := range documents(t) {
		for _, f := range fences(t, name, "go") {
			found++
			if strings.HasPrefix(f.text(), "package main\n") {
				continue
			}
			if !slices.Contains(bodies, normalGo(t, f.text())) {
				t.Errorf("%s:%d: the block is the body of no Example", f.file, f.line)
			}
		}
	}
	if found == 0 {
		t.Error("no document shows Go")
	}
}

// exampleBodies returns the bodies of all examples with checked output, without that output.
func exampleBodies(t *testing.T) (bodies []string) {
	t.Helper()
	for path, content := range sources(t) {
		if filepath.Base(path) != "example_test.go" {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, content, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(fn.Name.Name, "Example") {
				continue
			}
			body := content[set.Position(fn.Body.Lbrace).Offset+1 : set.Position(fn.Body.Rbrace).Offset]
			if at := bytes.LastIndex(body, []byte("\t// Output:")); at >= 0 {
				bodies = append(bodies, normalGo(t, string(body[:at])))
			}
		}
	}
	return bodies
}

// normalGo formats statements, so that their indentation doesn't matter.
func normalGo(t *testing.T, source string) string {
	t.Helper()
	text, err := format.Source([]byte(strings.TrimSpace(source)))
	if err != nil {
		t.Fatalf("%v in\n%s", err, source)
	}
	return string(text)
}
