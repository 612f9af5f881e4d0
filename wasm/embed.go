package wasm

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"path"
	"strings"
)

// embedded holds the engine module, which is fetched and never committed, its expected hash, and the controller's scripts.
// Directories are embedded rather than names, so that a tree without the fetched file still builds.
//
//go:embed all:guest/engine all:guest/js
var embedded embed.FS

const enginePath = "guest/engine/quickjs.wasm"

// engineModule returns the embedded module after checking it against the committed hash.
func engineModule(fsys fs.FS) (module []byte, sum [sha256.Size]byte, err error) {
	want, err := fs.ReadFile(fsys, enginePath+".sha256")
	if err != nil {
		return nil, sum, unavailable("expected hash of the engine: %w", err)
	}
	module, err = fs.ReadFile(fsys, enginePath)
	if err != nil {
		return nil, sum, unavailable("this build has no engine module (run `make setup`, then build again): %w", err)
	}
	sum = sha256.Sum256(module)
	got := hex.EncodeToString(sum[:])
	if f := strings.Fields(string(want)); len(f) == 0 || f[0] != got {
		return nil, sum, unavailable("the engine module was altered: sha256 %s, expected %s (run `make setup`, then build again)",
			got, strings.Join(f[:min(1, len(f))], ""))
	}
	return module, sum, nil
}

// controllerSource joins the controller's scripts in the order of their names. Together they are one expression statement
// whose value is the controller function.
func controllerSource(fsys fs.FS) (string, error) {
	entries, err := fs.ReadDir(fsys, "guest/js") // sorted by name
	if err != nil {
		return "", unavailable("controller: %w", err)
	}
	var b strings.Builder
	for _, e := range entries {
		if path.Ext(e.Name()) != ".js" {
			continue
		}
		src, err := fs.ReadFile(fsys, "guest/js/"+e.Name())
		if err != nil {
			return "", unavailable("controller: %w", err)
		}
		b.Write(src)
		b.WriteByte('\n')
	}
	if b.Len() == 0 {
		return "", unavailable("this build has no controller scripts in wasm/guest/js")
	}
	return b.String(), nil
}
