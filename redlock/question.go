package redlock

import (
	"context"
	"sync"
	"time"
)

// question is one Ask on its way: a command for some masters, and the votes on it. It is
// used again once its taker has left and all votes are in, unless a lane may need it for
// longer.
type question struct {
	talk     *redisConversation
	cmd      Command
	timeout  time.Duration
	asked    time.Duration // since the program began to count (lane.go)
	deadline time.Duration
	hash     uint64 // of the key
	all      int    // votes to come
	// Nobody is woken before a decision is possible: so many have answered, or so many
	// have not, or not with a yes.
	need, without int
	orders        []order // one for each master that is asked
	// wake wakes the taker, and holds one. It outlives the question's uses: a vote may wake
	// a later taker than its own, who then finds nothing new.
	wake chan struct{}

	mu     sync.Mutex
	votes  []*order // that have voted
	yes    int
	failed int
	keep   bool   // a lane may need it for longer
	woken  bool   // the taker was, at least once
	left   bool   // the taker has all that it wants
	plain  []byte // in bytes, by its hash; empty: not yet
	others *[forms][]byte

	room [roomFor]order
	cast [roomFor]*order
}

// newQuestion asks the masters in to, or all n of them.
func newQuestion(talk *redisConversation, cmd Command, to []int, n int, timeout time.Duration) *question {
	all, need, without := len(to), len(to), len(to)
	if to == nil { // fewer can neither make a majority nor rule one out
		all, need, without = n, min(n/2+1, n-n/2), n-n/2
	}
	q, _ := talk.masters.questions.Get().(*question)
	if q == nil {
		q = &question{wake: make(chan struct{}, 1)}
	}
	if q.orders, q.votes = q.room[:], q.cast[:0]; all > roomFor {
		q.orders, q.votes = make([]order, all), make([]*order, 0, all)
	}
	q.orders = q.orders[:all]
	q.talk, q.cmd, q.timeout, q.hash, q.all, q.need, q.without = talk, cmd, timeout, hashOf(cmd.Key), all, need, without
	q.keep = cmd.Wait > 0 // WAIT is answered after the votes of those that took nothing
	for i := range q.orders {
		q.orders[i] = order{q: q, master: i}
		if to != nil {
			q.orders[i].master = to[i]
		}
	}
	return q
}

// recycle has the question be used again, if nobody needs it any more: all have voted,
// and the taker has left.
func (q *question) recycle() {
	if q.keep {
		return
	}
	masters := q.talk.masters
	q.talk, q.others, q.cmd.next = nil, nil, nil
	q.yes, q.failed, q.woken, q.left, q.plain = 0, 0, false, false, q.plain[:0]
	if cap(q.plain) > plainMost {
		q.plain = nil
	}
	masters.questions.Put(q)
}

const (
	// roomFor is how many masters most have.
	roomFor = 5
	// plainMost is how many bytes of room for a command are kept: most have some 130.
	plainMost = 1 << 10
)

// order is a question to one master, and its vote. The master's lane guards it; the vote does not
// change once it was told.
type order struct {
	q      *question
	n      int64 // the vote
	err    error
	took   time.Duration
	master int
	state  orderState
	byText bool // its script was not known by its hash
	late   bool // a release that goes on after its vote was told: nobody waits for it
	alone  bool // a release that must not share a script any more
	kept   bool // the lane may need it when it has voted
}

type orderState uint8

const (
	queued  orderState = iota // to be written
	sent                      // written, or about to be: the master may carry it out
	waiting                   // carried out; its replicas have yet to hear of it
	voted                     // nobody waits for it any more
)

// form is one of those that a master may want a command in.
type form uint8

const (
	byHash  form = iota // EVALSHA, or the plain command
	byText              // EVAL
	delex               // Redis 8.4: DELEX key IFEQ token
	delifeq             // Valkey 9: DELIFEQ key token
	forms
)

// bytes is the command as it is sent. It is written once for all masters.
func (q *question) bytes(f form) []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	if f == byHash {
		if len(q.plain) == 0 {
			q.plain = q.write(q.plain, f)
		}
		return q.plain
	}
	if q.others == nil {
		q.others = new([forms][]byte)
	}
	if q.others[f] == nil {
		q.others[f] = q.write(nil, f)
	}
	return q.others[f]
}

