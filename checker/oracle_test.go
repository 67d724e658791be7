package checker_test

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"lockpick/checker"
	"lockpick/history"
)

// never is a time that no history reaches.
const never = time.Duration(1 << 60)

// oracle judges a history by the definitions of docs/checking.md and nothing else. It
// tries every pair and looks at every instant; all times of its histories are multiples of
// tick. It shares no code with the checkers and uses none of the views of package history.
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

	interrupted time.Duration // the harness was told to stop, or never

	// What is asked for again and again.
	acquires []asking
	still    map[string][][2]time.Duration
	waitsOf  map[bool][]wait
	shown    []snapshot
	states   []history.Op
	commands []*sent
}

// acquisition is one acquire that returned ok, and what moved or ended it.
type acquisition struct {
	line, call         int // of the grant and of the invocation; call is -1 if none was recorded
	client, key, token string
	called             time.Duration
	grant, until       time.Duration
	fence              int64
	grants             []grant
	over               time.Duration // its release was invoked, or its client crashed
	overLine           int
	crashed, killed    bool // its client crashed later; and that ended it
}

// grant is a time at which the end of a lease was set: by an acquire, an extension or a
// bent clock.
type grant struct {
	line      int
	at, until time.Duration
	bent      bool
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
	id                int
	name              string
	masters, clients  []string
	began, from, to   time.Duration
	installed, healed bool
	bit               bool
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
		longest = max(longest, op.Value.Delay)
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
		if !f.healed {
			f.to = o.end
		}
	}
	o.follow()
	return o
}

// invocation is the line of the call that returned in a line, or -1: the last line before it
// about that operation of the client, on that key and under that token, if that is an
// invocation of the same life.
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

// began is when the call that returned in a line was invoked, at the earliest: not before
// the line of its client before it.
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
	a := &acquisition{line: line, call: o.invocation(line), client: op.Process, key: op.Key, token: op.Value.Token,
		grant: op.Time, until: op.Value.ValidUntil, fence: op.Value.Fence, over: never, overLine: -1, called: o.began(line)}
	a.grants = []grant{{line: line, at: a.grant, until: a.until, asked: a.call}}
	return a
}

// owner is the acquisition that a client's line belongs to: of those of its life with the
// token, the latest on the line's key that was not released before, or else the latest on
// it; if none is on that key, the same of the other keys. Or nil.
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

// follow reads what moved the ends of acquisitions, and what ended them.
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
		if op.F != history.FRelease && op.F != history.FExtend && op.F != history.FClock || op.Value.Token == "" {
			continue
		}
		a := o.owner(i)
		if a == nil {
			continue
		}
		switch {
		case op.F == history.FRelease && op.Type == history.Invoke && a.overLine < 0:
			a.over, a.overLine = op.Time, i
		case op.F == history.FRelease && op.Type != history.Invoke && o.invocation(i) < 0 && a.overLine < 0:
			a.over, a.overLine = o.began(i), i
		case op.F == history.FExtend && op.Type == history.OK:
			a.grants = append(a.grants, grant{line: i, at: op.Time, until: op.Value.ValidUntil, asked: o.invocation(i)})
		case op.F == history.FClock && op.Time < a.grants[len(a.grants)-1].until:
			a.grants = append(a.grants, grant{line: i, at: op.Time, until: op.Value.ValidUntil, bent: true})
		}
	}
}

