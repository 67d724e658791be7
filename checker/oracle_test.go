package checker_test

import (
	"cmp"
	"slices"
	"time"

	"lockpick/history"
)

// never is a time that no history reaches.
const never = time.Duration(1 << 60)

// oracle judges a history only by the definitions of docs/checking.md. It tries every pair and
// every instant; all times of its histories are multiples of tick. It shares no code with the
// checkers and uses none of the views of package history.
type oracle struct {
	h      history.Header
	ops    []history.Op // each with a value
	tick   time.Duration
	end    time.Duration
	ttl    time.Duration
	slack  time.Duration
	n, q   int
	acqs   []*acquisition
	votes  []*vote
	faults []*fault
	stalls [][2]time.Duration

	interrupted time.Duration // when the harness was interrupted, or never

	// Cached results.
	acquires []asking
	still    map[string][][2]time.Duration
	waitsOf  map[bool][]wait
	shown    []snapshot
	states   []history.Op
	commands []*sent
}

// acquisition is one acquire that returned ok, and the operations that changed or ended its lease.
type acquisition struct {
	line, call         int // lines of the grant and of the invocation; call is -1 if there is none
	client, key, token string
	called             time.Duration
	grant, until       time.Duration
	fence              int64
	asks               holder
	turns              []turn
	grants             []grant
	over               time.Duration // when its release was invoked or its client crashed
	overLine           int
	lostAt             time.Duration // when its lock reported it lost; -1: never
	crashed, killed    bool          // its client crashed later; the crash ended it
}

// grant is a time at which the end of a lease was set: by an acquire, an extension or a
// clock change.
type grant struct {
	line      int
	at, until time.Duration
	skewed    bool
	asked     int // the line of the extension's invocation, or -1
}

type vote struct {
	line                       int
	at, sent, ttl              time.Duration
	master, client, key, redis string
	token, command             string
	yes, unknown               bool
}

type fault struct {
	id                         int
	name                       string
	masters, clients           []string
	began, from, to            time.Duration
	installed, skipped, healed bool
	bit                        bool
}

func newOracle(h *history.History, tick time.Duration) *oracle {
	o := &oracle{h: h.Header, tick: tick, ttl: h.Header.TTL, n: h.Header.Masters, q: h.Header.Quorum, still: map[string][][2]time.Duration{}, waitsOf: map[bool][]wait{}}
	for _, op := range h.Ops {
		if op.Value == nil {
			op.Value = &history.Value{}
		}
		o.ops = append(o.ops, op)
		o.end = op.Time
	}
	o.slack = 100 * time.Millisecond
	if o.h.Driver == "sim" {
		o.slack = time.Millisecond
	}
	longest := time.Duration(0)
	for _, op := range o.ops {
		if op.F == history.FVote || op.F == history.FSnapshot {
			longest = max(longest, op.Value.Delay)
		}
	}
	o.slack += longest
	o.interrupted = never
	for i, op := range o.ops {
		switch {
		case op.F == history.FState:
			o.states = append(o.states, op)
		case op.F == history.FInterrupted:
			o.interrupted = min(o.interrupted, op.Time)
		case op.F == history.FAcquire && op.Type == history.OK && op.Value.Token != "":
			o.acqs = append(o.acqs, o.acquisition(i))
		case op.F == history.FStall:
			o.stalls = append(o.stalls, [2]time.Duration{op.Time - op.Value.Took, op.Time})
		case op.F == history.FVote:
			v := op.Value
			x := &vote{line: i, at: op.Time - v.Delay, master: op.Process, client: v.Client, key: op.Key, redis: v.RedisKey, token: v.Token, command: v.Command,
				yes: op.Type == history.OK && v.Yes, unknown: op.Type == history.Info}
			x.sent, x.ttl = x.at-v.Took, cmp.Or(v.TTL, o.ttl)
			if x.redis == "" {
				x.redis = op.Key
			}
			o.votes = append(o.votes, x)
		case op.Process == history.Nemesis && op.Value.ID != 0:
			o.fault(i)
		}
	}
	slices.SortStableFunc(o.votes, func(a, b *vote) int { return cmp.Compare(a.at, b.at) })
	for _, f := range o.faults {
		if !f.healed && !f.skipped {
			f.to = o.end
		}
	}
	o.follow()
	return o
}

