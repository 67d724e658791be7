package history

// Pool keeps the memory of a history for the next one: that of NewPooled recorders, one after the
// other. Most of the allocations of a search were operations and their values.
type Pool struct {
	ops    []Op
	values [][]Value // of valueChunk each: values that grew in one slice would move
	used   int       // values handed out
}

// valueChunk is how many values are allocated at once.
const valueChunk = 32

// reset takes everything back.
func (p *Pool) reset() { p.ops, p.used = p.ops[:0], 0 }

// value returns a value that is zero.
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

// leave returns a copy of the operations for good, with their values, and keeps only the memory of
// the slice.
func (p *Pool) leave() []Op {
	ops := append(make([]Op, 0, len(p.ops)), p.ops...)
	clear(p.ops)
	p.ops, p.values, p.used = p.ops[:0], nil, 0
	return ops
}
