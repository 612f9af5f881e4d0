package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInstallChecksTheHash(t *testing.T) {
	const module = "the engine"
	sum := fmt.Sprintf("%x  quickjs.wasm\n", sha256.Sum256([]byte(module)))
	for name, tc := range map[string]struct{ hash, module, want string }{
		"right":    {sum, module, ""},
		"altered":  {sum, module + "!", "expected"},
		"missing":  {sum, "", "npm ci"},
		"no hash":  {"", module, "expected hash"},
		"bad hash": {"x\n", module, "expected x"},
	} {
		dir := t.TempDir()
		write := func(path, text string) {
			if text == "" {
				return
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		target := filepath.Join(dir, "engine", "quickjs.wasm")
		write(target, "an older engine")
		write(target+".sha256", tc.hash)
		write(filepath.Join(dir, "node_modules", "quickjs-wasi", "quickjs.wasm"), tc.module)
		err := install(dir)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: error %v, want one that mentions %q", name, err, tc.want)
		}
		want := "an older engine"
		if tc.want == "" {
			want = module
		}
		if got, _ := os.ReadFile(target); string(got) != want {
			t.Errorf("%s: the target holds %q, want %q", name, got, want)
		}
		if left, _ := filepath.Glob(target + ".*"); len(left) > 1 {
			t.Errorf("%s: left behind: %v", name, left)
		}
	}
}
