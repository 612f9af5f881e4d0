// Command fetch puts the guests' engine in its place: it copies quickjs.wasm out of the installed npm package into the
// directory that the build embeds, after checking it against the committed sha256. Run it after `npm ci` in wasm/guest:
//
//	go run ./wasm/guest/fetch [DIR]
//
// DIR is the directory that holds package.json, wasm/guest by default. A file that doesn't match is never copied.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	dir := filepath.Join("wasm", "guest")
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := install(dir); err != nil {
		fmt.Fprintln(os.Stderr, "fetch:", err)
		os.Exit(1)
	}
}

// install checks and copies. The target appears whole or not at all.
func install(dir string) error {
	target := filepath.Join(dir, "engine", "quickjs.wasm")
	list, err := os.ReadFile(target + ".sha256")
	if err != nil {
		return fmt.Errorf("the expected hash: %w", err)
	}
	want, _, _ := strings.Cut(strings.TrimSpace(string(list)), " ")
	module, err := os.ReadFile(filepath.Join(dir, "node_modules", "quickjs-wasi", "quickjs.wasm"))
	if err != nil {
		return fmt.Errorf("the package isn't installed (run `npm ci` in %s): %w", dir, err)
	}
	sum := sha256.Sum256(module)
	if got := hex.EncodeToString(sum[:]); got != want {
		return fmt.Errorf("quickjs.wasm has sha256 %s, expected %s: not the engine this version was tested with", got, want)
	}
	partial, err := os.CreateTemp(filepath.Dir(target), "quickjs.wasm.*")
	if err != nil {
		return err
	}
	defer os.Remove(partial.Name()) // fails once it's renamed
	_, err = partial.Write(module)
	if err == nil {
		err = partial.Chmod(0o644)
	}
	if closeErr := partial.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(partial.Name(), target)
}