// invocation returns the line of the call that returned in a line, or -1. It is the last line
// before it about the same operation of the client, on that key and under that token, if that
// line is an invocation and the client did not crash in between.
func (o *oracle) invocation(line int) int {
	op := o.ops[line]
	for i := line - 1; i >= 0; i-- {
		x := o.ops[i]
		if x.Process != op.Process {
			continue
		}
		if x.F == history.FCrash {
			return -1
		}
		if x.F == op.F && x.Key == op.Key && (op.F == history.FAcquire || x.Value.Token == op.Value.Token) {
			if x.Type == history.Invoke {
				return i
			}
			return -1
		}
	}
	return -1
}

// began returns the earliest time at which the call that returned in a line can have been
// invoked: at its invocation, or else at its client's previous line.
func (o *oracle) began(line int) time.Duration {
	if i := o.invocation(line); i >= 0 {
		return o.ops[i].Time
	}
	for i := line - 1; i >= 0; i-- {
		if o.ops[i].Process == o.ops[line].Process {
			return o.ops[i].Time
		}
	}
	return 0
}

func (o *oracle) acquisition(line int) *acquisition {
	op := o.ops[line]
	a := &acquisition{line: line, lostAt: -1, call: o.invocation(line), client: op.Process, key: op.Key, token: op.Value.Token,
		grant: op.Time, until: op.Value.ValidUntil, fence: op.Value.Fence, asks: asksFor(op.Process, op.Value), over: never, overLine: -1, called: o.began(line)}
	a.grants = []grant{{line: line, at: a.grant, until: a.until, asked: a.call}}
	return a
}

// owner returns the acquisition that a client's line belongs to, or nil. Among the acquisitions
// with the line's token since the client's last crash, it prefers the line's key, then
// acquisitions that were not released before, then the latest.
func (o *oracle) owner(line int) *acquisition {
	op := o.ops[line]
	var best *acquisition
	rank := func(a *acquisition) int {
		r := 0
		if a.key == op.Key {
			r += 2
		}
		if a.overLine < 0 || a.overLine >= line {
			r++
		}
		return r
	}
	for _, a := range o.acqs {
		if a.client != op.Process || a.token != op.Value.Token || a.line >= line || o.crashedBetween(op.Process, a.line, line) {
			continue
		}
		if best == nil || rank(a) >= rank(best) {
			best = a
		}
	}
	return best
}

func (o *oracle) crashedBetween(client string, from, to int) bool {
	return slices.ContainsFunc(o.ops[from:to], func(x history.Op) bool { return x.Process == client && x.F == history.FCrash })
}

// follow reads the operations that changed the ends of acquisitions or ended them.
func (o *oracle) follow() {
	for i, op := range o.ops {
		if op.F == history.FCrash {
			for _, a := range o.acqs {
				if a.client == op.Process && a.line < i && !a.crashed {
					a.crashed = true
					if a.overLine < 0 {
						a.over, a.overLine, a.killed = op.Time, i, true
					}
				}
			}
			continue
		}
		if op.F != history.FRelease && op.F != history.FExtend && op.F != history.FClock && op.F != history.FLost || op.Value.Token == "" {
			continue
		}
		a := o.owner(i)
		if a == nil {
			continue
		}
		if op.F == history.FExtend {
			a.turn(op, o.began(i))
		}
		switch {
		case op.F == history.FRelease && op.Type == history.Invoke && a.overLine < 0:
			a.over, a.overLine = op.Time, i
		case op.F == history.FRelease && op.Type != history.Invoke && o.invocation(i) < 0 && a.overLine < 0:
			a.over, a.overLine = o.began(i), i
		case op.F == history.FLost && a.lostAt < 0: // no earlier than the last grant
			a.lostAt = max(op.Time-op.Value.Delay, a.grants[len(a.grants)-1].at)
		case op.F == history.FExtend && op.Type == history.OK:
			a.grants = append(a.grants, grant{line: i, at: op.Time, until: op.Value.ValidUntil, asked: o.invocation(i)})
		case op.F == history.FClock && op.Time < a.grants[len(a.grants)-1].until:
			a.grants = append(a.grants, grant{line: i, at: op.Time, until: op.Value.ValidUntil, skewed: true})
		}
	}
}

// relied returns until when a client could rely on a lease at most, regardless of its grants.
func (a *acquisition) relied() time.Duration {
	if a.lostAt >= 0 {
		return min(a.over, a.lostAt)
	}
	return a.over
}

// held says whether an instant lies in hold(ℓ): the validity of the last grant by then is not
// over, and nothing has ended the lease.
func (a *acquisition) held(t time.Duration) bool {
	if t < a.grant || t >= a.relied() {
		return false
	}
	until := a.until
	for _, g := range a.grants {
		if g.at <= t {
			until = g.until
		}
	}
	return t < until
}

// dead says whether a lease was over on arrival.
func (a *acquisition) dead() bool { return a.until <= a.grant }
