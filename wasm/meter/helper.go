package meter

// asm writes the few instructions that the added functions need.
type asm struct {
	layout
	b []byte
}

func (a *asm) op(ops ...byte) *asm     { a.b = append(a.b, ops...); return a }
func (a *asm) get(local byte) *asm     { return a.op(0x20, local) }
func (a *asm) set(local byte) *asm     { return a.op(0x21, local) }
func (a *asm) i32(v int32) *asm        { a.b = appendS32(append(a.b, 0x41), v); return a }
func (a *asm) add() *asm               { return a.op(0x6a) }
func (a *asm) sub() *asm               { return a.op(0x6b) }
func (a *asm) call(f uint32) *asm      { a.b = appendU32(append(a.b, opCall), f); return a }
func (a *asm) getGlobal(g uint32) *asm { a.b = appendU32(append(a.b, 0x23), g); return a }
func (a *asm) setGlobal(g uint32) *asm { a.b = appendU32(append(a.b, 0x24), g); return a }
func (a *asm) begin(op byte) *asm      { return a.op(op, 0x40) }
func (a *asm) end() *asm               { return a.op(opEnd) }
func (a *asm) memoryFill() *asm        { return a.op(opPrefix, subMemoryFill, 0) }
func (a *asm) memoryCopy() *asm        { return a.op(opPrefix, subMemoryCopy, 0, 0) }

// refuelBody fills the tank and asks the host whether to go on.
func refuelBody(l layout, interval int32) []byte {
	a := &asm{layout: l}
	a.op(0) // no locals
	a.i32(interval).setGlobal(l.fuel)
	a.call(l.host).begin(opIf).op(opUnreachable).end()
	return a.end().b
}

// pay charges the number of units on the stack.
func (a *asm) pay(scratch byte) *asm {
	a.set(scratch)
	a.getGlobal(a.fuel).get(scratch).sub().op(0x22, scratch) // local.tee
	a.setGlobal(a.fuel)
	return a.get(scratch).i32(0).op(0x48).begin(opIf).call(a.refuel).end() // i32.lt_s
}

// checkRange traps if base+n passes the end of memory, as the whole instruction would have before its first byte.
func (a *asm) checkRange(base, n byte) *asm {
	a.get(base).op(0xad).get(n).op(0xad, 0x7c)            // i64.extend_i32_u both, i64.add
	a.op(0x3f, 0, 0xad, 0x42, 16, 0x86)                   // memory.size, extend, i64.const 16, i64.shl
	return a.op(0x56).begin(opIf).op(opUnreachable).end() // i64.gt_u
}

func (a *asm) overChunk(n byte) *asm { return a.get(n).i32(chunk).op(0x4b) } // i32.gt_u

// fillBody is fill(d, v, n).
func fillBody(l layout) []byte {
	const d, v, n, scratch = 0, 1, 2, 3
	a := &asm{layout: l}
	a.op(1, 1, 0x7f) // one i32 local
	a.overChunk(n).begin(opIf)
	a.checkRange(d, n)
	a.begin(opLoop)
	a.i32(chunk >> unitShift).pay(scratch)
	a.get(d).get(v).i32(chunk).memoryFill()
	a.get(d).i32(chunk).add().set(d)
	a.get(n).i32(chunk).sub().set(n)
	a.overChunk(n).op(0x0d, 0) // br_if
	a.end().end()
	a.get(n).i32(unitShift).op(0x76).pay(scratch) // i32.shr_u
	a.get(d).get(v).get(n).memoryFill()
	return a.end().b
}

// copyBody is copy(d, s, n). Overlapping ranges are copied from the side that keeps them right.
func copyBody(l layout) []byte {
	const d, s, n, scratch = 0, 1, 2, 3
	a := &asm{layout: l}
	a.op(1, 1, 0x7f)
	a.overChunk(n).begin(opIf)
	a.checkRange(d, n).checkRange(s, n)
	a.get(d).get(s).op(0x4d).begin(opIf) // i32.le_u: from the front
	a.begin(opLoop)
	a.i32(chunk >> unitShift).pay(scratch)
	a.get(d).get(s).i32(chunk).memoryCopy()
	a.get(d).i32(chunk).add().set(d)
	a.get(s).i32(chunk).add().set(s)
	a.get(n).i32(chunk).sub().set(n)
	a.overChunk(n).op(0x0d, 0).end()
	a.op(opElse) // from the back
	a.begin(opLoop)
	a.i32(chunk >> unitShift).pay(scratch)
	a.get(n).i32(chunk).sub().set(n)
	a.get(d).get(n).add().get(s).get(n).add().i32(chunk).memoryCopy()
	a.overChunk(n).op(0x0d, 0).end()
	a.end().end()
	a.get(n).i32(unitShift).op(0x76).pay(scratch)
	a.get(d).get(s).get(n).memoryCopy()
	return a.end().b
}
