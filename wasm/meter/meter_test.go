package meter

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// run is a metered module at work.
type run struct {
	mod   api.Module
	calls int // of the import
	limit int // the import says stop at this call; 0: never
}

func start(t *testing.T, module []byte, opts Options) *run {
	t.Helper()
	opts.ImportModule, opts.ImportName = "env", "tick"
	metered, _, err := Instrument(module, opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	rt := wazero.NewRuntime(ctx)
	t.Cleanup(func() { _ = rt.Close(context.Background()) })
	r := &run{}
	_, err = rt.NewHostModuleBuilder("env").NewFunctionBuilder().WithFunc(func() int32 {
		r.calls++
		if r.limit != 0 && r.calls >= r.limit {
			return 1
		}
		return 0
	}).Export("tick").Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if r.mod, err = rt.Instantiate(ctx, metered); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *run) call(t *testing.T, name string, args ...uint64) ([]uint64, error) {
	t.Helper()
	return r.mod.ExportedFunction(name).Call(t.Context(), args...)
}

// Code of a function with parameter n that counts it down: loop { if n == 0 return; n--; continue }.
var countdown = join(opLoop, 0x40, 0x20, 0, 0x04, 0x40, 0x20, 0, c32(1), 0x6b, 0x21, 0, 0x0c, 1, opEnd, opEnd)

var i32ToNone = []byte{0x60, 1, 0x7f, 0}

func TestLoopsPayForEachPass(t *testing.T) {
	m := testModule{types: [][]byte{i32ToNone}, funcs: []testFunc{{name: "f", typ: 1, code: countdown}}}
	r := start(t, m.bytes(), Options{Interval: 100})
	if _, err := r.call(t, "f", 1000); err != nil {
		t.Fatal(err)
	}
	// 1001 passes from a full tank: it runs dry below 0, after 101.
	if r.calls != 1001/101 {
		t.Errorf("the import was called %d times, want %d", r.calls, 1001/101)
	}
}

func TestStopsWhatNeverEnds(t *testing.T) {
	forever := join(opLoop, 0x40, 0x0c, 0, opEnd)
	// tree(n): if n { tree(n-1); tree(n-1) }, without a loop: 2^40 calls.
	tree := func(self int) []byte {
		half := join(0x20, 0, c32(1), 0x6b, opCall, self)
		return join(0x20, 0, opIf, 0x40, half, half, opEnd)
	}
	indirect := join(0x20, 0, opIf, 0x40,
		0x20, 0, c32(1), 0x6b, c32(0), opCallIndirect, 1, 0, 0x20, 0, c32(1), 0x6b, c32(0), opCallIndirect, 1, 0, opEnd)
	fill := join(opLoop, 0x40, c32(0), c32(7), c32(65536), 0xfc, 11, 0, 0x0c, 0, opEnd)
	for _, tc := range []struct {
		name   string
		module testModule
	}{
		{"loop", testModule{funcs: []testFunc{{name: "f", typ: 1, code: forever}}}},
		{"self recursion", testModule{funcs: []testFunc{{name: "f", typ: 1, code: tree(1)}}}},
		{"mutual recursion", testModule{funcs: []testFunc{{name: "f", typ: 1, code: tree(2)}, {typ: 1, code: tree(1)}}}},
		{"recursion through a table", testModule{funcs: []testFunc{{name: "f", typ: 1, code: indirect}}, table: []uint32{1}}},
		{"recursion entered from outside its cycle", testModule{funcs: []testFunc{
			{name: "f", typ: 1, code: join(0x20, 0, opCall, 2)}, {typ: 1, code: tree(3)}, {typ: 1, code: tree(2)}}}},
		{"bulk memory", testModule{memory: true, funcs: []testFunc{{name: "f", typ: 1, code: fill}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.module.types = [][]byte{i32ToNone}
			r := start(t, tc.module.bytes(), Options{Interval: 1000})
			r.limit = 5
			_, err := r.call(t, "f", 40)
			if err == nil || !strings.Contains(err.Error(), "unreachable") {
				t.Errorf("error %v, want a trap by unreachable", err)
			}
			if r.calls != 5 {
				t.Errorf("the import was called %d times, want 5", r.calls)
			}
		})
	}
}

func TestRecursionIsCutOnlyWhereNeeded(t *testing.T) {
	small := join(0x20, 0, opCall, 2)
	large := join(0x20, 0, opCall, 1, 0x01, 0x01, 0x01)
	m := testModule{types: [][]byte{i32ToNone}, funcs: []testFunc{
		{typ: 1, code: small}, {typ: 1, code: large}, // a cycle
		{typ: 1, code: join(0x20, 0, opCall, 1)}, // leads into it
		{typ: 1, code: join(0x01)},               // a leaf
		{typ: 1, code: join(0x20, 0, opCall, 4)}, // calls the leaf
	}}
	parsed, err := parseModule(m.bytes())
	if err != nil {
		t.Fatal(err)
	}
	parsed.tabled = make([]bool, len(parsed.funcs))
	cut, err := cutRecursion(parsed)
	if err != nil {
		t.Fatal(err)
	}
	want := []bool{false, true, false, false, false}
	for i := range want {
		if cut[i] != want[i] {
			t.Errorf("function %d: charged %v, want %v", i, cut[i], want[i])
		}
	}
}

// Code of f(d, s|v, n) for the bulk instructions, with the memory grown to 32 pages first.
func bulkModule() []byte {
	three := []byte{0x60, 3, 0x7f, 0x7f, 0x7f, 0}
	args := join(0x20, 0, 0x20, 1, 0x20, 2)
	return testModule{types: [][]byte{three, i32ToNone}, memory: true, funcs: []testFunc{
		{name: "copy", typ: 1, code: join(args, 0xfc, 10, 0, 0)},
		{name: "fill", typ: 1, code: join(args, 0xfc, 11, 0)},
		{name: "grow", typ: 2, code: join(0x20, 0, 0x40, 0, 0x1a)},
	}}.bytes()
}

func TestBulkMemoryKeepsItsMeaning(t *testing.T) {
	const size = 32 << 16
	seed := make([]byte, size)
	for i := range seed {
		seed[i] = byte(i*7 + i>>8)
	}
	for _, tc := range []struct {
		op      string
		d, s, n uint32
		traps   bool
	}{
		{"copy", 0, 100, 10, false},
		{"copy", 10, 0, 1 << 20, false}, // overlapping, from the back
		{"copy", 0, 10, 1 << 20, false}, // overlapping, from the front
		{"copy", 300 << 10, 0, 1<<20 + 7, false},
		{"copy", 0, 1 << 20, 1 << 20, false},
		{"copy", 5, 5, chunk + 1, false},
		{"copy", 0, 0, 0, false},
		{"copy", size, 0, 0, false},
		{"copy", size - 10, 0, 11, true},
		{"copy", 0, size - chunk, chunk + 1, true},
		{"copy", size - 2*chunk, 0, 3 * chunk, true},
		{"copy", 0xffffffff, 0, 0xffffffff, true},
		{"fill", 3, 0x1ab, 5, false},
		{"fill", 3, 0x1ab, 1<<20 + 1, false},
		{"fill", 0, 9, chunk, false},
		{"fill", size - 5, 9, 6, true},
		{"fill", 1, 9, size, true},
		{"fill", 0xfffffff0, 9, 0xfffffff0, true},
	} {
		r := start(t, bulkModule(), Options{Interval: 1000})
		if _, err := r.call(t, "grow", 31); err != nil {
			t.Fatal(err)
		}
		mem, _ := r.mod.Memory().Read(0, size)
		copy(mem, seed)
		want := bytes.Clone(seed)
		switch {
		case tc.traps:
		case tc.op == "copy":
			copy(want[tc.d:tc.d+tc.n], want[tc.s:tc.s+tc.n])
		default:
			for i := tc.d; i < tc.d+tc.n; i++ {
				want[i] = byte(tc.s)
			}
		}
		_, err := r.call(t, tc.op, uint64(tc.d), uint64(tc.s), uint64(tc.n))
		if (err != nil) != tc.traps {
			t.Errorf("%s(%d, %d, %d): error %v, want a trap: %v", tc.op, tc.d, tc.s, tc.n, err, tc.traps)
		}
		if !bytes.Equal(mem, want) {
			t.Errorf("%s(%d, %d, %d): wrong memory", tc.op, tc.d, tc.s, tc.n)
		}
	}
}

func TestBulkMemoryPaysBySize(t *testing.T) {
	r := start(t, bulkModule(), Options{Interval: 1000})
	if _, err := r.call(t, "grow", 31); err != nil {
		t.Fatal(err)
	}
	const units = 1 << 20 >> unitShift
	if _, err := r.call(t, "fill", 0, 0, 1<<20); err != nil {
		t.Fatal(err)
	}
	// Each piece of 256 KiB costs more than a tank, so each asks once.
	if want := 1 << 20 / chunk; r.calls != want {
		t.Errorf("filling %d units asked %d times, want %d", units, r.calls, want)
	}
}

func TestRefusesWhatItCannotCharge(t *testing.T) {
	one := func(code ...byte) testModule {
		return testModule{types: [][]byte{i32ToNone}, funcs: []testFunc{{name: "f", typ: 1, code: code}}}
	}
	for _, tc := range []struct {
		name   string
		module testModule
		want   error
	}{
		{"tail call", one(0x12, 1), ErrUnsupported},
		{"indirect tail call", one(0x13, 0, 0), ErrUnsupported},
		{"legacy try", one(0x06, 0x40, opEnd), ErrUnsupported},
		{"try_table", one(0x1f, 0x40, 0, opEnd), ErrUnsupported},
		{"vector instruction", one(0xfd, 12), ErrUnsupported},
		{"atomic instruction", one(0xfe, 0), ErrUnsupported},
		{"garbage-collected types", one(0xfb, 0), ErrUnsupported},
		{"table.grow", one(0xd0, 0x70, 0x41, 1, 0xfc, 15, 0), ErrUnsupported},
		{"unassigned opcode", one(0x27), ErrUnsupported},
		{"unassigned prefixed opcode", one(0xfc, 40), ErrUnsupported},
		{"memory operand of another memory", one(0x41, 0, 0x28, 0x40, 0, 0), ErrUnsupported},
		{"call of a function that isn't there", one(opCall, 9), ErrMalformed},
		{"instruction without its operand", one(0x43), ErrMalformed},
	} {
		_, _, err := Instrument(tc.module.bytes(), Options{ImportModule: "env", ImportName: "tick", Interval: 10})
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: error %v, want %v", tc.name, err, tc.want)
		}
	}
}

func TestRefusesBadInput(t *testing.T) {
	good := testModule{types: [][]byte{i32ToNone}, funcs: []testFunc{{name: "f", typ: 1, code: countdown}}}
	opts := Options{ImportModule: "env", ImportName: "tick", Interval: 10}
	whole := good.bytes()
	onlyImports := len(testModule{types: good.types}.bytes()) // a module that defines nothing is a module too
	for n := range whole {
		if _, _, err := Instrument(whole[:n], opts); (err == nil) != (n == onlyImports) {
			t.Errorf("cut after %d bytes: error %v", n, err)
		}
	}
	for name, o := range map[string]Options{
		"no interval":     {ImportModule: "env", ImportName: "tick"},
		"other function":  {ImportModule: "env", ImportName: "tock", Interval: 10},
		"other module":    {ImportModule: "sys", ImportName: "tick", Interval: 10},
		"negative":        {ImportModule: "env", ImportName: "tick", Interval: -1},
		"too long a tank": {ImportModule: "env", ImportName: "tick", Interval: 1<<30 + 1},
	} {
		if _, _, err := Instrument(good.bytes(), o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	wrongType := good
	wrongType.imports = vec(join(str("env"), str("tick"), 0, 1))
	if _, _, err := Instrument(wrongType.bytes(), opts); err == nil {
		t.Error("an import of type [i32] -> []: no error")
	}
}

// A module with neither functions, globals nor code gets the sections it lacks, at their places.
func TestAddsMissingSections(t *testing.T) {
	out, _, err := Instrument(testModule{memory: true}.bytes(), Options{ImportModule: "env", ImportName: "tick", Interval: 10})
	if err != nil {
		t.Fatal(err)
	}
	rt := wazero.NewRuntime(t.Context())
	defer rt.Close(context.Background())
	if _, err := rt.CompileModule(t.Context(), out); err != nil {
		t.Error(err)
	}
}

func FuzzInstrument(f *testing.F) {
	f.Add(bulkModule())
	f.Add(testModule{types: [][]byte{i32ToNone}, funcs: []testFunc{{name: "f", typ: 1, code: countdown}}, table: []uint32{1}}.bytes())
	f.Add([]byte("\x00asm\x01\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		out, _, err := Instrument(data, Options{ImportModule: "env", ImportName: "tick", Interval: 10})
		if err != nil {
			return
		}
		// Whatever is valid stays valid.
		ctx := context.Background()
		rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
		defer rt.Close(ctx)
		if _, err := rt.CompileModule(ctx, data); err != nil {
			return
		}
		if _, err := rt.CompileModule(ctx, out); err != nil {
			t.Errorf("a valid module became invalid: %v", err)
		}
	})
}
