package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockpick/history"
	"lockpick/history/fault"
)

// Patience returns how long it may take until some client is granted a free lock: the rest of an
// earlier lease, lost releases, and every client's turn with some retries.
func Patience(clients, keys int, ttl time.Duration) time.Duration {
	return 2*ttl + 5*time.Second + time.Duration(clients*(10+keys))*20*time.Millisecond
}

// progressPatience returns how long it may take without any fault if nobody holds the lock: the
// only delay is a split vote, which a random backoff soon ends.
func progressPatience(clients int) time.Duration {
	return 2*time.Second + time.Duration(clients)*200*time.Millisecond
}

// askingGap is the longest pause between two acquires of a client that counts as waiting throughout.
const askingGap = 250 * time.Millisecond

// starvation is a time in which some client that could reach a quorum of masters tried to acquire
// a key all the time, no live client held it, and no client was granted it.
type starvation struct {
	key      string
	from, to time.Duration
	granted  *history.Lease // the lease that ended it; nil if it ended otherwise
}

// disrupts reports whether a fault may keep masters from answering a client.
func disrupts(f *history.Fault) bool {
	return f.Installed && fault.Of(f.Name).Disrupts()
}

// trouble returns the times in which a master, or a client's link to it, was known to be impaired:
// by a fault, or by the master's recorded state.
func (r *run) trouble(client, master string) []history.Span {
	var spans []history.Span
	for _, f := range r.faults {
		if disrupts(f) && slices.Contains(f.Masters, master) && (len(f.Clients) == 0 || slices.Contains(f.Clients, client)) {
			spans = append(spans, history.Span{From: f.Began, To: f.To})
		}
	}
	var since time.Duration
	broken := false
	for _, s := range r.lookup().states[master] {
		switch {
		case s.is != "up" && !broken:
			broken, since = true, s.at
		case s.is == "up" && broken:
			broken = false
			spans = append(spans, history.Span{From: since, To: s.at})
		}
	}
	if broken {
		spans = append(spans, history.Span{From: since, To: r.end + 1})
	}
	return union(spans, 0)
}

// link is a client's link to a master.
type link struct{ client, master string }

// reachable reports whether a master and a client's link to it were not known to be impaired
// between two times.
func (r *run) reachable(client, master string, from, to time.Duration) bool {
	way := link{client, master}
	x, known := r.troubles[way]
	if !known {
		x = intervalsOf(r.trouble(client, master))
		if r.troubles == nil {
			r.troubles = map[link]intervals{}
		}
		r.troubles[way] = x
	}
	return !x.touch(from, to)
}

// reach holds the times in which a client could not reach all masters.
type reach struct {
	weak  []history.Span // it could reach no quorum of masters
	minor []history.Span // it could reach a quorum, but not all masters
}

// mastersUsed returns the masters that the lock uses: all of them, or, for a lock with a quorum of
// one, the masters that it sent commands to.
func (r *run) mastersUsed() []string {
	if r.used == nil {
		seen := map[string]bool{}
		for i := range r.h.Len() {
			seen[r.h.Kind(int32(i)).Master] = true
		}
		for _, m := range r.masterNames() {
			if len(seen) == 0 || seen[m] || r.quorum() > 1 {
				r.used = append(r.used, m)
			}
		}
	}
	return r.used
}

// uses reports whether the lock uses a master.
func (r *run) uses(master string) bool { return slices.Contains(r.mastersUsed(), master) }

func (r *run) reaches(client string) reach {
	x, known := r.reached[client]
	if !known {
		x = r.findReach(client)
		if r.reached == nil {
			r.reached = map[string]reach{}
		}
		r.reached[client] = x
	}
	return x
}

func (r *run) findReach(client string) reach {
	used := r.mastersUsed()
	spare := len(used) - r.quorum() // how many masters may fail without preventing a quorum
	var all [][]history.Span
	for _, m := range used {
		all = append(all, r.trouble(client, m))
	}
	weak := r.unsettled(times(all, spare+1), all)
	return reach{weak: weak, minor: without(times(all, 1), weak)}
}

// unsettled returns the times in which a service may not serve a client: those in which no majority is connected, and
// those after a fault of a server began or ended, in which the servers elect a leader. all are the faults, by server.
// Masters that do not know each other have nothing to settle.
func (r *run) unsettled(weak []history.Span, all [][]history.Span) []history.Span {
	settle := r.h.Header.Settle
	if settle == 0 {
		return weak
	}
	out := slices.Clone(weak)
	for _, s := range slices.Concat(append(slices.Clone(all), weak)...) {
		out = append(out, history.Span{From: s.From, To: s.From + settle}, history.Span{From: s.To, To: s.To + settle})
	}
	return union(out, 0)
}

