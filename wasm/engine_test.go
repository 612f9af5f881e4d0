package wasm

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"
)

//go:embed testdata/controller.js
var testController string

// shared is the engine of most tests, with the small controller of testdata.
var shared *Engine

// cacheDir holds the compiled code of all engines of the tests that don't say otherwise.
var cacheDir string

func newEngine(t testing.TB, cfg Config) *Engine {
	t.Helper()
	cfg.CacheDir = cacheDir
	e, err := NewEngine(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func TestMain(m *testing.M) {
	var err error
	if cacheDir, err = os.MkdirTemp("", "codecell-wasm"); err != nil {
		panic(err)
	}
	if shared, err = NewEngine(context.Background(), Config{CacheDir: cacheDir, controller: testController}); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = shared.Close()
	os.RemoveAll(cacheDir)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func testLimits() Limits {
	return Limits{MemoryBytes: 64 << 20, OutputBytes: 64 << 10, Requests: 144}
}

func newImage(t testing.TB, e *Engine) *Image {
	t.Helper()
	img, err := e.NewImage(t.Context(), []byte(`{"tools":["read"]}`))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func acquire(t testing.TB, img *Image, limits Limits, world Env) *Guest {
	t.Helper()
	g, err := img.engine.Acquire(t.Context(), img, limits, world)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

func newGuest(t testing.TB) *Guest {
	t.Helper()
	return acquire(t, newImage(t, shared), testLimits(), Env{})
}

// start runs a program whose leg must end by itself.
func start(t testing.TB, g *Guest, source string) Leg {
	t.Helper()
	leg, err := g.Start(t.Context(), source)
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	return leg
}

func resume(t testing.TB, g *Guest, answers ...Answer) Leg {
	t.Helper()
	leg, err := g.Resume(t.Context(), answers)
	if err != nil {
		t.Fatal(err)
	}
	return leg
}

// value is the program's value; anything else fails the test.
func value(t testing.TB, leg Leg) string {
	t.Helper()
	if leg.Err != nil || leg.Value == nil {
		t.Fatalf("no value: %+v, error %v", leg, leg.Err)
	}
	return string(leg.Value)
}

func TestSpec_L1_RuntimeUnavailable(t *testing.T) {
	module, _, err := engineModule(embedded)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := embedded.ReadFile(enginePath + ".sha256")
	if err != nil {
		t.Fatal(err)
	}
	altered := []byte(string(module))
	altered[len(altered)/2] ^= 1
	file := func(b []byte) *fstest.MapFile { return &fstest.MapFile{Data: b} }
	for name, tc := range map[string]struct {
		cfg  Config
		want string
	}{
		"missing module":  {Config{files: fstest.MapFS{enginePath + ".sha256": file(hash)}}, "make setup"},
		"altered module":  {Config{files: fstest.MapFS{enginePath + ".sha256": file(hash), enginePath: file(altered)}}, "altered"},
		"empty module":    {Config{files: fstest.MapFS{enginePath + ".sha256": file(hash), enginePath: file(nil)}}, "altered"},
		"missing hash":    {Config{files: fstest.MapFS{enginePath: file(module)}}, "hash"},
		"empty hash":      {Config{files: fstest.MapFS{enginePath + ".sha256": file(nil), enginePath: file(module)}}, "altered"},
		"no controller":   {Config{files: fstest.MapFS{enginePath + ".sha256": file(hash), enginePath: file(module), "guest/js/x.txt": file(nil)}}, "controller"},
		"bad controller":  {Config{controller: "(function(){ throw new Error('no start') })()"}, "no start"},
		"not a module":    {Config{controller: testController, rewrite: func([]byte) ([]byte, error) { return []byte("text"), nil }}, "engine module"},
		"too much memory": {Config{MaxMemory: 8 << 30, controller: testController}, "MaxMemory"},
	} {
		e, err := NewEngine(t.Context(), tc.cfg)
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want ErrUnavailable that mentions %q", name, err, tc.want)
		}
		if e != nil {
			t.Errorf("%s: an engine came back with the error", name)
		}
	}
}

func TestBrokenInstallNamesTheCause(t *testing.T) {
	for _, text := range []string{"", "{", `{"tools"`} {
		if _, err := shared.NewImage(t.Context(), []byte(text)); !errors.Is(err, ErrController) || !strings.Contains(err.Error(), "SyntaxError") {
			t.Errorf("install text %q: error %v, want ErrController with the SyntaxError", text, err)
		}
	}
}

func TestCacheDirectory(t *testing.T) {
	runs := func(t *testing.T, dir string) {
		t.Helper()
		e, err := NewEngine(t.Context(), Config{CacheDir: dir, controller: testController})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if v := value(t, start(t, acquire(t, newImage(t, e), testLimits(), Env{}), "return 6*7")); v != "42" {
			t.Errorf("value %s, want 42", v)
		}
	}
	dir := t.TempDir()
	runs(t, dir)
	var entries []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			entries = append(entries, path)
		}
		return err
	})
	if err != nil || len(entries) == 0 {
		t.Fatalf("nothing was cached: %v, error %v", entries, err)
	}
	t.Run("used", func(t *testing.T) { runs(t, dir) })
	t.Run("truncated entry", func(t *testing.T) {
		for _, path := range entries {
			if err := os.Truncate(path, 100); err != nil {
				t.Fatal(err)
			}
		}
		runs(t, dir)
	})
	t.Run("a file where the directory should be", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		runs(t, file)
		runs(t, filepath.Join(file, "below"))
	})
	t.Run("read-only", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		runs(t, dir)
	})
}

func TestImagesAreTheSameInEveryProcess(t *testing.T) {
	other := newEngine(t, Config{controller: testController})
	a, b := newImage(t, shared), newImage(t, other)
	if a.id != b.id || a.sum != b.sum || a.sp != b.sp || a.api != b.api {
		t.Errorf("two builds of one image differ: %x %x", a.sum, b.sum)
	}
	c, err := shared.NewImage(t.Context(), []byte(`{"tools":["write"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if c.ID() == a.ID() {
		t.Error("two catalogs have one image ID")
	}
	if a.Size() > 1<<20 {
		t.Errorf("holding an image costs %d bytes", a.Size())
	}
}

func TestClosedEngineRefusesEverything(t *testing.T) {
	e := newEngine(t, Config{controller: testController})
	img := newImage(t, e)
	g, err := e.Acquire(t.Context(), img, testLimits(), Env{})
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := g.Snapshot(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, startErr := g.Start(t.Context(), "return 1")
	_, snapErr := g.Snapshot(1 << 20)
	_, acquireErr := e.Acquire(t.Context(), img, testLimits(), Env{})
	_, imageErr := e.NewImage(t.Context(), []byte("{}"))
	_, restoreErr := e.Restore(t.Context(), img, snapshot, testLimits(), Env{})
	for name, err := range map[string]error{
		"Start": startErr, "Snapshot": snapErr, "Acquire": acquireErr, "NewImage": imageErr, "Restore": restoreErr,
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: error %v, want ErrClosed", name, err)
		}
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

func TestEveryExportIsThere(t *testing.T) {
	defined := shared.code.ExportedFunctions()
	for x, name := range exportNames {
		if defined[name] == nil {
			t.Errorf("export %d: the engine module has no function %q", x, name)
		}
	}
}
