package e2e

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/codecell/codecell"

// room is what one folder may import: the whole architecture is the table below.
type room struct {
	// from lists the folders of this module, as paths relative to its root; "*" stands for all but cmd and e2e.
	from []string
	// libraries lists third-party modules. A module belongs to one room; see shared for the exceptions.
	libraries []string
	// tests lists folders and modules that its tests may import as well.
	tests []string
}

var rooms = map[string]room{
	"schemas": {
		libraries: []string{
			"github.com/santhosh-tekuri/jsonschema/v6",
			"github.com/titanous/json5",
			"github.com/vmihailenco/msgpack/v5",
		},
	},
	"wasm": {
		from:      []string{"wasm/meter"},
		libraries: []string{"github.com/klauspost/compress", "github.com/tetratelabs/wazero", "golang.org/x/sys"},
	},
	"wasm/meter":       {tests: []string{"github.com/tetratelabs/wazero"}},
	"wasm/guest/fetch": {},
	"bus": {
		from:      []string{"schemas"},
		libraries: []string{"github.com/nats-io/nats.go", "github.com/nats-io/nats-server/v2", "github.com/nats-io/nkeys"},
		tests:     []string{"bus/bustest"},
	},
	"bus/bustest": {
		from: []string{"schemas", "bus"},
		libraries: []string{
			"github.com/nats-io/nats-server/v2",
			"github.com/nats-io/nats.go",
			"go.uber.org/goleak",
		},
	},
	"actors/catalog": {from: []string{"schemas"}},
	"actors/policy":  {from: []string{"schemas"}},
	"actors/approval": {
		from:  []string{"schemas", "bus"},
		tests: []string{"bus/bustest", "github.com/nats-io/nats.go"},
	},
	"actors/session": {
		from:  []string{"schemas", "bus"},
		tests: []string{"bus/bustest", "github.com/nats-io/nats.go"},
	},
	"actors/agent": {
		from:      []string{"schemas", "bus"},
		libraries: []string{"github.com/openai/openai-go/v3"},
		tests:     []string{"bus/bustest", "actors/host", "actors/tool"},
	},
	"actors/slot": {libraries: []string{"github.com/asynkron/protoactor-go"}},
	"actors/cell": {
		from:      []string{"schemas", "wasm", "actors/slot"},
		libraries: []string{"github.com/asynkron/protoactor-go"},
	},
	"actors/run": {
		from: []string{"schemas", "actors/catalog", "actors/policy", "actors/cell"},
		libraries: []string{
			"github.com/asynkron/protoactor-go",
			"github.com/evanw/esbuild",
			"github.com/tdewolff/parse/v2",
		},
	},
	"actors/tool": {
		from:      []string{"schemas", "bus", "actors/catalog", "actors/policy", "actors/approval"},
		libraries: []string{"github.com/google/jsonschema-go", "github.com/modelcontextprotocol/go-sdk"},
		tests:     []string{"bus/bustest"},
	},
	"actors/host": {
		from:      []string{"*"},
		libraries: []string{"github.com/asynkron/protoactor-go"},
		tests:     []string{"bus/bustest"},
	},
	"cmd/codecell": {
		from: []string{"*"},
		libraries: []string{
			"github.com/modelcontextprotocol/go-sdk",
			"github.com/nats-io/nats.go",
			"github.com/oklog/run",
			"github.com/spf13/cobra",
		},
		tests: []string{"bus/bustest"},
	},
	"examples/service":    {libraries: []string{"github.com/nats-io/nats.go"}},
	"e2e/provider/chat":   {},
	"e2e/provider/script": {from: []string{"e2e/provider/chat"}},
	"e2e/provider/brain":  {from: []string{"e2e/provider/chat", "e2e/provider/script"}},
	"e2e/provider":        {from: []string{"e2e/provider/chat", "e2e/provider/script", "e2e/provider/brain"}},
	"e2e/surfaces": {
		from: []string{
			"schemas", "bus", "actors/agent", "actors/host", "actors/tool", "e2e/provider/chat", "e2e/provider/brain",
		},
		libraries: []string{"github.com/modelcontextprotocol/go-sdk"},
	},
	"e2e": {
		from:      []string{"*", "e2e/provider/chat", "e2e/provider/script"},
		libraries: []string{"github.com/modelcontextprotocol/go-sdk"},
		tests:     []string{"bus/bustest"},
	},
}

// shared are the libraries that more than one room may import, with the reason.
var shared = map[string]string{
	"github.com/asynkron/protoactor-go":      "the actors are one room with a folder for each kind",
	"github.com/modelcontextprotocol/go-sdk": "tools speak it as a client, the CLI and what e2e serves as servers",
	"github.com/nats-io/nats-server/v2":      "the helpers for tests know which of its goroutines outlive it",
	"github.com/nats-io/nats.go":             "the recorder for tests and the benchmark's unit need the bare connection, and the example is somebody else's service",
}

