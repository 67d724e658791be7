package checker_test

import (
	"slices"
	"time"

	"lockpick/history"
)

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
	case v.Phase == history.PhaseInstall && op.Type == history.Fail: // what could not be installed does not last
		f.skipped, f.to = true, op.Time
	case v.Phase == history.PhaseHeal && op.Type == history.OK:
		f.healed, f.to, f.bit = true, op.Time, v.TookEffect
	case v.Phase == history.PhaseHeal && op.Type == history.Info:
		f.bit = v.TookEffect
	}
}

// pauses returns when a client stood still: until it went on, crashed, or the history ended.
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

// crashed says whether a client crashed between two times.
func (o *oracle) crashed(client string, from, to time.Duration) bool {
	for _, op := range o.ops {
		if op.Process == client && op.F == history.FCrash && op.Time >= from && op.Time <= to {
			return true
		}
	}
	return false
}

// stood returns the fraction of a time for which the harness's machine stood still.
func (o *oracle) stood(from, to time.Duration) float64 {
	return float64(o.stoodFor(from, to)) / float64(max(to-from, o.tick))
}

// stoodFor returns how long the harness's machine stood still between two times.
func (o *oracle) stoodFor(from, to time.Duration) (total time.Duration) {
	for t := from; t < to; t += o.tick {
		for _, s := range o.stalls {
			if s[0] <= t && t < s[1] {
				total += o.tick
				break
			}
		}
	}
	return total
}

// excusedLate says whether an action under a lease may seem late only because the machine stood still
// after the lease was over, and returns when the lease was over.
func (o *oracle) excusedLate(a *acquisition, at time.Duration) (over time.Duration, late bool) {
	over = a.grant
	for t := a.grant; t < at; t += o.tick {
		if a.held(t) {
			over = t + o.tick
		}
	}
	still := o.stoodFor(over, at)
	return over, over < at && still > 0 && at-over <= still+o.slack
}

// tookEffect says whether a fault is known to have had an effect. If a client recorded that it
// was stopped within a client-pause, that proves the effect as bit does.
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

// inFaultyPeriod says whether an instant lies in the time of an effective fault or within a TTL
// after it.
func (o *oracle) inFaultyPeriod(t time.Duration) bool {
	for _, f := range o.faults {
		if o.tookEffect(f) && f.from <= t && t <= f.to+o.ttl {
			return true
		}
	}
	return false
}

// requested returns the kinds of faults that the header names.
func (o *oracle) requested() (names []string) {
	for _, name := range o.h.Faults {
		if name != "" && name != "none" {
			names = append(names, name)
		}
	}
	return names
}

// asking is an acquire from its call to its return. If it never returned, it lasts to the crash
// or the next acquire of its client, or to the end of the history.
type asking struct {
	client, key string
	line, back  int // lines of the call and of the return; back is -1 if there is none
	from, to    time.Duration
	ok, open    bool
	dropped     bool // its client crashed or called acquire again before it returned
	asks        holder
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
		a := asking{asks: asksFor(op.Process, op.Value), client: op.Process, key: op.Key, line: i, back: -1, from: op.Time, to: o.end, open: true}
		for j := i + 1; j < len(o.ops); j++ {
			x := o.ops[j]
			if x.Process == op.Process && x.F == history.FAcquire && x.Type != history.Invoke && o.invocation(j) == i {
				a.to, a.open, a.ok, a.back = x.Time, false, x.Type == history.OK, j
				break
			}
		}
		for j := i + 1; j < len(o.ops) && a.open; j++ {
			if x := o.ops[j]; x.Process == op.Process && (x.F == history.FCrash || x.F == history.FAcquire && x.Type == history.Invoke && (o.h.Kind != "multi" || x.Key == op.Key)) {
				a.to, a.dropped = x.Time, true
				break
			}
		}
		all = append(all, a)
	}
	return all
}

// contended says whether another client's acquire of the key was pending at some time from
// the grant to a TTL after it, and could not have been granted beside those who held the key at the grant.
func (o *oracle) contended(a *acquisition) bool {
	if a.dead() {
		return false
	}
	for _, x := range o.askings() {
		if x.client == a.client || x.key != a.key || o.mayShare(append(o.holdersAt(a.key, a.grant, a), a.asksAt(a.grant), x.asks)) {
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
