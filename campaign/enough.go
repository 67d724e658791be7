package campaign

import (
	"strconv"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
)

// stopWithEvidence calls stop soon after the run has the contended acquisitions after which its scenario ends, if it names any.
func (c *campaign) stopWithEvidence(stop func()) {
	if c.s.StopAfter == 0 {
		return
	}
	e := newEnough(&c.s)
	c.recorder.Observe(func(op history.Op) {
		if !e.reached && e.observe(&op) {
			e.reached = true
			c.runtime.AfterFunc(stopLag, stop)
		}
	})
}

// enough counts the contended acquisitions of a run, as the checker counts them for its verdict on mutual exclusion. It does
// not know whether a fault took effect, or a lease was over on arrival: the checker may count fewer.
type enough struct {
	need    int
	ttl     time.Duration
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
	pending map[string]int // calls of acquire that have not returned, by client
	calls   int            // their number
	holder  string         // the client of the latest grant that nobody has competed for; empty: none
	granted time.Duration  // when it was granted
}

func newEnough(s *scenario.Scenario) *enough {
	e := &enough{need: s.StopAfter, ttl: s.TTL, steps: map[string]bool{}, kinds: map[string]bool{}, active: map[int]bool{}, keys: map[string]*contest{}}
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
	case op.F != history.FAcquire:
		return false
	}
	k := e.keys[op.Key]
	if k == nil {
		k = &contest{pending: map[string]int{}}
		e.keys[op.Key] = k
	}
	if op.Type == history.Invoke {
		k.pending[op.Process]++
		k.calls++
		if k.holder != "" && k.holder != op.Process {
			if op.Time <= k.granted+e.ttl {
				e.add(k.granted)
			}
			k.holder = ""
		}
		return e.whole()
	}
	if k.pending[op.Process] > 0 {
		k.pending[op.Process]--
		k.calls--
	}
	if op.Type != history.OK {
		return false
	}
	if k.holder = op.Process; k.calls > k.pending[op.Process] { // another client waits
		k.holder = ""
		e.add(op.Time)
	}
	k.granted = op.Time
	return e.whole()
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
	if e.struck() && (len(e.active) > 0 || granted <= e.healed+e.ttl) {
		e.last++
	}
}

func (e *enough) struck() bool { return len(e.steps) == 0 && len(e.kinds) == 0 }

func (e *enough) whole() bool {
	return e.contended >= e.need && e.struck() && (e.last >= checker.MinUnderFaults || e.healed == 0 && len(e.active) == 0)
}
