package checker

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"lockpick/history"
)

// linearizability is porcupine's decision on a history of locks.
type linearizability struct {
	illegal   map[string]bool // the keys whose history no lock of its kind could have produced
	undecided bool            // the time limit was reached: any key that is not in illegal is undecided
	limit     time.Duration
}

// step is the input of one operation of a lock: an acquisition takes its weight, or returns it.
type step struct {
	owner  int
	weight int64
	ends   bool
}

// taken is the state of a lock: the weight that is taken. The owner matters only if the lock is re-entrant: then
// it is that of everything that is taken.
type taken struct {
	weight int64
	owner  int
}

// model is a lock that begins in a state.
func model(h *history.Header, init taken) porcupine.Model {
	capacity, reentrant := h.Capacity(), h.LockKind() == history.Reentrant
	return porcupine.Model{
		Init: func() any { return init },
		Step: func(state, input, _ any) (bool, any) {
			now, s := state.(taken), input.(step)
			if s.ends {
				now.weight -= s.weight
				return now.weight >= 0, now
			}
			mine := reentrant && now.weight > 0 && now.owner == s.owner
			if !mine && now.weight+s.weight > capacity {
				return false, now
			}
			now.weight += s.weight
			if reentrant {
				now.owner = s.owner
			}
			return true, now
		},
		Hash: func(state any) uint64 { return uint64(state.(taken).weight) * 0x9E3779B97F4A7C15 },
	}
}

// epochSize is the minimum number of operations of an epoch, before the history of
// a key is cut where the lock is free; it is cut anywhere after twice as many. Porcupine keeps a set of all operations for
// every step it takes, so its memory grows with the square of an epoch.
const epochSize = 256

// linearizable decides L2 a second time, by porcupine. It shares no
// leases, holds or sweep with the first decision: it reads the operations themselves.
//
// Each acquire that was granted is an operation from its call to its return. Each end
// of a hold is an operation from the release's call to its return or the end of the
// validity, or at the instant at which the validity ends. An extension that returns
// in time moves that instant; an extension that returns late counts as an acquire.
//
//	acquire  |-----------|             takes effect at some instant of it
//	the hold             [============)
//	release                           |-----|     or a point, if the validity ends first
//
// An acquire that failed or never returned promised nothing and is left out:
// Redlock may fail on a free lock, and such operations would make the search
// exponential. A hold that is over before it begins is left out, too.
//
// Porcupine's intervals are closed: at equal times it puts calls before returns,
// so a lock may be taken at the instant at which it is returned.
func linearizable(h *history.Packed, limit time.Duration) linearizability {
	return linearizableBy(h, limit, epochSize)
}

func linearizableBy(p *history.Packed, limit time.Duration, size int) linearizability {
	h := &p.Header
	verdict := linearizability{illegal: map[string]bool{}, limit: limit}
	deadline := time.Now().Add(limit)
	for _, k := range tenures(p) {
		for _, part := range epochs(h, k.tenures, size) {
			left := time.Until(deadline)
			if left <= 0 {
				verdict.undecided = true
				return verdict
			}
			switch porcupine.CheckOperationsTimeout(model(h, part.init), part.ops, left) {
			case porcupine.Illegal:
				verdict.illegal[k.key] = true
			case porcupine.Unknown:
				verdict.undecided = true
				return verdict
			}
			if verdict.illegal[k.key] {
				break
			}
		}
	}
	return verdict
}

// tenure is one hold in porcupine's model: an operation that takes the lock and an operation
// that returns it.
type tenure struct {
	took, gave porcupine.Operation
}

type keyTenures struct {
	key     string
	tenures []tenure
}

// tenureOf identifies a token in one life of a process.
type tenureOf struct {
	process, token string
	life           int
}

// releaseOf identifies the releases of a token on a key.
type releaseOf struct{ process, token, key string }

// tenant is a process whose lines are being read.
type tenant struct {
	number   int           // -1: it has no tenure
	began    time.Duration // when its pending acquire or extend was called
	lastLine time.Duration // the time of its previous line
	lives    int           // how often it crashed
	alive    []*openTenure // the tenures since its last crash
}

// openTenure is a tenure whose lines are still being read.
type openTenure struct {
	key             int
	process         int
	weight          int64
	excess          []excess      // what an upgrade took beside, or a downgrade gave back before
	called, granted time.Duration // when the acquire, or a late extension, was called and returned
	until           time.Duration // the end of the validity by its last grant or clock change
	latest          time.Duration // when the last grant or clock change was
	over            time.Duration // when its release was called, its client crashed, or its lock reported it lost
	lost            bool          // its lock reported it lost
	released        bool          // its release was called, or its client crashed
	answered        time.Duration // when its release returned
}

// excess is what a writer has more than a reader, as long as its lease is one of a writer. It is an operation of its own that
// takes it, and one that returns it: at the call of a downgrade, or with the rest.
type excess struct {
	called, granted time.Duration
	till            time.Duration
}

// writes reports whether the tenure is one of a writer now, of a lock whose readers have the given weight.
func (o *openTenure) writes(reader int64) bool {
	n := len(o.excess)
	return o.weight > reader || n > 0 && o.excess[n-1].till == math.MaxInt64
}

