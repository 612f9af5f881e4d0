package meter

import "fmt"

// chunk is the largest piece that one memory.fill or memory.copy instruction moves, in bytes: about 20 µs of work.
const chunk = 256 << 10

// unitShift makes bulk memory cost one unit per 64 bytes.
const unitShift = 6

// layout holds the indices of what the rewriter adds.
type layout struct {
	fuel               uint32 // global
	refuel, fill, copy uint32 // functions
	typeNone, type3    uint32 // [] -> [] and [i32 i32 i32] -> []
	host               uint32 // the import
}

func rewrite(m *module, opts Options) ([]byte, Report, error) {
	host, err := findImport(m, opts)
	if err != nil {
		return nil, Report{}, err
	}
	if m.memories > 1 {
		return nil, Report{}, fmt.Errorf("%w: %d memories", ErrUnsupported, m.memories)
	}
	first := uint32(len(m.imports) + len(m.funcs))
	l := layout{
		fuel: uint32(m.globals), host: host,
		refuel: first, fill: first + 1, copy: first + 2,
		typeNone: uint32(len(m.types)), type3: uint32(len(m.types) + 1),
	}
	charged, err := cutRecursion(m)
	if err != nil {
		return nil, Report{}, err
	}
	report := Report{Functions: len(m.funcs)}
	var code []byte
	for i, b := range m.bodies {
		f := funcRewriter{layout: l, scratch: uint32(m.types[m.funcs[i]].params) + uint32(b.locals), report: &report}
		entry := charged[i] && !opts.SkipEntries
		out, err := f.rewrite(b, entry)
		if err != nil {
			return nil, Report{}, fmt.Errorf("function %d: %w", len(m.imports)+i, err)
		}
		code = appendVec(code, out)
	}
	added := map[byte]addition{
		secType:     {2, []byte{0x60, 0, 0, 0x60, 3, 0x7f, 0x7f, 0x7f, 0}},
		secFunction: {1, appendU32(nil, l.typeNone)},
		secGlobal:   {1, append(appendS32([]byte{0x7f, 1, 0x41}, opts.Interval), opEnd)},
		secCode:     {1, appendVec(nil, refuelBody(l, opts.Interval))},
	}
	if m.memories == 1 { // the helpers' instructions are only valid with a memory
		added[secFunction] = addition{3, appendU32(appendU32(added[secFunction].content, l.type3), l.type3)}
		c := appendVec(added[secCode].content, fillBody(l))
		added[secCode] = addition{3, appendVec(c, copyBody(l))}
	}
	return assemble(m, code, added), report, nil
}

func findImport(m *module, opts Options) (uint32, error) {
	for i, f := range m.imports {
		if f.module != opts.ImportModule || f.name != opts.ImportName {
			continue
		}
		t := m.types[f.typ]
		if t.params != 0 || len(t.results) != 1 || t.results[0] != 0x7f {
			return 0, fmt.Errorf("import %s.%s: want type [] -> [i32]", f.module, f.name)
		}
		return uint32(i), nil
	}
	return 0, fmt.Errorf("the module doesn't import the function %s.%s, which the meter calls", opts.ImportModule, opts.ImportName)
}

// funcRewriter adds the charges to one function.
type funcRewriter struct {
	layout
	scratch uint32 // the added local
	report  *Report
}

func (f *funcRewriter) rewrite(b body, entry bool) ([]byte, error) {
	out := appendU32(nil, uint32(b.groups)+1)
	out = append(out, b.decls...)
	out = append(out, 1, 0x7f)
	if entry {
		f.report.Entries++
		out = f.charge(out)
	}
	r := &reader{data: b.expr, base: b.base}
	done := 0 // bytes of b.expr already in out
	for r.more() {
		start := r.pos
		switch in := skipInstr(r); {
		case in.op == opLoop:
			f.report.Loops++
			out = append(out, b.expr[done:r.pos]...)
			out = f.charge(out)
			done = r.pos
		case in.op == opPrefix && (in.sub == subMemoryFill || in.sub == subMemoryCopy):
			f.report.Bulk++
			callee := f.fill
			if in.sub == subMemoryCopy {
				callee = f.copy
			}
			out = append(out, b.expr[done:start]...)
			out = appendU32(append(out, opCall), callee)
			done = r.pos
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	return append(out, b.expr[done:]...), nil
}

// charge takes one unit and refuels below zero. The scratch local saves a load of the global.
func (f *funcRewriter) charge(out []byte) []byte {
	out = appendU32(append(out, 0x23), f.fuel)                     // global.get
	out = append(out, 0x41, 1, 0x6b)                               // i32.const 1, i32.sub
	out = appendU32(append(out, 0x22), f.scratch)                  // local.tee
	out = appendU32(append(out, 0x24), f.fuel)                     // global.set
	out = appendU32(append(out, 0x20), f.scratch)                  // local.get
	out = append(out, 0x41, 0, 0x48, opIf, 0x40)                   // i32.const 0, i32.lt_s, if
	return append(appendU32(append(out, opCall), f.refuel), opEnd) // call, end
}

type addition struct {
	count   uint32
	content []byte
}

// assemble writes the module anew, with the code replaced and the additions made.
func assemble(m *module, code []byte, added map[byte]addition) []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	emit := func(id byte, old []byte) {
		a, ok := added[id]
		if !ok {
			out = appendVec(append(out, id), old)
			return
		}
		delete(added, id)
		r := &reader{data: old}
		n := uint32(0)
		if len(old) > 0 {
			n = r.u32()
		}
		rest := old[r.pos:]
		if id == secCode {
			rest = code
		}
		body := append(appendU32(nil, n+a.count), rest...)
		out = appendVec(append(out, id), append(body, a.content...))
	}
	missing := func(before int) {
		for _, id := range []byte{secFunction, secGlobal, secCode} {
			if _, ok := added[id]; ok && rank[id] < before {
				emit(id, nil)
			}
		}
	}
	for _, s := range m.sections {
		if s.id == secCustom {
			out = appendVec(append(out, s.id), s.body)
			continue
		}
		missing(rank[s.id])
		emit(s.id, s.body)
	}
	missing(len(rank) + 1)
	return out
}
