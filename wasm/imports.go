package wasm

import (
	"context"
	"errors"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// WASI error numbers.
const (
	wasiSuccess = 0
	wasiBadF    = 8
	wasiInval   = 28
	wasiNoSys   = 52
)

// bindImports defines the 12 functions that the engine module imports.
func bindImports(ctx context.Context, rt wazero.Runtime) error {
	const i32, i64 = api.ValueTypeI32, api.ValueTypeI64
	type fn struct {
		name    string
		f       api.GoModuleFunc
		params  []api.ValueType
		results []api.ValueType
	}
	one := []api.ValueType{i32}
	module := func(name string, fns []fn) error {
		b := rt.NewHostModuleBuilder(name)
		for _, f := range fns {
			b.NewFunctionBuilder().WithGoModuleFunction(f.f, f.params, f.results).Export(f.name)
		}
		_, err := b.Instantiate(ctx)
		return err
	}
	// The guest has no modules and lives in UTC.
	zero := func(_ context.Context, _ api.Module, s []uint64) { s[0] = 0 }
	answer := func(errno uint64) api.GoModuleFunc {
		return func(_ context.Context, _ api.Module, s []uint64) { s[0] = errno }
	}
	return errors.Join(
		module("env", []fn{
			{"host_call", hostCall, []api.ValueType{i32, i32, i32, i32, i32}, one},
			{"host_interrupt", hostInterrupt, nil, one},
			{"host_promise_rejection", hostRejection, []api.ValueType{i32, i32, i32}, nil},
			{"host_module_normalize", zero, []api.ValueType{i32, i32}, one},
			{"host_module_load", zero, []api.ValueType{i32, i32}, one},
			{"host_get_timezone_offset", zero, []api.ValueType{i32, i32}, one},
		}),
		module("wasi_snapshot_preview1", []fn{
			{"clock_time_get", clockTimeGet, []api.ValueType{i32, i64, i32}, one},
			{"random_get", randomGet, []api.ValueType{i32, i32}, one},
			{"fd_write", fdWrite, []api.ValueType{i32, i32, i32, i32}, one},
			{"fd_close", answer(wasiNoSys), []api.ValueType{i32}, one},
			{"fd_fdstat_get", answer(wasiBadF), []api.ValueType{i32, i32}, one},
			{"fd_seek", answer(wasiNoSys), []api.ValueType{i32, i64, i32, i32}, one},
		}),
	)
}

// hostInterrupt is called by the meter each time the fuel is used up. Being a Go function, it's also where a waiting
// garbage collector gets its turn.
func hostInterrupt(ctx context.Context, _ api.Module, s []uint64) {
	e := envOf(ctx)
	if sp := e.machine.sp.Get(); e.deepest == 0 || sp < e.deepest {
		e.deepest = sp
	}
	e.refuels++
	s[0] = 0
	if e.stop.requested(e.refuels) {
		s[0] = 1
	}
}

func clockTimeGet(ctx context.Context, mod api.Module, s []uint64) {
	now := uint64(envOf(ctx).clock().UnixNano())
	if !mod.Memory().WriteUint64Le(uint32(s[2]), now) {
		s[0] = wasiInval
		return
	}
	s[0] = wasiSuccess
}

func randomGet(ctx context.Context, mod api.Module, s []uint64) {
	b, ok := mod.Memory().Read(uint32(s[0]), uint32(s[1]))
	if !ok {
		s[0] = wasiInval
		return
	}
	envOf(ctx).fillRandom(b)
	s[0] = wasiSuccess
}

// fdWrite swallows what the engine would print to stdout and stderr (its own diagnostics; programs can't reach it).
func fdWrite(_ context.Context, mod api.Module, s []uint64) {
	iovs, n, out := uint32(s[1]), uint32(s[2]), uint32(s[3])
	var total uint32
	for i := uint32(0); i < min(n, 1024); i++ {
		size, ok := mod.Memory().ReadUint32Le(iovs + 8*i + 4)
		if !ok {
			s[0] = wasiInval
			return
		}
		total += size
	}
	if !mod.Memory().WriteUint32Le(out, total) {
		s[0] = wasiInval
		return
	}
	s[0] = wasiSuccess
}

var errNestedCall = errors.New("the engine called the host from within a host call")

// hostCall serves the one host function that the controller holds. Arguments stay the caller's; the result, a new value,
// becomes the caller's. 0 says that an exception is pending.
func hostCall(ctx context.Context, _ api.Module, s []uint64) {
	e := envOf(ctx)
	m := e.machine
	if m.nested {
		panic(errNestedCall)
	}
	m.nested = true
	defer func() { m.nested = false }()
	argc, argv := uint32(s[3]), uint32(s[4])
	var args [3]string
	for i := range min(argc, uint32(len(args))) {
		arg := m.readU32(argv + 4*i)
		str, ok := m.stringOf(ctx, arg, e.scratch)
		if !ok && m.call32(ctx, xIsString, uint64(arg)) != 0 {
			s[0] = 0 // the conversion failed, for want of memory, and left its exception
			return
		}
		args[i] = str
	}
	s[0] = uint64(e.serve(ctx, args))
}

func (e *env) serve(ctx context.Context, args [3]string) uint32 {
	m := e.machine
	if e.host == nil {
		return e.throw(ctx, "the host isn't reachable while the image is made")
	}
	result, throw := e.host.hostOp(args[0], args[1], args[2])
	switch {
	case throw != "":
		return e.throw(ctx, throw)
	case result.kind == resultNumber:
		return m.call32(ctx, xNewNumber, api.EncodeF64(result.num))
	case result.kind == resultString:
		v := m.newString(ctx, result.str)
		if v == 0 {
			m.call(ctx, xThrowOutOfMemory, uint64(e.context))
		}
		return v
	}
	return m.call32(ctx, xUndefined)
}

// throw leaves a RangeError pending. The text is a C format: it must not contain '%'.
func (e *env) throw(ctx context.Context, text string) uint32 {
	m := e.machine
	ptr := m.alloc(ctx, text)
	if ptr == 0 {
		m.call(ctx, xThrowOutOfMemory, uint64(e.context))
		return 0
	}
	m.call(ctx, xThrowRangeError, uint64(e.context), uint64(ptr), uint64(e.scratch))
	m.free(ctx, ptr)
	return 0
}