// stops returns when a client stood still.
func (r *run) stops(client string) []history.Span {
	var spans []history.Span
	for _, p := range r.pauses[client] {
		spans = append(spans, history.Span{From: p.from, To: p.to})
	}
	return spans
}

// starvations returns all waits.
func (r *run) starvations() []starvation {
	if !r.waitsKnown {
		r.allWaits, r.waitsKnown = r.waits(nil), true
	}
	return r.allWaits
}

// waits finds, for each key, the times in which clients tried to acquire it and none was granted it
// although one could have been. It leaves out the spans in but.
func (r *run) waits(but []history.Span) []starvation {
	type asker struct{ key, client string }
	if r.quorum() == 0 {
		return nil // without a quorum, it is unknown which clients could reach enough masters
	}
	asking := map[asker][]history.Span{}
	var askers []asker
	for _, a := range r.attempts() {
		id := asker{a.key, a.client}
		if asking[id] == nil {
			askers = append(askers, id)
		}
		asking[id] = append(asking[id], history.Span{From: a.invoked, To: min(a.ended, r.interrupted.at)})
	}
	waiting := map[string][]history.Span{}
	var keys []string
	for _, id := range askers {
		if !slices.Contains(keys, id.key) {
			keys = append(keys, id.key)
		}
		can := without(union(asking[id], askingGap), append(slices.Clone(r.reaches(id.client).weak), r.stops(id.client)...))
		waiting[id.key] = append(waiting[id.key], can...)
	}
	slices.Sort(keys)
	byKey := map[string][]*history.Lease{}
	for _, l := range r.leases {
		if !deadOnArrival(l) {
			byKey[l.Key] = append(byKey[l.Key], l)
		}
	}
	stopped := map[string][]history.Span{}
	stops := func(client string) []history.Span {
		all, known := stopped[client]
		if !known {
			all = union(r.stops(client), 0)
			stopped[client] = all
		}
		return all
	}
	var all []starvation
	for _, key := range keys {
		taken := slices.Clone(but)
		for _, l := range byKey[key] {
			taken = append(taken, cut(l.Holds(), stops(l.Process))...)
		}
		mine := byKey[key]
		for _, s := range without(union(waiting[key], 0), taken) {
			next, _ := slices.BinarySearchFunc(mine, s.From+1, acquiredBefore)
			for ; next < len(mine) && mine[next].Acquired() < s.To; next++ { // a grant ends the wait, even if its lease was short or its client stood still
				if at := mine[next].Acquired(); at > s.From {
					all = append(all, starvation{key: key, from: s.From, to: at, granted: mine[next]})
					s.From = at
				}
			}
			d := starvation{key: key, from: s.From, to: s.To}
			if i, ended := slices.BinarySearchFunc(mine, s.To, acquiredBefore); ended {
				d.granted = mine[i]
			}
			all = append(all, d)
		}
	}
	return all
}

func acquiredBefore(l *history.Lease, at time.Duration) int { return cmp.Compare(l.Acquired(), at) }

// nothing returns the extra time that most locks get beyond a bound: none.
func nothing(starvation) time.Duration { return 0 }

// renewing returns the extra time for a lock that renews the leases of a hung holder. A lease without an
// end that its holder's process goes on to extend is not over while that process lives.
func (r *run) renewing(d starvation) time.Duration {
	if how, _ := r.lostHolder(d); how != stoodStill {
		return 0
	}
	if l := r.last(d.key, d.from); l.Grants[len(l.Grants)-1].Endless() && r.extendsItself(l) {
		return history.Endless
	}
	return r.h.Header.HungHolder
}

// leftKeys returns the extra time for keys that unfinished attempts left behind: a TTL for each
// acquire whose client stood still or crashed during the wait, unless the masters refused all its
// recorded SETs.
func (r *run) leftKeys(d starvation) time.Duration {
	n := 0
	for _, a := range r.attemptsWithin(d.key, d.from, d.to) {
		from, to := max(a.invoked, d.from), min(a.ended, d.to)
		stood := slices.ContainsFunc(r.stops(a.client), func(s history.Span) bool { return max(s.From, from) < min(s.To, to) })
		if (stood || a.dropped) && !r.refused(a) {
			n++
		}
	}
	return time.Duration(n) * r.h.Header.TTL
}

// refused reports whether masters said no to all recorded SETs of an acquire, and there were some.
func (r *run) refused(a attempt) bool {
	voted := false
	for v := range r.lookup().between(a.invoked, a.ended+r.slack+r.h.LongestTook()) {
		if v.Client != a.client || v.Key != a.key || v.Command != history.CommandSet || sent(v) < a.invoked || sent(v) > a.ended+r.slack {
			continue
		}
		if !v.Refused() {
			return false
		}
		voted = true
	}
	return voted && !a.dropped
}

