package history

import (
	"iter"
	"slices"
	"sort"
	"time"
)

// packedLines are the lines that are not votes, and the last line; empty if the history was in memory.
type packedLines struct {
	lines      chunks[packedLine]
	lineKinds  numbers[lineKind]
	lineExtras []lineExtra // packedLine.extras-1 is the index
	looks      chunks[Snapshot]
}

// packedLine is one line of a client or of the guarded resource without pointers, or a reference to a line that
// Packed.Ops keeps.
type packedLine struct {
	time                       time.Duration
	number                     int64 // Value.ValidUntil, or Value.Value if the kind counts
	index, kind, token, extras int32 // kind < 0: see inOps and inLooks; extras-1 is an index
}

// lineKind holds the fields that many such lines have in common.
type lineKind struct {
	Process, F, Key, Mode  string
	typ                    Type
	permits                int
	fenced, fixed, atLeast bool
	valued                 bool // there is a Value
	counts                 bool // the line's number is Value.Value
}

// lineExtra holds fields that most such lines lack.
type lineExtra struct {
	delay time.Duration
	fence int64
	error string
}

// packedLine.kind of a line that is kept elsewhere, under the number token.
const (
	inOps   = -1 // in Packed.Ops
	inLooks = -2 // in Packed.looks
)

// packs reports whether an operation is a line of a client or of the resource that has no other fields than a
// packedLine can hold.
func (op *Op) packs() bool {
	switch op.F {
	case FAcquire, FExtend, FRelease, FEnter, FLeave, FRead, FWrite, FMark, FApply:
	default:
		return false
	}
	v := op.Value
	return v == nil || (v.ValidUntil == 0 || v.Value == 0) && v.Took == 0 && v.Offset == nil && v.State == "" && v.Keys == nil && v.Expires == nil && v.plain()
}

// plain reports whether a value has none of the fields that only votes, faults and a few other lines have.
func (v *Value) plain() bool {
	return v.Client == "" && v.Command == "" && !v.Yes && v.TTL == 0 && v.RedisKey == "" && v.Form == "" && v.Point == "" && v.Rate == 0 &&
		v.ID == 0 && v.Phase == "" && v.Masters == nil && v.Clients == nil && v.Params == nil && !v.TookEffect && v.Evidence == "" && v.Bound == 0
}

// line packs a line that is not a vote.
func (p *Packed) line(op *Op) {
	s, look := Snapshot{}, false
	if op.F == FSnapshot {
		if s, look = SnapshotOf(op); look {
			if packed, able := s.pack(); able {
				p.lines.add(packedLine{time: op.Time, index: int32(op.Index), kind: inLooks, token: int32(p.looks.len())})
				p.looks.add(packed)
				return
			}
		}
	}
	if !op.packs() {
		p.lines.add(packedLine{time: op.Time, index: int32(op.Index), kind: inOps, token: int32(len(p.Ops))})
		own := *op
		if op.Value != nil {
			value := *op.Value
			own.Value = &value
		}
		p.Ops = append(p.Ops, own)
		if look {
			s.op = &own
			p.looks.add(s)
		}
		return
	}
	x := packedLine{time: op.Time, index: int32(op.Index)}
	kind := lineKind{Process: op.Process, F: op.F, Key: op.Key, typ: op.Type}
	extra := lineExtra{error: op.Error}
	if v := op.Value; v != nil {
		x.token = p.tokenNumber(v.Token)
		kind.Mode, kind.permits, kind.fenced, kind.fixed, kind.atLeast, kind.valued, kind.counts = v.Mode, v.Permits, v.Fenced, v.Fixed, v.AtLeast, true, v.Value != 0
		if x.number = int64(v.ValidUntil); kind.counts {
			x.number = v.Value
		}
		extra.delay, extra.fence = v.Delay, v.Fence
	}
	x.kind = p.lineKinds.number(kind, kind.slot())
	if extra != (lineExtra{}) {
		p.lineExtras = append(p.lineExtras, extra)
		x.extras = int32(len(p.lineExtras))
	}
	p.lines.add(x)
}

func (k *lineKind) slot() int {
	return slotOf(k.Process, k.F, k.Key, string(k.typ))
}

// unpack writes the line at a position into op and, if it has one, its value into v, which is zero or was unpacked before.
func (p *Packed) unpack(position int, op *Op, v *Value) {
	x := p.lines.at(position)
	k := &p.lineKinds.all[x.kind]
	*op = Op{Index: int(x.index), Time: x.time, Process: k.Process, Type: k.typ, F: k.F, Key: k.Key}
	extra := lineExtra{}
	if x.extras > 0 {
		extra = p.lineExtras[x.extras-1]
	}
	op.Error = extra.error
	if !k.valued {
		return
	}
	v.Token, v.Fence, v.Delay, v.Mode, v.Permits, v.Fenced, v.Fixed, v.AtLeast = p.tokens.all[x.token], extra.fence, extra.delay, k.Mode, k.permits, k.fenced, k.fixed, k.atLeast
	if v.Value, v.ValidUntil = 0, time.Duration(x.number); k.counts {
		v.Value, v.ValidUntil = x.number, 0
	}
	op.Value = v
}

