package redlock

import (
	"context"
	"sync"
	"time"
)

// question is one Ask on its way: a command for some masters, and the votes on it.
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
	wake          chan struct{} // the taker's; holds one
	orders        []order       // one for each master that is asked

	mu     sync.Mutex
	votes  []cast
	yes    int
	failed int
	plain  []byte // in bytes, by its hash
	others *[forms][]byte
}

// newQuestion asks the masters in to, or all n of them.
func newQuestion(talk *redisConversation, cmd Command, to []int, n int, timeout time.Duration) *question {
	all, need, without := len(to), len(to), len(to)
	if to == nil { // fewer can neither make a majority nor rule one out
		all, need, without = n, min(n/2+1, n-n/2), n-n/2
	}
	one := &struct { // one allocation, for as many masters as most have
		question
		orders [roomFor]order
		votes  [roomFor]cast
	}{}
	q := &one.question
	if q.orders, q.votes = one.orders[:], one.votes[:0]; all > roomFor {
		q.orders, q.votes = make([]order, all), make([]cast, 0, all)
	}
	q.orders = q.orders[:all]
	q.talk, q.cmd, q.timeout, q.hash, q.all, q.need, q.without = talk, cmd, timeout, hashOf(cmd.Key), all, need, without
	q.wake = wakes.Get().(chan struct{})
	for i := range q.orders {
		o := &q.orders[i]
		if o.q, o.master = q, i; to != nil {
			o.master = to[i]
		}
	}
	return q
}

// roomFor is how many masters most have.
const roomFor = 5

// wakes are used again and again. A vote that comes late may wake another taker than
// its own, who then finds nothing new.
var wakes = sync.Pool{New: func() any { return make(chan struct{}, 1) }}

// order is a question to one master. The master's lane guards it.
type order struct {
	q      *question
	master int
	state  orderState
	byText bool // its script was not known by its hash
	late   bool // a release that goes on after its vote was cast: nobody waits for it
	alone  bool // a release that must not share a script any more
	yes    int64
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
		if q.plain == nil {
			q.plain = q.write(f)
		}
		return q.plain
	}
	if q.others == nil {
		q.others = new([forms][]byte)
	}
	if q.others[f] == nil {
		q.others[f] = q.write(f)
	}
	return q.others[f]
}

func (q *question) write(f form) []byte {
	cmd := &q.cmd
	b := make([]byte, 0, 128+len(cmd.Key)+len(cmd.Token))
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

// cast is a vote, as short as it gets.
type cast struct {
	o    *order
	n    int64
	err  error
	took time.Duration
}

// vote is what a master's reply, or the lack of one, is worth.
func (c cast) vote() Vote {
	q, m := c.o.q, c.o.q.talk.masters
	return Vote{
		Master: c.o.master, Name: m.names[c.o.master], Kind: q.cmd.Kind, Key: q.cmd.Key, Token: q.cmd.Token,
		Reply: c.n, Yes: c.err == nil && c.n > 0, Err: c.err, Took: c.took,
	}
}

// casts are used again and again.
var casts = sync.Pool{New: func() any { return new([]cast) }}

// cast tells a vote to whoever observes, and hands it to the taker.
func (q *question) cast(c cast) {
	q.talk.observe(c)
	q.mu.Lock()
	q.votes = append(q.votes, c)
	switch {
	case c.err != nil:
		q.failed++
	case c.n > 0:
		q.yes++
	}
	in := len(q.votes)
	last := in == q.all
	wake := last || in-q.failed >= q.need || in-q.yes >= q.without
	q.mu.Unlock()
	if wake {
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
	if last {
		q.talk.masters.pending.Done()
	}
}

// take yields the votes as they come, until all are in or ctx ends.
func (q *question) take(ctx context.Context, yield func(Vote) bool) {
	ended := false
	for taken := 0; ; {
		q.mu.Lock()
		votes := q.votes[taken:] // only ever appended to
		q.mu.Unlock()
		for _, c := range votes {
			if !yield(c.vote()) {
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