// judgeWaits judges a property about waits: a wait that is longer than the bound plus the lock's
// extra time violates it, unless the harness's machine stood still.
func (r *run) judgeWaits(waits []starvation, bound time.Duration, more func(starvation) time.Duration, judged int, during string, tell func(*narrative, starvation)) *judgement {
	if judged == 0 && !slices.ContainsFunc(waits, func(d starvation) bool { return d.to-d.from > bound }) {
		return nil
	}
	longest := time.Duration(0)
	type proof struct {
		key string
		at  time.Duration
	}
	byProof := map[proof]starvation{}
	var found []Violation
	for _, d := range waits {
		d.to = min(d.to, r.window.To-1) // the wait may go on beyond the judged window
		if d.to <= d.from || !r.counts(d.to) || r.stalledFor(d.from, d.to) > MaxStall {
			continue
		}
		longest = max(longest, d.to-d.from)
		if took := d.to - d.from; took <= bound || took <= bound+more(d)+r.leftKeys(d)+r.queueing(d.key, d.from, d.to) {
			continue
		}
		v := Violation{Key: d.key, At: d.from, Until: d.to}
		for _, a := range r.attemptsWithin(d.key, d.from, d.to) {
			v.Ops = append(v.Ops, a.ops...)
			v.Clients = append(v.Clients, a.client)
		}
		slices.Sort(v.Ops)
		v.Clients = set(v.Clients)
		byProof[proof{d.key, d.from}] = d
		found = append(found, v)
	}
	judged = max(judged, len(found))
	if judged == 0 {
		return nil
	}
	return &judgement{
		tally: tally{checked: judged, longest: longest}, violations: found, late: true,
		evidence: countEvidence("leases granted "+during, judged, minWaits, moreWork),
		explain:  func(v *Violation) { r.explainWait(v, byProof[proof{v.Key, v.At}], during, tell) },
		violated: func(t tally, first *Violation) string {
			return fmt.Sprintf("someone asked for a key and could reach a quorum, and no one was granted it for longer than the %s allowed %s, %s: the first for %s, from %s on %s",
				at(bound), during, count(t.found, "time", "times"), at(first.Until-first.At), at(first.At), first.Key)
		},
		holds: func(t tally) string {
			return fmt.Sprintf("%s granted %s, after a wait of at most %s of the %s allowed", count(t.checked, "lease was", "leases were"), during, at(t.longest), at(bound))
		},
	}
}

// minWaits is the number of waits ended by a grant that the verdict Holds needs.
const minWaits = 3

// stalledFor returns the fraction of a time for which the harness's machine stood still.
func (r *run) stalledFor(from, to time.Duration) float64 {
	return float64(r.stalledTime(from, to)) / float64(max(to-from, 1))
}

// stalledTime returns how long the harness's machine stood still between two times.
func (r *run) stalledTime(from, to time.Duration) (total time.Duration) {
	for _, s := range r.stalls().spans {
		total += max(0, min(s.To, to)-max(s.From, from))
	}
	return total
}

// last returns the last lease granted on a key by a time, or nil.
func (r *run) last(key string, before time.Duration) *history.Lease {
	if r.byKey == nil {
		r.byKey = map[string][]*history.Lease{}
		for _, l := range r.leases {
			r.byKey[l.Key] = append(r.byKey[l.Key], l)
		}
	}
	all := r.byKey[key]
	i, _ := slices.BinarySearchFunc(all, before+1, acquiredBefore)
	if i == 0 {
		return nil
	}
	return all[i-1]
}

// stoodStill is lostHolder's answer for a holder that may continue later.
const stoodStill = "was stopped"

// lostHolder returns how and when the last holder of a key before a wait was lost; how is "" if it
// was not.
func (r *run) lostHolder(d starvation) (how string, when time.Duration) {
	l := r.last(d.key, d.from)
	if l == nil {
		return "", 0
	}
	if l.ReleaseIndex >= 0 && r.h.Op(l.ReleaseIndex).F == history.FCrash {
		return "ended", l.Released
	}
	for _, p := range r.pauses[l.Process] {
		if p.from >= l.Acquired() && p.from <= d.from && p.to > d.from && (l.ReleaseIndex < 0 || l.Released >= p.from) {
			return stoodStill, p.from
		}
	}
	return "", 0
}

// holderLoss judges one part of DF: a key whose holder has crashed or stands still is
// granted to another client within a bound.
func (r *run) holderLoss() *judgement {
	var mine []starvation
	judged := 0
	for _, d := range r.starvations() {
		if how, _ := r.lostHolder(d); how == "" {
			continue
		}
		mine = append(mine, d)
		if d.granted != nil && r.counts(d.to) {
			judged++
		}
	}
	h := &r.h.Header
	return r.judgeWaits(mine, Patience(h.Clients, h.Keys, h.TTL)+h.Settle, r.renewing, judged, "once its holder was gone", (*narrative).holderGone)
}

