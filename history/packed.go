package history

import (
	"cmp"
	"io"
	"math"
	"slices"
	"sort"
	"time"
)

// Packed is a history that uses little memory. Votes, which are most lines, take 24 bytes each and the lines of
// clients 32: repeated texts are stored once. All yields the lines that are not votes; a line's position among them is not
// its Index. Ops holds the lines of masters but their looks (see Looks), of faults and the harness, and the last line. If the
// history was in memory anyway, Ops holds all lines that are not votes.
type Packed struct {
	History
	total    int                // number of lines
	unpacked []Op               // all operations, until their votes are packed
	votes    chunks[packedVote] // in the order of the lines
	order    []int32            // the votes' numbers in the order of Vote.At; nil: that is the order of the lines
	extras   []voteExtra        // see packedVote.took
	kinds    numbers[VoteKind]

	packedLines

	tokens texts
	token  int32 // number of the previous vote's token

	longestTook, longestDelay time.Duration
}

// packedVote is one vote without pointers, so that the garbage collector need not scan it.
type packedVote struct {
	time               time.Duration
	index, token, kind int32
	took               int32 // ns; below 0: the extras at -1-took say how long it took
}

// voteExtra holds what few votes have: a delay, a fencing token, or a reply that took longer than 2 s.
type voteExtra struct {
	took, delay time.Duration
	fence       int64
}

// VoteKind holds the fields that many votes have in common.
type VoteKind struct {
	Master, Client, Key, Stored, Command, Form, Error string
	TTL                                               time.Duration
	Yes, Maybe, Unknown                               bool
	typ                                               Type
}

// Pack packs a history that is in memory. It shares the operations with h, and packs the votes
// only when they are first used: judging a short run often needs none.
func Pack(h *History) *Packed {
	p := &Packed{History: *h, total: len(h.Ops), unpacked: h.Ops}
	lines := 0
	for i := range h.Ops {
		if !h.Ops[i].votes() {
			lines++
		}
	}
	p.Ops = make([]Op, 0, lines+1)
	for i := range h.Ops {
		op := &h.Ops[i]
		if op.observed() {
			p.longestDelay = max(p.longestDelay, op.Value.Delay)
		}
		if !op.votes() || i == len(h.Ops)-1 {
			p.Ops = append(p.Ops, *op)
			p.Ops[len(p.Ops)-1].Index = i
		}
	}
	return p
}

// votes reports whether an operation is a vote.
func (op *Op) votes() bool { return op.F == FVote && op.Value != nil }

// packVotes packs the votes of a history that is in memory.
func (p *Packed) packVotes() {
	ops := p.unpacked
	p.unpacked = nil
	for i := range ops {
		if ops[i].votes() {
			p.vote(&ops[i], i)
		}
	}
	p.finish()
}

// ReadPacked reads a history as Read does, and packs it line by line.
func ReadPacked(in io.Reader) (*Packed, error) {
	p := &Packed{}
	h, err := Scan(in, p.add)
	return p.read(h, err)
}

// ReadPackedFile reads the history in a file, which may be compressed (see Open), as ReadPacked
// does.
func ReadPackedFile(path string) (*Packed, error) {
	p := &Packed{}
	h, err := ScanFile(path, p.add)
	return p.read(h, err)
}

func (p *Packed) read(h *History, err error) (*Packed, error) {
	if err != nil {
		return nil, err
	}
	ops := p.Ops
	p.History = *h
	p.Ops = ops
	if n := p.Len(); n > 0 && int(p.packed(int32(n-1)).index) == p.total-1 {
		p.lines.add(packedLine{time: p.Recorded(int32(n - 1)), index: int32(p.total - 1), kind: inOps, token: int32(len(p.Ops))})
		p.Ops = append(p.Ops, p.voteOp(int32(n-1)))
	} else if n := p.lines.len(); n > 0 && p.lines.at(n-1).kind != inOps { // also if it is a look
		p.Ops = append(p.Ops, *p.OpAt(n - 1))
	}
	p.finish()
	return p, nil
}

