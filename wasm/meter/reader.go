package meter

import "fmt"

// reader walks the bytes of a module. The first failure sticks: later reads return zero values, and err says where it was.
type reader struct {
	data []byte
	pos  int
	base int // offset of data in the module, for messages
	err  error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: at byte %d: %s", ErrMalformed, r.base+r.pos, fmt.Sprintf(format, args...))
	}
}

func (r *reader) unsupported(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: at byte %d: %s", ErrUnsupported, r.base+r.pos, fmt.Sprintf(format, args...))
	}
}

func (r *reader) more() bool { return r.err == nil && r.pos < len(r.data) }

func (r *reader) byte() byte {
	if r.err != nil {
		return 0
	}
	if r.pos >= len(r.data) {
		r.fail("unexpected end")
		return 0
	}
	b := r.data[r.pos]
	r.pos++
	return b
}

// take returns the next n bytes, without copying.
func (r *reader) take(n uint32) []byte {
	if r.err != nil {
		return nil
	}
	if uint64(n) > uint64(len(r.data)-r.pos) {
		r.fail("want %d bytes, have %d", n, len(r.data)-r.pos)
		return nil
	}
	b := r.data[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return b
}

// sub returns a reader of the next n bytes.
func (r *reader) sub(n uint32) *reader {
	base := r.base + r.pos
	return &reader{data: r.take(n), base: base, err: r.err}
}

// leb reads a LEB128 number of at most bits value bits and returns its low 64 bits, unsigned.
func (r *reader) leb(bits uint) uint64 {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		b := r.byte()
		if r.err != nil {
			return 0
		}
		if shift >= bits {
			r.fail("number longer than %d bits", bits)
			return 0
		}
		v |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			return v
		}
	}
}

func (r *reader) u32() uint32 {
	v := r.leb(32)
	if v > 1<<32-1 {
		r.fail("number longer than 32 bits")
	}
	return uint32(v)
}

func (r *reader) name() string { return string(r.take(r.u32())) }

func appendU32(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// appendS32 appends a signed number, the form of i32.const's operand.
func appendS32(b []byte, v int32) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if (v == 0 && c&0x40 == 0) || (v == -1 && c&0x40 != 0) {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func appendVec(b, content []byte) []byte {
	b = appendU32(b, uint32(len(content)))
	return append(b, content...)
}
