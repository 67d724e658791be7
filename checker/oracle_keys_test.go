package checker_test

import (
	"fmt"
	"slices"
	"time"

	"lockpick/history"
)

func (o *oracle) masters() (names []string) {
	for i := range o.n {
		names = append(names, fmt.Sprintf("m%d", i+1))
	}
	return names
}

// observed says whether any vote on an acquisition was recorded.
func (o *oracle) observed(a *acquisition) bool {
	return slices.ContainsFunc(o.votes, func(v *vote) bool { return o.of(v, a) })
}

// minValidity finds the grants whose token fewer than a quorum of masters can have stored until
// the end of the promised validity.
func (o *oracle) minValidity() (f finding) {
	if o.h.Until == history.UntilReleased {
		return f
	}
	var at []time.Duration
	for _, a := range o.acqs {
		violated := false
		for i, g := range a.grants {
			if g.skewed || !o.observed(a) {
				continue
			}
			relied := min(g.until, a.relied())
			if i+1 < len(a.grants) {
				relied = min(relied, max(a.grants[i+1].at, g.at))
			}
			if relied <= g.at {
				continue
			}
			at = append(at, g.at)
			if violated {
				continue
			}
			ends := []time.Duration{g.at}
			for _, m := range o.masters() {
				ends = append(ends, o.stores(a, g, m, relied))
			}
			for _, t := range slices.Sorted(slices.Values(ends)) { // find the first time at which fewer than a quorum store the token
				stored := 0
				for _, end := range ends[1:] {
					if end > t {
						stored++
					}
				}
				if t >= g.at && t < never && stored < o.q {
					f.add(a.key, t)
					violated = true
					break
				}
			}
		}
	}
	f.untested, f.slack = len(at) == 0, true
	f.rows = o.need(at)
	return f
}

// stores returns until when a master can have stored a lease's token, or never if it can have
// stored it to the end of the grant. That is a TTL after its last yes, unless a snapshot or a
// refusal shows that it stored the token no longer.
func (o *oracle) stores(a *acquisition, g grant, master string, relied time.Duration) time.Duration {
	last, end := time.Duration(-1), time.Duration(0)
	for _, v := range o.votes {
		if !o.of(v, a) || v.master != master || v.command != history.CommandSet && v.command != history.CommandExtend ||
			v.at < a.called-o.slack || v.sent > g.at+o.slack {
			continue
		}
		if v.unknown {
			return never
		}
		if v.yes {
			last, end = max(last, v.at), max(end, v.at+v.ttl)
		}
	}
	if last < 0 {
		return 0
	}
	gone, before := never, min(end, relied)
	for _, s := range o.snapshots() {
		if s.master == master && s.from > last && s.to < before && s.keys[o.redis(a)] != a.token {
			gone = min(gone, s.to)
		}
	}
	for _, v := range o.votes {
		if o.of(v, a) && v.master == master && v.command == history.CommandExtend && !v.yes && !v.unknown && v.sent > last && v.at < before {
			gone = min(gone, v.at)
		}
	}
	if gone == never && end+time.Millisecond < g.until {
		return end
	}
	return gone
}

// snapshot lists the keys that a master stored at some time between from and to.
type snapshot struct {
	master   string
	from, to time.Duration
	keys     map[string]string
}

// snapshots returns the recorded snapshots, and the keys that masters stored when they were up
// again: those were read at some time since the master went down.
func (o *oracle) snapshots() (all []snapshot) {
	if o.shown != nil {
		return o.shown
	}
	defer func() { o.shown = all }()
	for i, op := range o.ops {
		switch {
		case op.Value.Keys == nil:
		case op.F == history.FSnapshot:
			all = append(all, snapshot{op.Process, op.Time - op.Value.Delay - op.Value.Took, op.Time - op.Value.Delay, op.Value.Keys})
		case op.F == history.FState && op.Value.State != "down":
			for _, x := range slices.Backward(o.ops[:i]) {
				if x.F == history.FState && x.Process == op.Process {
					if x.Value.State == "down" {
						all = append(all, snapshot{op.Process, x.Time, op.Time, op.Value.Keys})
					}
					break
				}
			}
		}
	}
	return all
}

