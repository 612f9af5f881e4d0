package meter

// callGraph holds the direct calls between defined functions.
type callGraph struct {
	calls [][]int // callees of each function
	// bounded functions end after a number of instructions that depends on loops only: all they call, directly, is bounded, and
	// they call nothing through a table. Calls of imports don't count: those are calls of the host.
	bounded []bool
	size    []int // bytes of code of each function
}

func newCallGraph(m *module) (*callGraph, error) {
	n := len(m.bodies)
	g := &callGraph{calls: make([][]int, n), bounded: make([]bool, n), size: make([]int, n)}
	callers := make([][]int, n)
	open := make([]int, n) // callees that aren't known to be bounded
	for i, b := range m.bodies {
		g.size[i] = len(b.expr)
		r := &reader{data: b.expr, base: b.base}
		for r.more() {
			switch in := skipInstr(r); in.op {
			case opCallIndirect:
				open[i]++ // never closed
			case opRefFunc:
				m.tabled = nil
			case opCall:
				callee := int(in.arg) - len(m.imports)
				if callee >= n {
					r.fail("call of function %d of %d", in.arg, len(m.imports)+n)
				} else if callee >= 0 {
					open[i]++
					g.calls[i] = append(g.calls[i], callee)
					callers[callee] = append(callers[callee], i)
				}
			}
		}
		if r.err != nil {
			return nil, r.err
		}
	}
	var work []int
	for i, o := range open {
		if o == 0 {
			work = append(work, i)
		}
	}
	for len(work) > 0 {
		f := work[len(work)-1]
		work = work[:len(work)-1]
		g.bounded[f] = true
		for _, c := range callers[f] {
			if open[c]--; open[c] == 0 {
				work = append(work, c)
			}
		}
	}
	return g, nil
}

// cutRecursion chooses the functions whose entry is charged. Every cycle of calls passes one of them: a cycle through a
// table passes the entry of a function that is in the table, and cycles of direct calls are cut at a function each, large
// ones first, in which a charge weighs least.
func cutRecursion(m *module) ([]bool, error) {
	g, err := newCallGraph(m)
	if err != nil {
		return nil, err
	}
	cut := make([]bool, len(m.bodies))
	for i := range cut {
		cut[i] = !g.bounded[i] && (m.tabled == nil || m.tabled[i])
	}
	for {
		cycles := g.cycles(cut)
		if len(cycles) == 0 {
			return cut, nil
		}
		for _, c := range cycles {
			best := c[0]
			for _, f := range c {
				if g.size[f] > g.size[best] {
					best = f
				}
			}
			cut[best] = true
		}
	}
}

// cycles returns the strongly connected components that contain a cycle, among the functions that aren't cut (Tarjan).
func (g *callGraph) cycles(cut []bool) [][]int {
	var (
		found   [][]int
		stack   []int
		counter int
		order   = make([]int, len(g.calls)) // 0: not visited
		low     = make([]int, len(g.calls))
		onStack = make([]bool, len(g.calls))
		visit   func(v int)
	)
	visit = func(v int) {
		counter++
		order[v], low[v] = counter, counter
		stack = append(stack, v)
		onStack[v] = true
		self := false
		for _, w := range g.calls[v] {
			switch {
			case cut[w] || g.bounded[w]:
			case order[w] == 0:
				visit(w)
				low[v] = min(low[v], low[w])
			case onStack[w]:
				low[v] = min(low[v], order[w])
				self = self || w == v
			}
		}
		if low[v] != order[v] {
			return
		}
		at := len(stack) - 1
		for stack[at] != v {
			at--
		}
		component := append([]int(nil), stack[at:]...)
		stack = stack[:at]
		for _, w := range component {
			onStack[w] = false
		}
		if len(component) > 1 || self {
			found = append(found, component)
		}
	}
	for v := range g.calls {
		if order[v] == 0 && !cut[v] && !g.bounded[v] {
			visit(v)
		}
	}
	return found
}