// add packs an operation, which its reader may overwrite afterwards.
func (p *Packed) add(op *Op) error {
	p.total++
	if op.observed() {
		p.longestDelay = max(p.longestDelay, op.Value.Delay)
	}
	if op.votes() {
		p.vote(op, op.Index)
	} else {
		p.line(op)
	}
	return nil
}

// vote packs a vote.
func (p *Packed) vote(op *Op, index int) {
	v := op.Value
	x := packedVote{time: op.Time, took: int32(v.Took), index: int32(index), token: p.tokenNumber(v.Token)}
	kind := VoteKind{Master: op.Process, Client: v.Client, Key: op.Key, Stored: cmp.Or(v.RedisKey, op.Key), Command: v.Command, Form: v.Form, Error: op.Error,
		TTL: v.TTL, Yes: op.Type == OK && v.Yes, Maybe: op.Type == Info && v.Yes, Unknown: op.Type == Info, typ: op.Type}
	x.kind = p.kinds.number(kind, kind.slot())
	if v.Delay != 0 || v.Fence != 0 || v.Took < 0 || v.Took > math.MaxInt32 {
		p.extras = append(p.extras, voteExtra{v.Took, v.Delay, v.Fence})
		x.took = -int32(len(p.extras))
	}
	p.longestTook = max(p.longestTook, v.Took)
	p.votes.add(x)
}

func (k *VoteKind) slot() int {
	slot := slotOf(k.Master, k.Client, k.Key, k.Command)
	if k.Yes {
		slot = (slot + 1) % recentKinds
	}
	return slot
}

// tokenNumber returns the number of a token; a new token gets the next number.
func (p *Packed) tokenNumber(token string) int32 {
	if int(p.token) < len(p.tokens.all) && p.tokens.all[p.token] == token { // often the vote before is of the same command
		return p.token
	}
	p.token = p.tokens.number(token)
	return p.token
}

// finish completes the history after its last line was added.
func (p *Packed) finish() {
	p.kinds.finish()
	p.lineKinds.finish()
	n := p.Len()
	if p.longestDelay == 0 {
		return
	}
	p.order = make([]int32, n)
	for i := range p.order {
		p.order[i] = int32(i)
	}
	slices.SortStableFunc(p.order, func(a, b int32) int { return cmp.Compare(p.At(a), p.At(b)) })
}

// Lines returns how many lines the history has.
func (p *Packed) Lines() int { return p.total }

// Len returns how many votes there are. They are numbered from 0 in the order of their lines.
func (p *Packed) Len() int {
	if p.unpacked != nil {
		p.packVotes()
	}
	return p.votes.len()
}

func (p *Packed) packed(n int32) *packedVote { return p.votes.at(int(n)) }

// InOrder returns the number of the i-th vote in the order in which clients received the
// replies.
func (p *Packed) InOrder(i int) int32 {
	if p.order != nil {
		return p.order[i]
	}
	return int32(i)
}

// Since returns how many votes arrived before t: the first i for which InOrder returns a vote
// that arrived at t or later.
func (p *Packed) Since(t time.Duration) int {
	return sort.Search(p.Len(), func(i int) bool { return p.At(p.InOrder(i)) >= t })
}

// At returns when the client received the reply, or gave up waiting for it.
func (p *Packed) At(n int32) time.Duration {
	x := p.packed(n)
	return x.time - p.extra(x).delay
}

// extra returns what a vote's fields do not hold, and how long its reply took.
func (p *Packed) extra(x *packedVote) voteExtra {
	if x.took < 0 {
		return p.extras[-1-x.took]
	}
	return voteExtra{took: time.Duration(x.took)}
}

// Sent returns the latest time at which the command can have been sent.
func (p *Packed) Sent(n int32) time.Duration {
	x := p.packed(n)
	e := p.extra(x)
	return x.time - e.delay - e.took
}