// redis returns the Redis key that an acquisition's commands were about.
func (o *oracle) redis(a *acquisition) string {
	for _, v := range o.votes {
		if o.of(v, a) {
			return v.redis
		}
	}
	return a.key
}

// keyLifetime finds the tokens that a master listed for too long with the same expiry.
func (o *oracle) keyLifetime() (f finding) {
	f.late, f.slack = true, true
	slack := min(150*time.Millisecond, max(5*time.Millisecond, 2*o.slack))
	allowed := o.ttl + o.ttl/50 + slack
	var looks []history.Op
	for _, op := range o.ops {
		if op.F == history.FSnapshot && op.Value.Keys != nil && op.Value.Expires != nil {
			looks = append(looks, op)
		}
	}
	var at []time.Duration
	type id struct{ master, key, token string }
	violated := map[id]bool{}
	runs := map[id]*history.Op{} // by token: the first snapshot that listed it with its present expiry
	for i, x := range looks {
		for key, token := range x.Value.Keys {
			who := id{x.Process, key, token}
			same := func(y history.Op) bool {
				end, mortal := x.Value.Expires[key]
				end2, mortal2 := y.Value.Expires[key]
				return mortal == mortal2 && (end-end2).Abs() <= slack/3
			}
			if before := runs[who]; before != nil && same(*before) { // an earlier snapshot listed it with this expiry
				continue
			}
			runs[who] = &looks[i]
			caught, stayed := false, true
			for _, y := range looks[i+1:] {
				if y.Process != x.Process {
					continue
				}
				from := y.Time - y.Value.Delay - y.Value.Took
				if from > x.Time+allowed && !caught {
					caught = true
					at = append(at, y.Time)
				}
				if y.Value.Keys[key] != token {
					continue
				}
				stayed = stayed && same(y)
				if stayed && from > x.Time+allowed && !violated[who] {
					violated[who] = true
					f.found = append(f.found, violation{key, x.Time + o.ttl, from})
				}
			}
		}
	}
	f.untested = len(looks) == 0
	f.rows = o.need(at)
	return f
}

// endings lists the faults that end a master's process.
var endings = []string{"kill", "shutdown", "powercut", "failover"}

// restarted says whether a master's process may have ended between two times.
func (o *oracle) restarted(master string, from, to time.Duration) bool {
	for _, f := range o.faults {
		if f.installed && slices.Contains(endings, f.name) && slices.Contains(f.masters, master) && f.began <= to && from <= f.to {
			return true
		}
	}
	for _, op := range o.ops {
		if op.F == history.FState && op.Process == master && op.Value.State == "down" && op.Time >= from && op.Time <= to {
			return true
		}
	}
	return false
}

// skewed says whether a fault changed a master's clock or memory between two times.
func (o *oracle) skewed(master string, from, to time.Duration) bool {
	for _, f := range o.faults {
		if f.installed && (f.name == "clock" || f.name == "memory") && slices.Contains(f.masters, master) && f.began <= to && from <= f.to {
			return true
		}
	}
	return false
}

// continuity finds the extensions of which fewer than a quorum of masters can have stored the token
// without a break since the grant before.
func (o *oracle) continuity() (f finding) {
	var at []time.Duration
	for _, a := range o.acqs {
		for i, g := range a.grants {
			if g.skewed || g.line == a.line || g.asked < 0 {
				continue
			}
			voted, whole := 0, 0
			for _, m := range o.masters() {
				extended, kept := o.unbroken(a, g, m)
				if extended {
					voted++
				}
				if kept {
					whole++
				}
			}
			if voted < o.q {
				continue
			}
			at = append(at, g.at)
			_ = i
			if whole < o.q {
				f.add(a.key, g.at)
			}
		}
	}
	f.untested, f.slack = len(at) == 0, true
	f.rows = o.needs(at, 5, 1)
	return f
}