// All yields the lines that are not votes, and the last line, with their positions. The next line may overwrite the
// operation and its value: OpAt returns one to keep.
func (p *Packed) All() iter.Seq2[int, *Op] {
	if p.lines.len() == 0 {
		return each(p.Ops)
	}
	return func(yield func(int, *Op) bool) {
		var s scratch
		for i := range p.lines.len() {
			if !yield(i, s.line(p, i)) {
				return
			}
		}
	}
}

// Some yields the lines at some positions, as All does.
func (p *Packed) Some(positions []int32) iter.Seq[*Op] {
	return func(yield func(*Op) bool) {
		var s scratch
		for _, i := range positions {
			if !yield(s.line(p, int(i))) {
				return
			}
		}
	}
}

// scratch is an operation that is used for one packed line after the other.
type scratch struct {
	op          Op
	value, look Value
}

func (s *scratch) line(p *Packed, position int) *Op {
	if p.lines.len() == 0 {
		return &p.Ops[position]
	}
	switch x := p.lines.at(position); x.kind {
	case inOps:
		return &p.Ops[x.token]
	case inLooks:
		p.looks.at(int(x.token)).unpack(&s.op, &s.look)
		return &s.op
	}
	p.unpack(position, &s.op, &s.value)
	return &s.op
}

// each yields pointers to operations.
func each(ops []Op) iter.Seq2[int, *Op] {
	return func(yield func(int, *Op) bool) {
		for i := range ops {
			if !yield(i, &ops[i]) {
				return
			}
		}
	}
}

// Count returns how many lines All yields.
func (p *Packed) Count() int { return max(p.lines.len(), len(p.Ops)) }

// OpAt returns the operation at a position.
func (p *Packed) OpAt(position int) *Op { return new(scratch).line(p, position) }

// TimeAt and IndexAt return the time and the index of the line at a position.
func (p *Packed) TimeAt(position int) time.Duration {
	if p.lines.len() == 0 {
		return p.Ops[position].Time
	}
	return p.lines.at(position).time
}

func (p *Packed) IndexAt(position int) int {
	if p.lines.len() == 0 {
		return p.Ops[position].Index
	}
	return int(p.lines.at(position).index)
}

// Position returns the position of the line with an index. It returns false if the line is a vote.
func (p *Packed) Position(index int) (int, bool) {
	i := sort.Search(p.Count(), func(i int) bool { return p.IndexAt(i) >= index })
	return i, i < p.Count() && p.IndexAt(i) == index
}

// Op returns the operation with an index. It panics if that line is a vote.
func (p *Packed) Op(index int) *Op {
	i, found := p.Position(index)
	if !found {
		panic("history: the line is not there, or a vote")
	}
	return p.OpAt(i)
}

// Leases returns the leases of a history with these calls, and for each position that of its lease among the leases, or -1.
func (p *Packed) Leases(calls *Calls) (leases []*Lease, of []int32) {
	return leasesOf(p, p.All(), calls)
}

// Calls returns the calls, by positions.
func (p *Packed) Calls() *Calls { return callsOf(p, p.All(), p.Count()) }

// chunks is a list that grows without copying: a single slice would need twice the memory while it is copied.
type chunks[T any] struct{ all [][]T }

// chunkLen is the number of elements that are allocated at once.
const chunkLen = 1 << 15

func (c *chunks[T]) add(x T) {
	if n := len(c.all); n == 0 || len(c.all[n-1]) == chunkLen {
		room := chunkLen
		if n == 0 { // a short history may need less than a chunk
			room = 0
		}
		c.all = append(c.all, make([]T, 0, room))
	}
	last := &c.all[len(c.all)-1]
	*last = append(*last, x)
}

func (c *chunks[T]) len() int {
	if len(c.all) == 0 {
		return 0
	}
	last := len(c.all) - 1
	return last*chunkLen + len(c.all[last])
}

func (c *chunks[T]) at(n int) *T { return &c.all[n/chunkLen][n%chunkLen] }

// numbers numbers different values in the order in which they first occur.
type numbers[K comparable] struct {
	all    []K
	of     map[K]int32
	recent *[recentKinds]int32
}

// recentKinds is the number of values cached by their slots. Comparing a value's texts is faster than
// hashing them, because the reader makes equal texts share their bytes.
const recentKinds = 256

// number returns the number of a value; a new value gets the next number. Equal values have one slot.
func (s *numbers[K]) number(value K, slot int) int32 {
	if s.recent == nil {
		s.recent = new([recentKinds]int32)
		s.of = map[K]int32{}
	}
	recent := &s.recent[slot]
	if n := *recent; int(n) < len(s.all) && s.all[n] == value {
		return n
	}
	n, known := s.of[value]
	if !known {
		n = int32(len(s.all))
		s.all = append(s.all, value)
		s.of[value] = n
	}
	*recent = n
	return n
}

// finish frees what only number needs.
func (s *numbers[K]) finish() { s.of, s.recent, s.all = nil, nil, slices.Clip(s.all) }

// slotOf returns a slot: a hash of the last bytes of some texts.
func slotOf(texts ...string) int {
	sum := 0
	for _, text := range texts {
		if n := len(text); n > 0 {
			sum = 31*sum + int(text[n-1])
		}
	}
	return sum % recentKinds
}