// downgrade makes the tenure one of a reader from the call of a downgrade on.
func (o *openTenure) downgrade(at time.Duration, reader int64) {
	if o.weight > reader {
		o.excess = append(o.excess, excess{called: o.called, granted: o.granted})
		o.weight = reader
	}
	o.excess[len(o.excess)-1].till = at
}

// promise sets the end of the validity, by a grant or a clock change at a time.
func (o *openTenure) promise(at, until time.Duration) { o.latest, o.until = at, until }

// lapse returns when the tenure ends if nothing ends it before. A promise that was over on arrival
// counts, too: it replaces the earlier promise.
func (o *openTenure) lapse() time.Duration { return max(o.until, o.latest) }

// runningRelease is a release that was called and has not returned. After a crash of its
// client, an info line may still say that its outcome is unknown.
type runningRelease struct {
	of   *openTenure // nil: the token has no tenure
	life int
}

// ownTenures holds the tenures of one token. Nearly every token has one, which needs no lists.
type ownTenures struct {
	only *openTenure
	many map[int]*tokenTenures // by the number of the key, and under anyKey all; nil while there is one tenure
}

const anyKey = -1

func (t *ownTenures) add(o *openTenure) {
	if t.only == nil && t.many == nil {
		t.only = o
		return
	}
	all := []*openTenure{o}
	if t.many == nil {
		t.many = map[int]*tokenTenures{}
		all = []*openTenure{t.only, o}
		t.only = nil
	}
	for _, o := range all {
		for _, key := range []int{o.key, anyKey} {
			if t.many[key] == nil {
				t.many[key] = &tokenTenures{}
			}
			t.many[key].add(o)
		}
	}
}

// current returns the tenure that a line about a key is about, or nil.
func (t ownTenures) current(key int) *openTenure {
	if t.many == nil {
		return t.only
	}
	return cmp.Or(t.many[key], t.many[anyKey]).current()
}

// tokenTenures holds several tenures of one token.
type tokenTenures struct {
	open []*openTenure // the tenures that may not be released yet, the latest last
	last *openTenure
}

func (t *tokenTenures) add(o *openTenure) { t.open, t.last = append(t.open, o), o }

// current returns the tenure that a line is about: the latest that was not released, or else the
// latest.
func (t *tokenTenures) current() *openTenure {
	for n := len(t.open); n > 0; n-- {
		if o := t.open[n-1]; !o.released {
			return o
		}
		t.open = t.open[:n-1]
	}
	return t.last
}