// testLibraries are those that any room's tests may import, and nothing else may.
var testLibraries = []string{
	"github.com/evanw/esbuild",
	"github.com/google/go-cmp",
	"github.com/rogpeppe/go-internal",
	"go.uber.org/goleak",
	"pgregory.net/rapid",
}

// listed is what `go list -json` says of a package.
type listed struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

// TestArch_Imports proves the import arrows: every import of every package is in its room's row.
func TestArch_Imports(t *testing.T) {
	for _, pkg := range listPackages(t) {
		name := strings.TrimPrefix(pkg.ImportPath, module+"/")
		r, ok := rooms[name]
		if !ok {
			t.Errorf("%s has no room: add a row that says what it may import, or put it where it belongs", name)
			continue
		}
		for _, path := range pkg.Imports {
			if !r.allows(path, false) {
				t.Errorf("%s must not import %s", name, path)
			}
		}
		for _, path := range slices.Concat(pkg.TestImports, pkg.XTestImports) {
			if path != pkg.ImportPath && !r.allows(path, true) {
				t.Errorf("%s must not import %s in its tests", name, path)
			}
		}
	}
}

// TestArch_OneRoomALibrary keeps the table itself honest: a library has one home, or a reason to have several.
func TestArch_OneRoomALibrary(t *testing.T) {
	homes := map[string][]string{}
	for name, r := range rooms {
		for _, library := range r.libraries {
			homes[library] = append(homes[library], name)
		}
	}
	for library, in := range homes {
		switch _, ok := shared[library]; {
		case len(in) > 1 && !ok:
			slices.Sort(in)
			t.Errorf("%s is imported in %v: give it one room, or the reason in shared", library, in)
		case len(in) < 2 && ok:
			t.Errorf("%s is in one room only: take it out of shared", library)
		}
	}
	for library := range shared {
		if homes[library] == nil {
			t.Errorf("%s is in no room: take it out of shared", library)
		}
	}
	for _, require := range directRequires(t) {
		if homes[require] == nil && !slices.Contains(testLibraries, require) {
			t.Errorf("go.mod requires %s, which no room imports", require)
		}
	}
}

// TestArch_NoCycleOfRooms proves that the table is a hierarchy before the compiler would find out.
func TestArch_NoCycleOfRooms(t *testing.T) {
	done := map[string]bool{}
	var visit func(name string, path []string)
	visit = func(name string, path []string) {
		if slices.Contains(path, name) {
			t.Errorf("rooms import each other: %s", strings.Join(append(path, name), " → "))
			return
		}
		if done[name] {
			return
		}
		for _, next := range rooms[name].from {
			if next == "*" {
				continue // cmd, e2e and the host, which nobody in a row names
			}
			if _, ok := rooms[next]; !ok {
				t.Errorf("%s may import %s, which is no room", name, next)
			}
			visit(next, append(path, name))
		}
		done[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(rooms)) {
		visit(name, nil)
	}
}

// allows reports whether the room may import the package of that path.
func (r room) allows(path string, inTest bool) bool {
	if own, ok := strings.CutPrefix(path, module+"/"); ok {
		if slices.Contains(r.from, own) || inTest && slices.Contains(r.tests, own) {
			return true
		}
		top, _, _ := strings.Cut(own, "/")
		return slices.Contains(r.from, "*") && top != "cmd" && top != "e2e" && own != "bus/bustest"
	}
	first, _, _ := strings.Cut(path, "/")
	if !strings.Contains(first, ".") {
		return true // the standard library
	}
	in := func(library string) bool { return path == library || strings.HasPrefix(path, library+"/") }
	return slices.ContainsFunc(r.libraries, in) || inTest && slices.ContainsFunc(slices.Concat(r.tests, testLibraries), in)
}

// listPackages lists the packages of this module, with what they and their tests import.
func listPackages(t *testing.T) []listed {
	t.Helper()
	var all []listed
	decoder := json.NewDecoder(strings.NewReader(goList(t, "-json=ImportPath,Imports,TestImports,XTestImports", module+"/...")))
	for {
		var pkg listed
		switch err := decoder.Decode(&pkg); {
		case errors.Is(err, io.EOF):
			if len(all) == 0 {
				t.Fatal("go list found no package")
			}
			return all
		case err != nil:
			t.Fatal(err)
		}
		all = append(all, pkg)
	}
}

// directRequires lists the modules that go.mod requires for this module's own imports.
func directRequires(t *testing.T) []string {
	t.Helper()
	return strings.Fields(goList(t, "-m", "-f", "{{if not (or .Main .Indirect)}}{{.Path}}{{end}}", "all"))
}

func goList(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	return string(out)
}
