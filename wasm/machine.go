package wasm

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// export is an exported function of the engine module. Values cross the boundary as pointers to heap-allocated JSValues,
// which whoever got one must free.
type export int

const (
	xMalloc export = iota
	xFree
	xNewString
	xNewNumber
	xUndefined
	xIsString
	xIsException
	xGetStringLen
	xFreeCString
	xFreeValue
	xValuePtr
	xGetProp
	xGetException
	xCall
	xEval
	xExecuteJob
	xNewHostFunction
	xSetMemoryLimit
	xSetMaxStack
	xAllocatedSize
	xThrowRangeError
	xThrowOutOfMemory
	xRuntimePtr
	xContextPtr
	xInit
	xInitialize
	xTrackRejections
	xRunGC
	xDupValue
	xIsFunction
	xTrue
	xFalse
	xGetFloat64
	exports // their number
)

var exportNames = [exports]string{
	"wasm_malloc", "wasm_free", "qjs_new_string", "qjs_new_number", "qjs_get_undefined", "qjs_is_string", "qjs_is_exception",
	"qjs_get_string_len", "qjs_free_cstring", "qjs_free_value",
	"qjs_get_value_ptr", "qjs_get_prop_string", "qjs_get_exception", "qjs_call", "qjs_eval", "qjs_execute_pending_job",
	"qjs_new_host_function", "qjs_set_memory_limit", "qjs_set_max_stack_size", "qjs_get_allocated_size",
	"JS_ThrowRangeError", "JS_ThrowOutOfMemory", "qjs_get_runtime_ptr", "qjs_get_context_ptr", "qjs_init", "_initialize",
	"qjs_set_promise_rejection_handler", "qjs_run_gc",
	"qjs_dup_value", "qjs_is_function", "qjs_get_true", "qjs_get_false", "qjs_get_float64",
}

// machine is one instance of the engine module.
type machine struct {
	mod    api.Module
	mem    api.Memory
	linear *linearMemory
	sp     api.MutableGlobal
	// Function handles own a native stack each, and a handle can't be called again while it runs. So there are two sets: the
	// outer one for calls from Go, the inner one for calls from within a host function.
	outer, inner [exports]api.Function
	nested       bool
	used         bool         // memory may be other than zero
	holds        *Image       // memory is this image's but for the stale pages; nil: it isn't known what it is
	stale        []uint32     // page numbers, ascending; a guest that is about to run makes holds nil
	stack        [2][6]uint64 // arguments and results of a call, per set

	tidy sync.Mutex // held by whoever touches the memory of an idle machine
	idle bool       // in the pool; guarded by tidy
	last *Image     // of the last guest; set when the machine goes to the pool
}

func newMachine(ctx context.Context, rt wazero.Runtime, code wazero.CompiledModule, limit uint64) (*machine, error) {
	return newMachineWith(ctx, rt, code, &linearMemory{}, limit)
}

func newMachineWith(ctx context.Context, rt wazero.Runtime, code wazero.CompiledModule, linear *linearMemory, limit uint64) (*machine, error) {
	m := &machine{linear: linear}
	m.linear.limit.Store(limit)
	ctx = experimental.WithMemoryAllocator(ctx, m.linear)
	mod, err := rt.InstantiateModule(ctx, code, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, err
	}
	m.mod = mod
	m.mem = mod.Memory()
	sp, ok := mod.ExportedGlobal("__stack_pointer").(api.MutableGlobal)
	if m.mem == nil || !ok {
		_ = mod.Close(ctx)
		return nil, fmt.Errorf("the engine module exports no memory or no mutable __stack_pointer")
	}
	m.sp = sp
	return m, nil
}

// resize grows memory to at least size bytes.
func (m *machine) resize(size uint32) error {
	have := m.mem.Size()
	if have >= size {
		return nil
	}
	if _, ok := m.mem.Grow((size - have + wasmPage - 1) / wasmPage); !ok {
		return fmt.Errorf("%w: %d bytes of memory are over the limit of %d or not to be had", ErrMemory, size, m.linear.limit.Load())
	}
	return nil
}

func (m *machine) close() { _ = m.mod.Close(context.Background()) }

// faultError is a failed call into the machine: after one, the machine's state is unknown.
type faultError struct{ err error }

func (f faultError) Error() string { return f.err.Error() }

// call runs an export. It panics with a faultError if the machine traps; guard turns that into an error at the edge of a leg.
// Most calls come in long sequences none of which makes sense after a trap.
func (m *machine) call(ctx context.Context, x export, args ...uint64) uint64 {
	set, stack := &m.outer, &m.stack[0]
	if m.nested {
		set, stack = &m.inner, &m.stack[1]
	}
	fn := set[x]
	if fn == nil {
		if fn = m.mod.ExportedFunction(exportNames[x]); fn == nil {
			panic(faultError{fmt.Errorf("the engine module doesn't export %s", exportNames[x])})
		}
		set[x] = fn
	}
	n := copy(stack[:], args)
	if err := fn.CallWithStack(ctx, stack[:max(n, 1)]); err != nil {
		panic(faultError{err})
	}
	return stack[0]
}