// tenures reads the operations of each key's tenures. The keys are in the order
// of their first acquire.
func tenures(p *history.Packed) []keyTenures {
	h := &p.Header
	var keys []keyTenures
	keyOf, processes := map[string]int{}, 0
	tenants := map[string]*tenant{}
	releasing := map[releaseOf]runningRelease{} // in any life
	running := map[tenureOf]ownTenures{}
	var order []*openTenure
	modes, reader := h.LockKind() == history.ReadWrite, h.Weight(history.ModeRead, 1)

	// end closes the tenure of a lease at its release or, if that is at or after the end of the
	// validity, when it lapses.
	end := func(o *openTenure) {
		lapse := o.lapse()
		at := min(o.over, lapse)
		if at <= o.granted {
			return // the lease was over before it began, so it held at no instant
		}
		k := &keys[o.key]
		add := func(weight int64, called, granted, over, returned time.Duration) {
			k.tenures = append(k.tenures, tenure{
				took: porcupine.Operation{ClientId: o.process, Input: step{o.process, weight, false}, Call: int64(called), Return: int64(granted)},
				gave: porcupine.Operation{ClientId: o.process, Input: step{o.process, weight, true}, Call: int64(over), Return: int64(returned)},
			})
		}
		add(o.weight, o.called, o.granted, at, min(lapse, max(at, o.answered)))
		for _, x := range o.excess {
			if till := min(x.till, at); till > x.granted {
				add(h.Capacity()-reader, x.called, x.granted, till, till)
			}
		}
	}

	for _, op := range p.All() {
		if op.F == history.FVote {
			continue
		}
		owner := tenants[op.Process]
		if owner == nil {
			owner = &tenant{number: -1}
			tenants[op.Process] = owner
		}
		before := owner.lastLine
		owner.lastLine = op.Time
		if op.F == history.FCrash {
			for _, o := range owner.alive {
				if !o.released {
					o.released, o.over = true, min(o.over, op.Time)
				}
			}
			owner.alive = nil
			owner.lives++
			continue
		}
		if op.F != history.FAcquire && op.F != history.FExtend && op.F != history.FRelease && op.F != history.FClock && op.F != history.FLost {
			continue
		}
		if op.Type == history.Invoke && op.F != history.FRelease {
			owner.began = op.Time
		}
		if op.Value == nil || op.Value.Token == "" {
			continue
		}
		mine := tenureOf{op.Process, op.Value.Token, owner.lives}
		key, known := keyOf[op.Key]
		if op.F == history.FAcquire && op.Type == history.OK {
			if !known {
				key = len(keys)
				keyOf[op.Key] = key
				keys = append(keys, keyTenures{key: op.Key})
			}
			if owner.number < 0 {
				owner.number = processes
				processes++
			}
			o := &openTenure{key: key, process: owner.number, weight: h.Weight(op.Asks()), called: owner.began, granted: op.Time, latest: op.Time, until: op.Value.ValidUntil, over: math.MaxInt64, answered: math.MaxInt64}
			own := running[mine]
			own.add(o)
			running[mine] = own
			owner.alive = append(owner.alive, o)
			order = append(order, o)
			continue
		}
		called := releaseOf{op.Process, op.Value.Token, op.Key}
		if release, invoked := releasing[called]; invoked && op.F == history.FRelease && (op.Type == history.Info || op.Type != history.Invoke && release.life == owner.lives) {
			if o := release.of; o != nil {
				o.answered = min(o.answered, op.Time)
			}
			delete(releasing, called)
			continue
		}
		if !known {
			key = anyKey
		}
		o := running[mine].current(key)
		if op.F == history.FRelease && op.Type == history.Invoke {
			releasing[called] = runningRelease{o, owner.lives}
		}
		if o != nil && modes && op.F == history.FExtend && op.Value.Mode == history.ModeRead && o.writes(reader) {
			called := op.Time
			if op.Type != history.Invoke { // it was called at some time since the process's previous line
				called = before
			}
			o.downgrade(called, reader)
		}
		switch {
		case o == nil:
		case op.F == history.FExtend && op.Type == history.OK:
			upgrade := modes && op.Value.Mode == history.ModeWrite && !o.writes(reader)
			if lapse := o.lapse(); op.Time > lapse || lapse <= o.granted { // a late extension counts as an acquire
				end(o)
				if upgrade || modes && o.writes(reader) {
					o.weight = h.Capacity()
				}
				o.called, o.granted, o.excess = max(owner.began, lapse), op.Time, nil
			} else if upgrade {
				o.excess = append(o.excess, excess{owner.began, op.Time, math.MaxInt64})
			}
			o.promise(op.Time, op.Value.ValidUntil)
		case op.F == history.FClock && op.Time < o.until: // the rest of its validity changed
			o.promise(op.Time, op.Value.ValidUntil)
		case op.F == history.FLost && !o.lost: // the delay may date the loss back, but not before the last grant
			o.lost, o.over = true, min(o.over, max(op.Time-op.Value.Delay, o.latest))
		case op.F == history.FRelease && !o.released:
			o.released = true
			if op.Type == history.Invoke {
				o.over = min(o.over, op.Time)
			} else { // it was called at some time since the process's previous line
				o.over = min(o.over, before)
			}
		}
	}
	for _, o := range order {
		end(o)
	}
	return keys
}

// epoch is a part of the operations on a key, and the state of the lock when it begins.
type epoch struct {
	ops  []porcupine.Operation
	init taken
}

// epochs cuts the tenures of a key where the lock is free: at an instant at
// which every hold that began has ended. That changes no verdict. An acquire that
// is pending at the cut can be assumed to take effect at its return, and a release
// at its call, because that only shortens holds. So each operation falls on one
// side, and on both sides the lock is free at the cut.
//
// A lock that several clients may hold is rarely free. For the same reason its history may be cut at
// any instant, if the next epoch begins with what is held there; and each of its acquires takes effect at its return, or
// porcupine would try all subsets of the readers that wait for a writer.
//
// epochs finds the cuts from the operations alone, and an epoch has at least size
// operations, so porcupine still orders the operations that ran concurrently.
func epochs(h *history.Header, all []tenure, size int) []epoch {
	slices.SortStableFunc(all, func(a, b tenure) int { return cmp.Compare(a.took.Return, b.took.Return) })
	var parts []epoch
	var part epoch
	cut := int64(math.MinInt64)   // where the epoch begins
	ended := int64(math.MinInt64) // when the last hold of the epoch so far ends
	for _, t := range all {
		if free := t.took.Return >= ended; len(part.ops) >= size && free || len(part.ops) >= 2*size && h.Capacity() > 1 {
			if cut = t.took.Return; free {
				cut = ended
			}
			var next epoch
			part, next = part.cutAt(cut)
			parts, part = append(parts, part), next
		}
		if t.took.Call = max(t.took.Call, cut); h.Capacity() > 1 {
			t.took.Call = t.took.Return
		}
		part.ops = append(part.ops, t.took, t.gave)
		ended = max(ended, t.gave.Call)
	}
	if len(part.ops) > 0 {
		parts = append(parts, part)
	}
	return parts
}

// cutAt cuts an epoch at a time, by which all its acquires have returned. What is held then is returned in the next
// epoch.
func (e epoch) cutAt(at int64) (before, after epoch) {
	before.init = e.init
	for _, op := range e.ops {
		if s := op.Input.(step); s.ends && op.Call > at {
			after.ops = append(after.ops, op)
			after.init = taken{after.init.weight + s.weight, s.owner}
			continue
		}
		op.Return = min(op.Return, at)
		before.ops = append(before.ops, op)
	}
	return before, after
}