// unbroken says whether a master may have extended a lease, and may have stored its token all the
// time since its previous yes.
func (o *oracle) unbroken(a *acquisition, g grant, master string) (extended, kept bool) {
	asked := o.ops[g.asked].Time
	var yes, earlier *vote
	for _, v := range o.votes {
		if !o.of(v, a) || v.master != master || v.command != history.CommandSet && v.command != history.CommandExtend {
			continue
		}
		now := v.command == history.CommandExtend && v.at >= asked && v.sent <= g.at+o.slack
		switch {
		case v.unknown && (now || v.at <= g.at):
			return true, true
		case now && v.yes && yes == nil:
			yes = v
		case v.yes && v.sent < asked && (earlier == nil || v.at > earlier.at):
			earlier = v
		}
	}
	if yes == nil {
		return false, false
	}
	if earlier == nil || o.stalled(earlier.at, yes.at) {
		return true, true
	}
	var other *vote
	for _, v := range o.votes { // find the last SET of another client
		if v.master == master && v.redis == yes.redis && v.command == history.CommandSet && v.yes && (v.client != a.client || v.token != a.token) &&
			v.at < yes.sent-o.slack {
			other = v
		}
	}
	if other != nil && other.sent > earlier.at && !o.mayHaveRestarted(master, other.sent-o.slack, yes.at) {
		return true, false
	}
	for _, s := range o.snapshots() { // find the first snapshot that does not list the token
		if s.master == master && s.from > earlier.at && s.to < yes.sent-o.slack && s.keys[o.redis(a)] != a.token {
			if !o.mayHaveRestarted(master, s.from, yes.at) {
				return true, false
			}
			break
		}
	}
	if o.restarted(master, earlier.sent, yes.at) { // a restart may restore a key that was gone before it
		return true, true
	}
	return true, yes.sent <= earlier.at+o.ttl+o.ttl/50+o.slack || o.skewed(master, earlier.sent, yes.at)
}

// ownKeys finds the yes of a master to a release or an extension of a client whose own key it
// certainly does not store, and its yes to a SET before the TTL of the last stored key is over.
func (o *oracle) ownKeys() (f finding) {
	var at []time.Duration
	var given []time.Duration
	victims := map[*vote]bool{}
	for _, v := range o.votes {
		if !v.yes || v.command != history.CommandRelease && v.command != history.CommandExtend {
			continue
		}
		at = append(at, v.at)
		if o.h.Duplicates {
			continue
		}
		if victim, hit := o.hitsAnother(v); hit {
			f.add(v.key, v.at)
			victims[victim] = true
		}
	}
	for _, b := range o.votes {
		if !b.yes || b.command != history.CommandSet {
			continue
		}
		var a *vote // the SET that the master said yes to before
		for _, x := range o.votes {
			if x != b && x.yes && x.command == history.CommandSet && x.master == b.master && x.redis == b.redis && (x.at < b.at || x.at == b.at && x.line < b.line) &&
				(a == nil || x.at > a.at || x.at == a.at && x.line > a.line) {
				a = x
			}
		}
		if a == nil {
			continue
		}
		given = append(given, b.at)
		if o.takenAway(a, b) && !victims[a] {
			f.add(b.key, b.at)
		}
	}
	if o.h.Duplicates {
		at = given
	}
	f.untested, f.slack = len(at) == 0 && len(f.found) == 0, true
	f.rows = o.need(at)
	return f
}

