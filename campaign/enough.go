package campaign

import (
	"slices"
	"strconv"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
)

// stopWithEvidence calls stop soon after the run has the contended acquisitions after which its scenario ends, if it names any.
func (c *campaign) stopWithEvidence(kind history.LockKind, stop func()) {
	if c.s.StopAfter == 0 {
		return
	}
	e := newEnough(&c.s, kind)
	c.recorder.Observe(func(op history.Op) {
		if !e.reached && e.observe(&op) {
			e.reached = true
			c.runtime.AfterFunc(stopLag, stop)
		}
	})
}

// enough counts the contended acquisitions of a run while it goes on, as facts.Run.Contended does when it is over. It does
// not know whether a fault took effect, a lease was over on arrival, or the mode of a lease changed: the checker may count fewer.
type enough struct {
	need    int
	ttl     time.Duration
	lock    history.Header // its kind and permits
	reached bool

	steps  map[string]bool // numbers of the schedule's steps that have neither struck nor been skipped
	kinds  map[string]bool // kinds of fault of which none has struck
	active map[int]bool    // faults that are in force
	healed time.Duration   // when the latest fault healed

	keys      map[string]*contest
	contended int
	last      int // of them under faults, since every step and kind has struck
}

// contest is what enough knows of a key.
type contest struct {
	pending []asked // calls of acquire that have not returned
	held    []grant // in the order of their grants: those that are not released, nor older than a TTL
}

// asked is how much of the lock's capacity a client wants.
type asked struct {
	client string
	weight int64
}

// grant is an acquisition, with what it left of the lock's capacity.
type grant struct {
	asked
	at       time.Duration
	left     int64
	released bool
	counted  bool // as contended
}

func newEnough(s *scenario.Scenario, kind history.LockKind) *enough {
	e := &enough{
		need: s.StopAfter, ttl: s.TTL, lock: history.Header{Kind: kind, Permits: permitsOf(s)},
		steps: map[string]bool{}, kinds: map[string]bool{}, active: map[int]bool{}, keys: map[string]*contest{},
	}
	for i := range s.Schedule {
		e.steps[strconv.Itoa(i+1)] = true
	}
	for _, name := range s.FaultNames() {
		e.kinds[name] = true
	}
	return e
}

// observe adds an operation, and reports whether the run has enough.
func (e *enough) observe(op *history.Op) bool {
	switch {
	case op.Process == history.Nemesis:
		e.strike(op)
		return false
	case op.F == history.FRelease && op.Type == history.Invoke && e.keys[op.Key] != nil:
		e.keys[op.Key].release(op.Process)
		return false
	case op.F == history.FCrash:
		e.forget(op)
		for _, k := range e.keys {
			k.releaseAll(op.Process)
		}
		return false
	case op.F != history.FAcquire:
		return false
	}
	k := e.keys[op.Key]
	if k == nil {
		k = &contest{}
		e.keys[op.Key] = k
	}
	k.held = slices.DeleteFunc(k.held, func(g grant) bool { return op.Time > g.at+e.ttl })
	if op.Type == history.Invoke {
		e.forget(op)
		a := asked{op.Process, e.lock.Weight(op.Asks())}
		k.pending = append(k.pending, a)
		for i := range k.held {
			if g := &k.held[i]; !g.counted && a.competes(g) {
				g.counted = true
				e.add(g.at)
			}
		}
		return e.whole()
	}
	i := slices.IndexFunc(k.pending, func(a asked) bool { return a.client == op.Process })
	if i < 0 {
		return false
	}
	g := grant{asked: k.pending[i], at: op.Time}
	k.pending = slices.Delete(k.pending, i, i+1)
	if op.Type != history.OK {
		return false
	}
	g.left = e.lock.Capacity() - g.weight
	for _, other := range k.held {
		if !other.released {
			g.left -= other.weight
		}
	}
	if g.counted = slices.ContainsFunc(k.pending, func(a asked) bool { return a.competes(&g) }); g.counted {
		e.add(g.at)
	}
	k.held = append(k.held, g)
	return e.whole()
}

// competes reports whether a client wants what another one's grant left nothing of.
func (a asked) competes(g *grant) bool { return a.client != g.client && a.weight > g.left }

// forget drops the acquires of a client that cannot return any more: it crashed, or calls acquire again.
func (e *enough) forget(op *history.Op) {
	for key, k := range e.keys {
		if op.F == history.FCrash || e.lock.Kind != history.Multi || key == op.Key {
			k.pending = slices.DeleteFunc(k.pending, func(a asked) bool { return a.client == op.Process })
		}
	}
}

// release notes that a client gives back its oldest grant.
func (k *contest) release(client string) {
	for i := range k.held {
		if g := &k.held[i]; g.client == client && !g.released {
			g.released = true
			return
		}
	}
}

// releaseAll notes that a client has nothing any more.
func (k *contest) releaseAll(client string) {
	for i := range k.held {
		if k.held[i].client == client {
			k.held[i].released = true
		}
	}
}

// strike notes that a fault struck, was skipped, or healed.
func (e *enough) strike(op *history.Op) {
	v := op.Value
	if v == nil || v.ID == 0 || op.Type == history.Invoke {
		return
	}
	switch v.Phase {
	case history.PhaseInstall:
		delete(e.steps, v.Params["step"])
		if op.Type == history.OK {
			delete(e.kinds, op.F)
			e.active[v.ID] = true
		}
	case history.PhaseHeal:
		delete(e.active, v.ID)
		e.healed = op.Time
	}
}

// add counts an acquisition that was contended.
func (e *enough) add(granted time.Duration) {
	e.contended++
	if e.allInjected() && (len(e.active) > 0 || granted <= e.healed+e.ttl) {
		e.last++
	}
}

func (e *enough) allInjected() bool { return len(e.steps) == 0 && len(e.kinds) == 0 }

func (e *enough) whole() bool {
	return e.contended >= e.need && e.allInjected() && (e.last >= checker.MinUnderFaults || e.healed == 0 && len(e.active) == 0)
}
