package history

// Pool reuses the memory of one history for the next, for recorders from NewPooled that run one
// after the other. Most allocations of a search were operations and their values.
type Pool struct {
	ops    []Op
	values [][]Value // chunks of valueChunk: in one growing slice, values would move
	used   int       // values handed out
}

// valueChunk is the number of values that are allocated at once.
const valueChunk = 32

// reset makes all memory of the pool available again.
func (p *Pool) reset() { p.ops, p.used = p.ops[:0], 0 }

// value returns a zero Value from the pool.
func (p *Pool) value() *Value {
	chunk, i := p.used/valueChunk, p.used%valueChunk
	if chunk == len(p.values) {
		p.values = append(p.values, make([]Value, valueChunk))
	}
	p.used++
	v := &p.values[chunk][i]
	*v = Value{}
	return v
}

// detach returns a copy of the operations that the caller may keep, together with their values. The
// pool keeps only the memory of its slice of operations.
func (p *Pool) detach() []Op {
	ops := append(make([]Op, 0, len(p.ops)), p.ops...)
	clear(p.ops)
	p.ops, p.values, p.used = p.ops[:0], nil, 0
	return ops
}
