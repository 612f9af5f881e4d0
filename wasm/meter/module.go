package meter

import "bytes"

const (
	secCustom    = 0
	secType      = 1
	secImport    = 2
	secFunction  = 3
	secTable     = 4
	secMemory    = 5
	secGlobal    = 6
	secElement   = 9
	secDataCount = 12
	secCode      = 10
	secData      = 11
)

// rank orders the known sections as the format demands (the data count stands before the code).
var rank = map[byte]int{
	secType: 1, secImport: 2, secFunction: 3, secTable: 4, secMemory: 5, secGlobal: 6, 7: 7, 8: 8, secElement: 9,
	secDataCount: 10, secCode: 11, secData: 12,
}

type section struct {
	id   byte
	body []byte
	base int
}

type funcType struct {
	params  int
	results []byte
}

// module is what the rewriter needs to know of a module.
type module struct {
	sections []section // in input order
	types    []funcType
	imports  []importedFunc
	globals  int      // imported and defined
	memories int      // imported and defined
	funcs    []uint32 // type index of each defined function
	bodies   []body
	// tabled tells which defined functions can be called through a table. nil stands for all.
	tabled []bool
}

type importedFunc struct {
	module, name string
	typ          uint32
}

// body is one code entry: declared locals and expression.
type body struct {
	groups int    // number of local groups
	locals uint64 // number of declared locals
	decls  []byte // the groups, as encoded, without their count
	expr   []byte
	base   int // offset of expr in the module
}

func parseModule(data []byte) (*module, error) {
	r := &reader{data: data}
	if !bytes.Equal(r.take(8), []byte("\x00asm\x01\x00\x00\x00")) {
		r.fail("no WebAssembly 1.0 header")
	}
	m := &module{}
	last := 0
	for r.more() {
		id := r.byte()
		base := r.sub(r.u32())
		if r.err != nil {
			break
		}
		m.sections = append(m.sections, section{id: id, body: base.data, base: base.base})
		if id == secCustom {
			continue
		}
		if rank[id] == 0 {
			r.unsupported("section %d", id)
			break
		}
		if rank[id] <= last {
			r.fail("section %d out of order", id)
			break
		}
		last = rank[id]
		m.parseSection(id, base)
		if base.err == nil && base.pos != len(base.data) && !opaque(id) {
			base.fail("section %d has %d bytes too many", id, len(base.data)-base.pos)
		}
		r.err = base.err
	}
	if r.err == nil && len(m.funcs) != len(m.bodies) {
		r.fail("%d functions declared, %d defined", len(m.funcs), len(m.bodies))
	}
	return m, r.err
}

// opaque says that the section is carried over without being read to its end.
func opaque(id byte) bool {
	switch id {
	case secTable, secGlobal, 7, 8, secDataCount, secData:
		return true
	}
	return false
}

func (m *module) parseSection(id byte, r *reader) {
	switch id {
	case secType:
		for n := r.u32(); n > 0 && r.err == nil; n-- {
			if r.byte() != 0x60 {
				r.unsupported("type that isn't a function")
				return
			}
			np := r.u32()
			r.take(np)
			m.types = append(m.types, funcType{params: int(np), results: r.take(r.u32())})
		}
	case secImport:
		for n := r.u32(); n > 0 && r.err == nil; n-- {
			m.parseImport(r)
		}
	case secFunction:
		for n := r.u32(); n > 0 && r.err == nil; n-- {
			t := r.u32()
			if int64(t) >= int64(len(m.types)) {
				r.fail("type %d of %d", t, len(m.types))
			}
			m.funcs = append(m.funcs, t)
		}
	case secMemory:
		for n := r.u32(); n > 0 && r.err == nil; n-- {
			m.memories++
			limits(r)
		}
	case secGlobal:
		m.globals += int(r.u32())
	case secElement:
		m.parseElements(r)
	case secCode:
		for n := r.u32(); n > 0 && r.err == nil; n-- {
			m.parseBody(r)
		}
	}
}

func (m *module) parseImport(r *reader) {
	mod, name := r.name(), r.name()
	switch kind := r.byte(); kind {
	case 0:
		t := r.u32()
		if int64(t) >= int64(len(m.types)) {
			r.fail("type %d of %d", t, len(m.types))
		}
		m.imports = append(m.imports, importedFunc{mod, name, t})
	case 1:
		r.byte()
		limits(r)
	case 2:
		m.memories++
		limits(r)
	case 3:
		m.globals++
		r.take(2)
	default:
		r.unsupported("import of kind %d", kind)
	}
}

// parseElements fills tabled, if the segments are of the plain kind: functions by index, for table 0. Other kinds are
// skipped, and then every function may be in a table.
func (m *module) parseElements(r *reader) {
	tabled := make([]bool, len(m.funcs))
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		if r.u32() != 0 {
			r.pos = len(r.data)
			return
		}
		for r.err == nil && skipInstr(r).op != opEnd { // offset
		}
		for k := r.u32(); k > 0 && r.err == nil; k-- {
			f := int(r.u32()) - len(m.imports)
			if f >= len(m.funcs) {
				r.fail("element names function %d of %d", f+len(m.imports), len(m.imports)+len(m.funcs))
			} else if f >= 0 {
				tabled[f] = true
			}
		}
	}
	m.tabled = tabled
}

func limits(r *reader) {
	flags := r.byte()
	if flags > 1 {
		r.unsupported("limits of kind %d (shared or 64-bit)", flags)
	}
	r.u32()
	if flags == 1 {
		r.u32()
	}
}

func (m *module) parseBody(r *reader) {
	b := r.sub(r.u32())
	var out body
	groups := b.u32()
	start := b.pos
	for i := uint32(0); i < groups && b.err == nil; i++ {
		out.locals += uint64(b.u32())
		b.byte()
	}
	if b.err == nil && out.locals > 50000 {
		b.unsupported("function with %d locals", out.locals)
	}
	if b.err != nil {
		r.err = b.err
		return
	}
	out.groups = int(groups)
	out.decls = b.data[start:b.pos]
	out.expr = b.data[b.pos:]
	out.base = b.base + b.pos
	m.bodies = append(m.bodies, out)
}