// write appends the command to b.
func (q *question) write(b []byte, f form) []byte {
	cmd := &q.cmd
	if b == nil {
		b = make([]byte, 0, 128+len(cmd.Key)+len(cmd.Token))
	}
	switch {
	case f == delex:
		b = appendHead(b, 4)
		b = appendWord(b, "DELEX")
		b = appendWord(b, cmd.Key)
		b = appendWord(b, "IFEQ")
		return appendWord(b, cmd.Token)
	case f == delifeq:
		b = appendHead(b, 3)
		b = appendWord(b, "DELIFEQ")
		b = appendWord(b, cmd.Key)
		return appendWord(b, cmd.Token)
	case cmd.Script == nil && cmd.short():
		b = appendHead(b, 6)
		b = appendWord(b, "set")
		b = appendWord(b, cmd.Key)
		b = appendWord(b, cmd.Token)
		b = appendWord(b, "nx")
		b = appendWord(b, "px")
		return appendNumber(b, cmd.TTL)
	case cmd.Script == nil:
		b = appendHead(b, len(cmd.Args))
	default:
		keys, args := cmd.counts()
		b = appendHead(b, 3+keys+args)
		if f == byText {
			b = appendWord(b, "EVAL")
			b = appendWord(b, cmd.Script.Text)
		} else {
			b = appendWord(b, "EVALSHA")
			b = appendWord(b, cmd.Script.SHA)
		}
		b = appendNumber(b, int64(keys))
		if cmd.short() {
			b = appendWord(b, cmd.Key)
		}
		for _, k := range cmd.Keys {
			b = appendWord(b, k)
		}
	}
	return appendArgs(b, cmd)
}

// counts is how many keys and arguments a script has.
func (c *Command) counts() (keys, args int) {
	if c.short() {
		return 1, 1
	}
	return len(c.Keys), len(c.Args)
}

func appendArgs(b []byte, cmd *Command) []byte {
	if cmd.short() {
		return appendWord(b, cmd.Token)
	}
	for _, a := range cmd.Args {
		b = appendArg(b, a)
	}
	return b
}

// hashOf is a key's hash.
func hashOf(key string) uint64 {
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	return h
}

// yes says whether the master did what was asked.
func (o *order) yes() bool { return o.err == nil && o.n > 0 }

// vote is what the master's reply, or the lack of one, is worth.
func (o *order) vote() Vote {
	q, m := o.q, o.q.talk.masters
	return Vote{
		Master: o.master, Name: m.names[o.master], Kind: q.cmd.Kind, Key: q.cmd.Key, Token: q.cmd.Token,
		Reply: o.n, Yes: o.yes(), Err: o.err, Took: o.took,
		TTL: time.Duration(q.cmd.TTL) * time.Millisecond,
	}
}

// ballot is votes that are told together.
type ballot struct {
	cast  []*order
	wakes []chan struct{} // of those who are to be woken for them
}

// ballots are used again and again.
var ballots = sync.Pool{New: func() any { return new(ballot) }}

// tell tells a vote to whoever observes, and hands it to the taker. It returns what wakes
// the taker, if that is to be woken, and whether that is for the first time.
func (q *question) tell(o *order) (wake chan struct{}, first bool) {
	q.talk.observe(o)
	q.mu.Lock()
	q.votes = append(q.votes, o)
	q.keep = q.keep || o.kept
	switch {
	case o.err != nil:
		q.failed++
	case o.yes():
		q.yes++
	}
	in := len(q.votes)
	last, left, masters := in == q.all, q.left, q.talk.masters
	if !left && (last || in-q.failed >= q.need || in-q.yes >= q.without) {
		wake, first, q.woken = q.wake, !q.woken, true
	}
	q.mu.Unlock()
	if last { // from here on it may be another question
		if left {
			q.recycle()
		}
		masters.pending.Done()
	}
	return wake, first
}

// leave is the end of taking votes.
func (q *question) leave() {
	q.mu.Lock()
	q.left = true
	last := len(q.votes) == q.all
	q.mu.Unlock()
	if last {
		q.recycle()
	}
}

// each calls f for the votes as they come, until it returns false, or all are in, or ctx ends.
func (q *question) each(ctx context.Context, f func(*order) bool) {
	ended := false
	for taken := 0; ; {
		q.mu.Lock()
		votes := q.votes[taken:] // only ever appended to
		q.mu.Unlock()
		for _, o := range votes {
			if !f(o) {
				return
			}
		}
		if taken += len(votes); taken == q.all || ended {
			return
		}
		if done := ctx.Done(); done == nil {
			<-q.wake
		} else {
			select {
			case <-q.wake:
			case <-done:
				ended = true // what has come by now still counts
			}
		}
	}
}

// list appends the first so many votes.
func (q *question) list(votes []Vote, n int) []Vote {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, o := range q.votes[:n] {
		votes = append(votes, o.vote())
	}
	return votes
}