// minorityFailure judges one part of AV: while so few masters are down, hung or cut off that
// the others are a quorum, the lock is granted to some waiting client within a bound.
func (r *run) minorityFailure() *judgement {
	of := r.reaches
	judged := 0
	for _, l := range r.leases {
		if !deadOnArrival(l) && r.counts(l.Acquired()) && touches(of(l.Process).minor, l.Acquired(), l.Acquired()) {
			judged++
		}
	}
	asked := map[string][]history.Span{} // by key: when a client tried that could reach a quorum but not all masters
	for _, a := range r.attempts() {
		mine := []history.Span{{From: a.invoked, To: a.ended}}
		if minor := of(a.client).minor; touches(minor, a.invoked, a.ended) {
			asked[a.key] = append(asked[a.key], without(mine, cut(mine, minor))...)
		}
	}
	for key, spans := range asked {
		asked[key] = union(spans, 0)
	}
	var mine []starvation
	for _, d := range r.starvations() {
		// A failure that ended when the wait began did not delay the client.
		if how, _ := r.lostHolder(d); how == "" && touches(asked[d.key], d.from+1, d.to-1) {
			mine = append(mine, d)
		}
	}
	h := &r.h.Header
	return r.judgeWaits(mine, Patience(h.Clients, h.Keys, h.TTL)+h.Settle, nothing, judged, "while only a minority of masters failed", (*narrative).failing)
}

// progress judges one part of AV: while there is no fault and nobody holds the lock, some waiting
// client is soon granted it. Clients that split the votes again and again violate it. The time
// shortly after a fault, a pause, a crash or a missing answer does not count: earlier keys may
// still be stored for a TTL.
func (r *run) progress() *judgement {
	ttl := r.h.Header.TTL
	after := ttl + ttl/10 + time.Second
	if settle := r.h.Header.Settle; settle > 0 {
		after += ttl + settle // a new leader lets all leases begin anew
	}
	var but []history.Span
	for _, f := range r.faults {
		if f.Installed {
			to := f.To + after
			if fault.Of(f.Name).Clock == fault.MasterClock {
				to = r.end + 1 // the changed expiries of the keys last
			}
			but = append(but, history.Span{From: f.Began, To: to})
		}
	}
	for _, s := range r.stalls().spans {
		but = append(but, history.Span{From: s.From, To: s.To + after})
	}
	for _, all := range r.pauses {
		for _, p := range all {
			but = append(but, history.Span{From: p.from, To: p.to + after})
		}
	}
	for _, l := range r.leases { // its keys are released late or expire
		if l.ReleaseIndex < 0 || l.Released >= l.Until() || r.h.Op(l.ReleaseIndex).F == history.FCrash {
			but = append(but, history.Span{From: l.Until(), To: l.Until() + after})
		}
	}
	for i := range r.h.Ops {
		op := &r.h.Ops[i]
		if op.F == history.FCrash || op.F == history.FRelease && (op.Type == history.Info || op.Type == history.Fail) || op.F == history.FVote && op.Type == history.Info {
			but = append(but, history.Span{From: op.Time, To: op.Time + after})
		}
	}
	var silent []history.Span
	for i := range r.h.Len() {
		if id := int32(i); r.h.Kind(id).Unknown || r.h.Kind(id).Error != "" {
			t := r.h.Recorded(id)
			if n := len(silent); n > 0 && t <= silent[n-1].To {
				silent[n-1].To = t + after
				continue
			}
			silent = append(silent, history.Span{From: t, To: t + after})
		}
	}
	but = append(but, silent...)
	waits := r.waits(union(but, 0))
	judged := 0
	for _, d := range waits {
		if d.granted != nil && r.counts(d.to) {
			judged++
		}
	}
	return r.judgeWaits(waits, progressPatience(r.h.Header.Clients)+r.h.Header.Settle, nothing, judged, "while nothing was wrong and nobody held it", (*narrative).divided)
}

// splits counts the attempts within a wait, and the attempts that got both yes and no votes.
func (r *run) splits(d starvation) (tried, split int) {
	type votes struct{ yes, no bool }
	byParty := map[party]votes{}
	for v := range r.lookup().between(d.from, d.to) {
		if v.Key != d.key || v.Command != history.CommandSet || v.Unknown || v.Error != "" {
			continue
		}
		x := byParty[party{v.Client, v.Token}]
		x.yes, x.no = x.yes || v.Yes, x.no || !v.Yes
		byParty[party{v.Client, v.Token}] = x
	}
	for _, x := range byParty {
		tried++
		if x.yes && x.no {
			split++
		}
	}
	return tried, split
}