func (m *machine) call32(ctx context.Context, x export, args ...uint64) uint32 {
	return uint32(m.call(ctx, x, args...))
}

// guard runs f and returns the fault it ended with, if any.
func guard(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			ft, ok := r.(faultError)
			if !ok {
				panic(r)
			}
			err = ft.err
		}
	}()
	f()
	return nil
}

// shallowStack is how much of its stack in linear memory a guest may have been seen to use and keep its native ones, which
// are larger by a constant factor. The meter looks often enough: on the way to the end of the stack about 24 times.
const shallowStack = 64 << 10

// forgetDeepStacks drops the handles that ran guest code. A handle keeps the native stack that its deepest call needed, up to
// 16 MiB with the largest Limits.StackBytes; a new one starts with 10 KiB and grows by copying.
func (m *machine) forgetDeepStacks() {
	m.outer[xCall], m.outer[xExecuteJob], m.outer[xEval] = nil, nil, nil
}

// read copies n bytes of guest memory. Ranges outside it are a fault: the guest's pointers aren't trusted.
func (m *machine) read(ptr, n uint32) []byte {
	b, ok := m.mem.Read(ptr, n)
	if !ok {
		panic(faultError{fmt.Errorf("guest pointer out of range: %d bytes at %#x", n, ptr)})
	}
	return b
}

func (m *machine) readU32(ptr uint32) uint32 {
	v, ok := m.mem.ReadUint32Le(ptr)
	if !ok {
		panic(faultError{fmt.Errorf("guest pointer out of range: 4 bytes at %#x", ptr)})
	}
	return v
}

// bytes returns the whole memory, not a copy. It's valid until the guest runs again.
func (m *machine) bytes() []byte { return m.read(0, m.mem.Size()) }

// alloc copies s and a NUL into guest memory. It returns 0 if the guest has no memory left.
func (m *machine) alloc(ctx context.Context, s string) uint32 {
	if uint64(len(s)) >= math.MaxUint32 {
		return 0
	}
	ptr := m.call32(ctx, xMalloc, uint64(len(s)+1))
	if ptr == 0 {
		return 0
	}
	b := m.read(ptr, uint32(len(s)+1))
	b[copy(b, s)] = 0
	return ptr
}

func (m *machine) free(ctx context.Context, ptr uint32) {
	if ptr != 0 {
		m.call(ctx, xFree, uint64(ptr))
	}
}

// newString makes a JS string. It returns 0 if the guest has no memory left; a pending exception may then be set.
func (m *machine) newString(ctx context.Context, s string) uint32 {
	ptr := m.alloc(ctx, s)
	if ptr == 0 {
		return 0
	}
	v := m.call32(ctx, xNewString, uint64(ptr), uint64(len(s)))
	m.free(ctx, ptr)
	if v != 0 && m.isException(ctx, v) {
		m.freeValue(ctx, v)
		return 0
	}
	return v
}

func (m *machine) isException(ctx context.Context, v uint32) bool {
	return v == 0 || m.call32(ctx, xIsException, uint64(v)) != 0
}

func (m *machine) freeValue(ctx context.Context, v uint32) {
	if v != 0 {
		m.call(ctx, xFreeValue, uint64(v))
	}
}

// stringOf copies a JS string out. ok is false if v is no string, or there's no memory to encode it.
// scratch points to 4 writable bytes of guest memory.
func (m *machine) stringOf(ctx context.Context, v, scratch uint32) (s string, ok bool) {
	if v == 0 || m.call32(ctx, xIsString, uint64(v)) == 0 {
		return "", false
	}
	c := m.call32(ctx, xGetStringLen, uint64(v), uint64(scratch))
	if c == 0 {
		return "", false
	}
	s = string(m.read(c, m.readU32(scratch)))
	m.call(ctx, xFreeCString, uint64(c))
	return s, true
}

// apply calls a JS function with the arguments, which it frees, and `undefined` as this. The result is the caller's.
func (m *machine) apply(ctx context.Context, fn, scratch uint32, args ...uint32) uint32 {
	argv := scratch + argvOffset
	b := m.read(argv, uint32(len(args)*4))
	for i, a := range args {
		putU32(b[4*i:], a)
	}
	this := m.call32(ctx, xUndefined)
	v := m.call32(ctx, xCall, uint64(fn), uint64(this), uint64(len(args)), uint64(argv))
	m.freeValue(ctx, this)
	for _, a := range args {
		m.freeValue(ctx, a)
	}
	return v
}

const (
	// scratchSize is the size of a block in every image for results passed by pointer (offset 0) and arguments of calls.
	scratchSize = 64
	argvOffset  = 16
)
