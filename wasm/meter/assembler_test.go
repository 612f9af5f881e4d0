package meter

// Hand-made modules for the tests. A module imports env.tick of type [] -> [i32], unless told otherwise, as function 0;
// defined functions follow.
type testModule struct {
	types   [][]byte // encoded function types; type 0 is [] -> [i32]
	imports []byte   // encoded, replacing the import of env.tick
	funcs   []testFunc
	memory  bool // one page, no maximum
	table   []uint32
	extra   []section // appended at their rank
}

type testFunc struct {
	name   string // exported under it, if not empty
	typ    uint32
	locals []byte // encoded, without the count, each one i32
	code   []byte // without the final end
}

func vec(parts ...[]byte) []byte {
	out := appendU32(nil, uint32(len(parts)))
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func str(s string) []byte { return appendVec(nil, []byte(s)) }

func join(parts ...any) []byte {
	var out []byte
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			out = append(out, byte(p))
		case []byte:
			out = append(out, p...)
		case string:
			out = append(out, p...)
		}
	}
	return out
}

func c32(v int32) []byte { return appendS32([]byte{0x41}, v) }

var tickImport = join(str("env"), str("tick"), 0, 0)

func (m testModule) bytes() []byte {
	types := append([][]byte{{0x60, 0, 1, 0x7f}}, m.types...)
	out := []byte("\x00asm\x01\x00\x00\x00")
	add := func(id byte, body []byte) {
		for i := 0; i < len(m.extra); i++ {
			if e := m.extra[i]; rank[e.id] < rank[id] {
				out = appendVec(append(out, e.id), e.body)
				m.extra = append(append([]section(nil), m.extra[:i]...), m.extra[i+1:]...)
				i--
			}
		}
		if body != nil {
			out = appendVec(append(out, id), body)
		}
	}
	add(secType, vec(types...))
	imports := m.imports
	if imports == nil {
		imports = vec(tickImport)
	}
	add(secImport, imports)
	var funcs, exports, codes [][]byte
	for i, f := range m.funcs {
		funcs = append(funcs, appendU32(nil, f.typ))
		if f.name != "" {
			exports = append(exports, join(str(f.name), 0, appendU32(nil, uint32(i+1))))
		}
		body := append(appendU32(nil, uint32(len(f.locals)/2)), f.locals...)
		body = append(append(body, f.code...), opEnd)
		codes = append(codes, appendVec(nil, body))
	}
	if len(funcs) > 0 {
		add(secFunction, vec(funcs...))
	}
	if m.table != nil {
		add(secTable, vec(join(0x70, 0, appendU32(nil, uint32(len(m.table))))))
	}
	if m.memory {
		add(secMemory, vec([]byte{0, 1}))
		exports = append(exports, join(str("memory"), 2, 0))
	}
	if len(exports) > 0 {
		add(7, vec(exports...))
	}
	if m.table != nil {
		var idx [][]byte
		for _, f := range m.table {
			idx = append(idx, appendU32(nil, f))
		}
		add(secElement, vec(join(0, c32(0), opEnd, vec(idx...))))
	}
	if len(codes) > 0 {
		add(secCode, vec(codes...))
	}
	add(secData+1, nil)
	return out
}