// Recorded returns the time of the vote's line.
func (p *Packed) Recorded(n int32) time.Duration { return p.packed(n).time }

// IndexOf returns the index of the vote's line.
func (p *Packed) IndexOf(n int32) int { return int(p.packed(n).index) }

// Kind returns the fields that the vote has in common with others.
func (p *Packed) Kind(n int32) *VoteKind { return &p.kinds.all[p.packed(n).kind] }

// KindNumber returns the number of the vote's kind; Kinds returns all kinds.
func (p *Packed) KindNumber(n int32) int32 { return p.packed(n).kind }
func (p *Packed) Kinds() []VoteKind {
	p.Len() // packs the votes
	return p.kinds.all
}

// TokenNumber returns the number of the vote's token; Tokens returns all tokens.
func (p *Packed) TokenNumber(n int32) int32 { return p.packed(n).token }
func (p *Packed) Tokens() []string {
	p.Len() // packs the votes
	return p.tokens.all
}

// FindToken returns the number of a token, or -1 if no vote and no line of a client has it.
func (p *Packed) FindToken(token string) int32 {
	p.Len() // packs the votes
	return p.tokens.find(token)
}

// FenceOf returns the fencing token of the vote at index, or 0.
func (p *Packed) FenceOf(index int) int64 {
	n := sort.Search(p.Len(), func(i int) bool { return p.IndexOf(int32(i)) >= index })
	if n == p.Len() || p.IndexOf(int32(n)) != index {
		return 0
	}
	return p.extra(p.packed(int32(n))).fence
}

// LongestTook returns the longest time from a command to its reply. LongestDelay returns the
// longest time from a vote or a snapshot to its recording.
func (p *Packed) LongestTook() time.Duration {
	p.Len() // packs the votes
	return p.longestTook
}
func (p *Packed) LongestDelay() time.Duration { return p.longestDelay }

// Vote returns the vote with a number in full.
func (p *Packed) Vote(n int32) Vote {
	x := p.packed(n)
	k := &p.kinds.all[x.kind]
	e := p.extra(x)
	return Vote{
		Index: int(x.index), At: x.time - e.delay, Took: e.took, TTL: k.TTL, Master: k.Master, Client: k.Client, Key: k.Key, Stored: k.Stored,
		Token: p.tokens.all[x.token], Command: k.Command, Form: k.Form, Yes: k.Yes, Maybe: k.Maybe, Unknown: k.Unknown, Error: k.Error,
	}
}

// WithoutVotes returns the history without its votes. Indices stay as they are.
func (p *Packed) WithoutVotes() *Packed {
	return &Packed{History: p.History, total: p.total, packedLines: p.packedLines, tokens: p.tokens, longestDelay: p.longestDelay}
}

// voteOp returns the operation that a vote was packed from.
func (p *Packed) voteOp(n int32) Op {
	x := p.packed(n)
	k := &p.kinds.all[x.kind]
	e := p.extra(x)
	v := &Value{Token: p.tokens.all[x.token], Client: k.Client, Command: k.Command, Form: k.Form, Yes: k.Yes || k.Maybe, Took: e.took, TTL: k.TTL, Delay: e.delay, Fence: e.fence}
	if k.Stored != k.Key {
		v.RedisKey = k.Stored
	}
	return Op{Index: int(x.index), Time: x.time, Process: k.Master, Type: k.typ, F: FVote, Key: k.Key, Value: v, Error: k.Error}
}

// Before returns how many lines have a time before t.
func (p *Packed) Before(t time.Duration) int {
	first := p.total
	if i := sort.Search(p.Count(), func(i int) bool { return p.TimeAt(i) >= t }); i < p.Count() {
		first = p.IndexAt(i)
	}
	if i := sort.Search(p.Len(), func(i int) bool { return p.Recorded(int32(i)) >= t }); i < p.Len() {
		first = min(first, p.IndexOf(int32(i)))
	}
	return first
}
