package wasm

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/codecell/codecell/wasm/meter"
)

// meterInterval is the fuel between two calls of the host: with it, the longest stretch that neither a stop nor the
// garbage collector can end was measured well below a millisecond.
const meterInterval = 2000

// Defaults and bounds of Config.
const (
	// DefaultMaxMemory is the largest Limits.MemoryBytes that guests can be given by default: 1 GiB.
	DefaultMaxMemory = 1 << 30
	// maxMemoryCeiling keeps memory and overhead within the 4 GiB that a 32-bit machine can address.
	maxMemoryCeiling = 3 << 30
)

// Config says how to make an Engine. The zero value is usable.
type Config struct {
	// CacheDir is a directory for compiled code, which makes later starts of a process fast (10 ms for 300 ms). Empty: no
	// cache. A directory that can't be made, read or written is ignored.
	CacheDir string
	// MaxMemory bounds Limits.MemoryBytes of all guests, in bytes. It decides how much address space each reserves.
	// 0 means DefaultMaxMemory.
	MaxMemory int64
	// IdleMachines is the number of instances kept for reuse. 0 means two for each processor.
	IdleMachines int

	// Replaced in tests only.
	files      fs.FS                        // embedded
	controller string                       // source of the embedded scripts
	rewrite    func([]byte) ([]byte, error) // instrument
}

// Engine makes images and guests. One a process is enough: it's safe for use by many goroutines.
type Engine struct {
	rt        wazero.Runtime
	code      wazero.CompiledModule
	cache     wazero.CompilationCache // nil without
	sum       [sha256.Size]byte       // of the engine module
	maxMemory int64
	base      *baseImage
	pool      pool

	// life is read-locked by whoever makes instances, so that none is made once Close has begun.
	life   sync.RWMutex
	closed bool

	mu     sync.Mutex
	guests map[*Guest]struct{}
}

// NewEngine verifies, meters and compiles the embedded engine module, and prepares the memory image in which the
// controller is installed. Every error matches ErrUnavailable.
func NewEngine(ctx context.Context, cfg Config) (*Engine, error) {
	if cfg.files == nil {
		cfg.files = embedded
	}
	if cfg.MaxMemory == 0 {
		cfg.MaxMemory = DefaultMaxMemory
	}
	if cfg.MaxMemory < minMemory || cfg.MaxMemory > maxMemoryCeiling {
		return nil, unavailable("Config.MaxMemory is %d: want %d to %d bytes", cfg.MaxMemory, minMemory, int64(maxMemoryCeiling))
	}
	if cfg.rewrite == nil {
		cfg.rewrite = instrument
	}
	if cfg.IdleMachines <= 0 {
		cfg.IdleMachines = 2 * runtime.GOMAXPROCS(0)
	}
	module, sum, err := engineModule(cfg.files)
	if err != nil {
		return nil, err
	}
	if cfg.controller == "" {
		if cfg.controller, err = controllerSource(cfg.files); err != nil {
			return nil, err
		}
	}
	metered, err := cfg.rewrite(module)
	if err != nil {
		return nil, unavailable("engine module: %w", err)
	}
	e := &Engine{sum: sum, maxMemory: cfg.MaxMemory, guests: make(map[*Guest]struct{})}
	e.pool.size = cfg.IdleMachines
	if err := e.compile(ctx, metered, cfg.CacheDir); err != nil {
		return nil, unavailable("engine module: %w", err)
	}
	if e.base, err = e.buildBase(ctx, cfg.controller); err != nil {
		e.shutdown()
		return nil, unavailable("controller: %w", err)
	}
	return e, nil
}

func instrument(module []byte) ([]byte, error) {
	out, _, err := meter.Instrument(module, meter.Options{
		ImportModule: "env", ImportName: "host_interrupt", Interval: meterInterval,
	})
	return out, err
}

// compile fills rt and code, with the cache if it works and without if not.
func (e *Engine) compile(ctx context.Context, module []byte, cacheDir string) error {
	if cacheDir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(cacheDir)
		if err == nil {
			e.cache = cache
			if e.compileWith(ctx, module) == nil {
				return nil
			}
			e.shutdown()
			e.cache = nil
		}
	}
	err := e.compileWith(ctx, module)
	if err != nil {
		e.shutdown()
	}
	return err
}

func (e *Engine) compileWith(ctx context.Context, module []byte) error {
	pages := linearLimit(uint64(maxImageBytes), e.maxMemory) / wasmPage
	cfg := wazero.NewRuntimeConfig().
		WithMemoryLimitPages(uint32(min(pages, 65536))).
		WithCoreFeatures(api.CoreFeaturesV2).
		WithDebugInfoEnabled(false)
	if e.cache != nil {
		cfg = cfg.WithCompilationCache(e.cache)
	}
	e.rt = wazero.NewRuntimeWithConfig(ctx, cfg)
	if err := bindImports(ctx, e.rt); err != nil {
		return err
	}
	code, err := e.rt.CompileModule(ctx, module)
	if err != nil {
		return err
	}
	e.code = code
	return nil
}

// Close stops every running leg (its error matches ErrClosed), closes all guests and frees everything the engine holds.
// It returns when that's done. Further use of the engine or its guests fails with ErrClosed.
func (e *Engine) Close() error {
	e.life.Lock()
	done := e.closed
	e.closed = true
	e.life.Unlock()
	if done {
		return nil
	}
	e.mu.Lock()
	guests := slices.Collect(maps.Keys(e.guests))
	e.mu.Unlock()
	for _, g := range guests {
		g.env.stop.closed.Store(true)
	}
	for _, g := range guests {
		_ = g.Close()
	}
	e.pool.close()
	e.shutdown()
	return nil
}

func (e *Engine) shutdown() {
	ctx := context.Background()
	if e.rt != nil {
		_ = e.rt.Close(ctx)
	}
	if e.cache != nil {
		_ = e.cache.Close(ctx)
	}
}

// enter keeps the engine open until the returned function is called.
func (e *Engine) enter() (leave func(), err error) {
	e.life.RLock()
	if e.closed {
		e.life.RUnlock()
		return nil, fmt.Errorf("engine: %w", ErrClosed)
	}
	return e.life.RUnlock, nil
}

func (e *Engine) register(g *Guest) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.guests[g] = struct{}{}
}

func (e *Engine) unregister(g *Guest) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.guests, g)
}
