package checker

import (
	"fmt"
	"slices"
	"time"

	"lockpick/history"
)

// Patience returns how long it may take until some client is granted a free lock: the rest of an
// earlier lease, lost releases, and every client's turn with some retries.
func Patience(clients, keys int, ttl time.Duration) time.Duration {
	return 2*ttl + 5*time.Second + time.Duration(clients*(10+keys))*20*time.Millisecond
}

// nothing returns the extra time that most locks get beyond a bound: none.
func nothing(starvation) time.Duration { return 0 }

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
		explain:  func(n *narrative) { r.explainWait(n, byProof[proof{n.v.Key, n.v.At}], during, tell) },
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

// explainWait explains that nobody was granted a key although a waiting client could have been;
// more adds the events that the property needs.
func (r *run) explainWait(n *narrative, d starvation, during string, more func(*narrative, starvation)) {
	v := n.v
	v.Summary = fmt.Sprintf("no one was granted %s for %s, from %s to %s, %s, though %s asked for it", v.Key, at(d.to-d.from), at(d.from), at(d.to), during, Enumerate(v.Clients))
	waiting := r.attemptsWithin(d.key, d.from, d.to)
	n.stuck(v.Clients, d.from, d.to, waiting)
	more(n, d)
	n.violated(v.Summary)
}