// held says whether an instant lies in hold(ℓ): the last grant by then still runs, and
// nothing has ended the lease.
func (a *acquisition) held(t time.Duration) bool {
	if t < a.grant || t >= a.over {
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

func (o *oracle) fault(line int) {
	op := o.ops[line]
	v := op.Value
	i := slices.IndexFunc(o.faults, func(f *fault) bool { return f.id == v.ID })
	if i < 0 {
		i = len(o.faults)
		o.faults = append(o.faults, &fault{id: v.ID, name: op.F, began: op.Time})
	}
	f := o.faults[i]
	if v.Masters != nil {
		f.masters = v.Masters
	}
	if v.Clients != nil {
		f.clients = v.Clients
	}
	switch {
	case v.Phase == history.PhaseInstall && op.Type == history.OK:
		f.installed, f.from = true, op.Time
	case v.Phase == history.PhaseHeal && op.Type == history.OK:
		f.healed, f.to, f.bit = true, op.Time, v.Bit
	case v.Phase == history.PhaseHeal && op.Type == history.Info:
		f.bit = v.Bit
	}
}

// pauses are when a client stood still: until it went on, ended, or the history did.
func (o *oracle) pauses(client string) (all [][2]time.Duration) {
	if all, known := o.still[client]; known {
		return all
	}
	defer func() { o.still[client] = all }()
	for i, op := range o.ops {
		if op.Process != client || op.F != history.FPaused || op.Type != history.Invoke {
			continue
		}
		to := o.end
		for _, x := range o.ops[i+1:] {
			if x.Process == client && (x.F == history.FPaused || x.F == history.FCrash) {
				to = x.Time
				break
			}
		}
		all = append(all, [2]time.Duration{op.Time, to})
	}
	return all
}

func touch(spans [][2]time.Duration, from, to time.Duration) bool {
	for _, s := range spans {
		if s[0] <= to && from <= s[1] {
			return true
		}
	}
	return false
}

func (o *oracle) stopped(client string, from, to time.Duration) bool {
	return touch(o.pauses(client), from, to)
}

func (o *oracle) stalled(from, to time.Duration) bool { return touch(o.stalls, from, to) }

// crashed says whether a client ended within a time.
func (o *oracle) crashed(client string, from, to time.Duration) bool {
	for _, op := range o.ops {
		if op.Process == client && op.F == history.FCrash && op.Time >= from && op.Time <= to {
			return true
		}
	}
	return false
}

// stood is the share of a time in which the harness's machine stood still.
func (o *oracle) stood(from, to time.Duration) float64 {
	still, all := 0, 0
	for t := from; t < to; t += o.tick {
		all++
		for _, s := range o.stalls {
			if s[0] <= t && t < s[1] {
				still++
				break
			}
		}
	}
	return float64(still) / float64(max(all, 1))
}

// tookEffect says whether a fault changed what somebody experienced. A client's own word
// that it was stopped within a client-pause says the same as bit.
func (o *oracle) tookEffect(f *fault) bool {
	if !f.installed {
		return false
	}
	if f.bit || f.name != "client-pause" {
		return f.bit
	}
	for i, op := range o.ops {
		if op.F != history.FPaused || op.Type != history.Invoke || len(f.clients) > 0 && !slices.Contains(f.clients, op.Process) {
			continue
		}
		for _, x := range o.ops[i+1:] {
			if x.Process == op.Process && (x.F == history.FPaused || x.F == history.FCrash) {
				if x.Type == history.OK && op.Time < f.to && x.Time > f.began {
					return true
				}
				break
			}
		}
	}
	return false
}

// inFaultyPeriod says whether an instant lies within it.
func (o *oracle) inFaultyPeriod(t time.Duration) bool {
	for _, f := range o.faults {
		if o.tookEffect(f) && f.from <= t && t <= f.to+o.ttl {
			return true
		}
	}
	return false
}

// requested are the kinds of faults that the header names.
func (o *oracle) requested() (names []string) {
	for _, name := range o.h.Faults {
		if name != "" && name != "none" {
			names = append(names, name)
		}
	}
	return names
}

// asking is an acquire from its call to its return; without one to the crash or the next
// acquire of its client, or to the end of the history.
type asking struct {
	client, key string
	line, back  int // of the call and of the return, or -1
	from, to    time.Duration
	ok, open    bool
	dropped     bool // its client ended, or asked again, before it returned
}

func (o *oracle) askings() (all []asking) {
	if o.acquires != nil {
		return o.acquires
	}
	defer func() { o.acquires = all }()
	for i, op := range o.ops {
		if op.F != history.FAcquire || op.Type != history.Invoke {
			continue
		}
		a := asking{client: op.Process, key: op.Key, line: i, back: -1, from: op.Time, to: o.end, open: true}
		for j, x := range o.ops[i+1:] {
			back := x.F == history.FAcquire && x.Type != history.Invoke && x.Key == op.Key
			if x.Process != op.Process || x.F != history.FCrash && (x.F != history.FAcquire || x.Type != history.Invoke) && !back {
				continue
			}
			a.to = x.Time
			if a.dropped = !back; back {
				a.open, a.ok, a.back = false, x.Type == history.OK, i+1+j
			}
			break
		}
		all = append(all, a)
	}
	return all
}

// contended says whether another client's acquire of the key was pending at some time from
// the grant to a TTL after it.
func (o *oracle) contended(a *acquisition) bool {
	if a.dead() {
		return false
	}
	for _, x := range o.askings() {
		if x.client == a.client || x.key != a.key {
			continue
		}
		for t := a.grant; t <= a.grant+o.ttl; t += o.tick {
			if x.from <= t && t <= x.to {
				return true
			}
		}
	}
	return false
}

// finding is what the oracle says of a property before the rule for verdicts.
type finding struct {
	untested bool
	slack    bool
	late     bool // a violation is complete only at its end
	found    []violation
	rows     []row
	invalid  bool
}

type violation struct {
	key       string
	at, until time.Duration
}

type row struct{ got, need int }

func (f *finding) add(key string, at time.Duration) {
	f.found = append(f.found, violation{key, at, at})
}

// needs counts evidence: so many things in all and so many in the faulty period.
func (o *oracle) needs(at []time.Duration, total, faulty int) []row {
	rows := []row{{len(at), total}}
	installed := slices.ContainsFunc(o.faults, func(f *fault) bool { return f.installed })
	if installed || len(o.requested()) > 0 {
		n := 0
		for _, t := range at {
			if o.inFaultyPeriod(t) {
				n++
			}
		}
		rows = append(rows, row{n, faulty})
	}
	return rows
}

func (o *oracle) need(at []time.Duration) []row { return o.needs(at, 10, 3) }

// opinion is the oracle's verdict on a property.
type opinion struct {
	verdict checker.Verdict // "" if it was not tested
	keys    []string        // with a violation that convicts
	count   int
	found   bool // something, even if it does not convict
	rows    []row
}

// conclude is the rule that gives the verdict of every property.
func (o *oracle) conclude(f finding) opinion {
	if f.untested {
		return opinion{}
	}
	x := opinion{rows: f.rows, found: len(f.found) > 0}
	died := never
	for _, op := range o.ops {
		if op.F == history.FDied {
			took := 2 * time.Second
			if op.Value.Took > 0 {
				took = op.Value.Took
			}
			died = min(died, op.Time-took)
			break
		}
	}
	for _, v := range f.found {
		if f.late && v.until < died || !f.late && v.at < died {
			x.count++
			if !slices.Contains(x.keys, v.key) {
				x.keys = append(x.keys, v.key)
			}
		}
	}
	slices.Sort(x.keys)
	n := len(o.ops)
	ended := n > 0 && o.ops[n-1].F == history.FEnd
	ineffective := slices.ContainsFunc(o.requested(), func(name string) bool {
		return !slices.ContainsFunc(o.faults, func(f *fault) bool { return f.name == name && o.tookEffect(f) })
	})
	short := slices.ContainsFunc(f.rows, func(r row) bool { return r.got < r.need })
	switch {
	case x.count > 0:
		x.verdict = checker.Violated
	case len(f.found) > 0:
		x.verdict = checker.Invalid
	case o.interrupted < never, o.h.Format >= 2 && !ended:
		x.verdict = checker.Unknown
	case died < never, o.stood(0, o.end) > 0.5, ineffective, f.invalid, f.slack && 4*o.slack > o.ttl, short:
		x.verdict = checker.Invalid
	default:
		x.verdict = checker.Holds
	}
	return x
}

// writeHistory writes a history as the golden files do, as far as they can.
func writeHistory(h *history.History) string {
	var b strings.Builder
	for _, op := range h.Ops {
		b.WriteString(writeLine(op))
		b.WriteString("\n")
	}
	return b.String()
}