// hitsAnother says whether a yes to a release or an extension changed another client's key, and
// returns the SET of that key.
func (o *oracle) hitsAnother(v *vote) (victim *vote, hit bool) {
	var sets, extends []*vote
	for _, x := range o.votes {
		if x.master != v.master || x.redis != v.redis || x.command == history.CommandRelease {
			continue
		}
		own := x.client == v.client && x.token == v.token
		switch {
		case own && x.command == history.CommandSet:
			sets = append(sets, x)
		case own && x.command == history.CommandExtend:
			extends = append(extends, x)
		case !own && x.command == history.CommandSet && x.yes && x.at < v.sent-o.slack:
			victim = x
		}
	}
	if len(sets) == 0 || slices.ContainsFunc(sets, unanswered) {
		return nil, false
	}
	gone := time.Duration(0) // from then on the master certainly did not store the client's own key
	if slices.ContainsFunc(sets, func(x *vote) bool { return x.yes }) {
		if victim == nil || victim.sent <= last(sets) || o.mayHaveRestarted(v.master, victim.sent-o.slack, v.at) || o.stalled(victim.sent, v.at) {
			return nil, false
		}
		gone = victim.sent
	}
	if v.command == history.CommandExtend {
		return victim, victim != nil && o.stillThere(victim, v)
	}
	return victim, !slices.ContainsFunc(extends, func(x *vote) bool { return (x.unknown || x.yes && x.at >= gone) && x.sent <= v.at })
}

// stillThere says whether a master certainly still stored the key of a SET when it executed a later
// command: no other command and no fault can have removed the key, and its TTL was not over.
func (o *oracle) stillThere(set, v *vote) bool {
	from := set.sent - o.slack
	if v.at > from+o.ttl || v.sent <= set.at {
		return false
	}
	for _, x := range o.votes {
		own := x.client == set.client && x.token == set.token
		if x.master == set.master && x.redis == set.redis && x.command == history.CommandRelease && x != v && (own || x.yes || x.unknown) &&
			x.at >= from && x.sent <= v.at+o.slack {
			return false
		}
	}
	return !o.explained(set, from, v.at+o.slack) && !o.crashed(set.client, from, v.at+o.slack) && !o.restarted(set.master, from, v.at) && !o.skewed(set.master, from, v.at) && !o.stalled(from, v.at)
}

// explained says whether a call of release by the client of a SET, or a change that somebody else made, tells how its key may
// have gone.
func (o *oracle) explained(set *vote, from, to time.Duration) bool {
	return slices.ContainsFunc(o.ops, func(x history.Op) bool {
		if x.Key != set.key || x.Value == nil {
			return false
		}
		called := x.F == history.FRelease && x.Type == history.Invoke && x.Process == set.client && x.Value.Token == set.token
		if called && x.Time >= from && x.Time <= to {
			return true
		}
		at := x.Time - x.Value.Delay
		return x.F == history.FChange && x.Process == set.master && x.Value.Command != "created" && x.Value.Client != set.client && at >= from && at <= to
	})
}

// mayHaveRestarted says whether the process of a master that answered at from may have ended after
// that and by to. A fault does not count if it was already in force at from, or if the master was
// seen down between the fault's beginning and from.
func (o *oracle) mayHaveRestarted(master string, from, to time.Duration) bool {
	down := func(after, until time.Duration) bool {
		return slices.ContainsFunc(o.ops, func(x history.Op) bool {
			return x.F == history.FState && x.Process == master && x.Value.State == "down" && x.Time >= after && x.Time <= until
		})
	}
	for _, f := range o.faults {
		if f.installed && slices.Contains(endings, f.name) && slices.Contains(f.masters, master) && f.from > from && f.began <= to && !down(f.began, from) {
			return true
		}
	}
	return down(from+1, to)
}

// takenAway says whether a master said yes to SET b although it must still have stored the key of
// SET a.
func (o *oracle) takenAway(a, b *vote) bool {
	if a.client == b.client && a.token == b.token || b.sent <= a.at {
		return false
	}
	from := a.sent - o.slack
	if b.at >= from+o.ttl || o.end-time.Second < b.at {
		return false
	}
	for _, v := range o.votes {
		if v.master == a.master && v.redis == a.redis && v.client == a.client && v.token == a.token && v.command == history.CommandRelease && v.at >= from && v.sent <= b.at+o.slack {
			return false
		}
	}
	return !o.explained(a, from, b.at+o.slack) && !o.crashed(a.client, from, b.at+o.slack) && !o.restarted(a.master, from, b.at) && !o.skewed(a.master, from, b.at) && !o.stalled(from, b.at)
}
