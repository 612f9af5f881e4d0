package meter

// Opcodes that the rewriter acts on.
const (
	opUnreachable  = 0x00
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0b
	opReturn       = 0x0f
	opCall         = 0x10
	opCallIndirect = 0x11
	opRefFunc      = 0xd2
	opPrefix       = 0xfc
	subMemoryCopy  = 10
	subMemoryFill  = 11
)

// instr is one instruction as skipInstr saw it.
type instr struct {
	op  byte
	sub uint32 // of opPrefix
	arg uint32 // callee of opCall
}

// skipInstr reads one instruction with its immediates. Opcodes it doesn't know fail with ErrUnsupported.
func skipInstr(r *reader) instr {
	in := instr{op: r.byte()}
	switch op := in.op; {
	case op == 0x00, op == 0x01: // unreachable, nop
	case op == opBlock, op == opLoop, op == opIf:
		r.leb(33)
	case op == opElse, op == opEnd, op == opReturn:
	case op == 0x0c, op == 0x0d: // br, br_if
		r.u32()
	case op == 0x0e: // br_table
		for n := uint64(r.u32()) + 1; n > 0 && r.err == nil; n-- {
			r.u32()
		}
	case op == opCall:
		in.arg = r.u32()
	case op == opCallIndirect:
		r.u32()
		r.u32()
	case op == 0x1a, op == 0x1b: // drop, select
	case op == 0x1c: // select with types
		r.take(r.u32())
	case op >= 0x20 && op <= 0x26: // local.*, global.*, table.get, table.set
		r.u32()
	case op >= 0x28 && op <= 0x3e: // loads and stores
		if align := r.u32(); align >= 32 {
			r.unsupported("memory operand with flags %#x", align)
		}
		r.u32()
	case op == 0x3f, op == 0x40: // memory.size, memory.grow
		r.u32()
	case op == 0x41: // i32.const
		r.leb(32)
	case op == 0x42: // i64.const
		r.leb(64)
	case op == 0x43: // f32.const
		r.take(4)
	case op == 0x44: // f64.const
		r.take(8)
	case op >= 0x45 && op <= 0xc4: // comparison, arithmetic, conversion, sign extension
	case op == 0xd0: // ref.null
		r.byte()
	case op == 0xd1: // ref.is_null
	case op == opRefFunc:
		r.u32()
	case op == opPrefix:
		in.sub = r.u32()
		skipPrefixed(r, in.sub)
	default:
		r.unsupported("opcode %#02x", op)
	}
	return in
}

// skipPrefixed reads the immediates of a 0xFC instruction. table.grow and table.fill are left out: their cost is bounded
// by nothing that the meter knows.
func skipPrefixed(r *reader, sub uint32) {
	switch {
	case sub <= 7: // saturating conversions
	case sub == 8: // memory.init: bounded by its data segment
		r.u32()
		r.u32()
	case sub == 9: // data.drop
		r.u32()
	case sub == subMemoryCopy:
		if to, from := r.u32(), r.u32(); to != 0 || from != 0 {
			r.unsupported("memory.copy between memories")
		}
	case sub == subMemoryFill:
		if r.u32() != 0 {
			r.unsupported("memory.fill of another memory")
		}
	case sub == 12, sub == 14: // table.init, table.copy: bounded by the table, which can't grow
		r.u32()
		r.u32()
	case sub == 13, sub == 16: // elem.drop, table.size
		r.u32()
	default:
		r.unsupported("opcode 0xfc %d", sub)
	}
}
