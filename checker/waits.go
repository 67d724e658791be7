package checker

import (
	"fmt"
	"slices"
	"time"

	"lockpick/checker/facts"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/history/fault"
	"lockpick/internal/plural"
)

// Patience returns how long it may take until some client is granted a free lock: the rest of an
// earlier lease, lost releases, and every client's turn with some retries.
func Patience(clients, keys int, ttl time.Duration) time.Duration {
	return 2*ttl + 5*time.Second + time.Duration(clients*(10+keys))*20*time.Millisecond
}

// nothing returns the extra time that most locks get beyond a bound: none.
func nothing(facts.Wait) time.Duration { return 0 }

// leftKeys returns the extra time for keys that unfinished attempts left behind: a TTL for each
// acquire whose client stood still or crashed during the wait, unless the masters refused all its
// recorded SETs.
func (r *run) leftKeys(d facts.Wait) time.Duration {
	n := 0
	for _, a := range r.AcquiresWithin(d.Key, d.From, d.To) {
		from, to := max(a.Invoked, d.From), min(a.Ended, d.To)
		stood := slices.ContainsFunc(r.PausesOf(a.Client), func(s history.Span) bool { return max(s.From, from) < min(s.To, to) })
		if (stood || a.Dropped) && !r.RefusedByAll(a) {
			n++
		}
	}
	return time.Duration(n) * r.History.Header.TTL
}

// judgeWaits judges a property about waits: a wait that is longer than the bound plus the lock's
// extra time violates it, unless the harness's machine stood still.
func (r *run) judgeWaits(waits []facts.Wait, bound time.Duration, more func(facts.Wait) time.Duration, judged int, during string, tell func(*narrative.Narrative, facts.Wait)) *judgement {
	if judged == 0 && !slices.ContainsFunc(waits, func(d facts.Wait) bool { return d.To-d.From > bound }) {
		return nil
	}
	longest := time.Duration(0)
	var found []proven
	for _, d := range waits {
		d.To = min(d.To, r.Window.To-1) // the wait may go on beyond the judged window
		if d.To <= d.From || !r.InWindow(d.To) || r.StalledShare(d.From, d.To) > MaxStall {
			continue
		}
		longest = max(longest, d.To-d.From)
		if took := d.To - d.From; took <= bound || took <= bound+more(d)+r.leftKeys(d)+r.QueueDelay(d.Key, d.From, d.To) {
			continue
		}
		v := narrative.Violation{Key: d.Key, At: d.From, Until: d.To}
		for _, a := range r.AcquiresWithin(d.Key, d.From, d.To) {
			v.Ops = append(v.Ops, a.Ops...)
			v.Clients = append(v.Clients, a.Client)
		}
		slices.Sort(v.Ops)
		v.Clients = facts.Distinct(v.Clients)
		found = append(found, proven{v, func(n *narrative.Narrative) { r.explainWait(n, d, during, tell) }})
	}
	judged = max(judged, len(found))
	if judged == 0 {
		return nil
	}
	return &judgement{
		tally: tally{checked: judged}, violations: found, late: true,
		evidence: r.count("leases granted "+during, judged, minWaits, MoreWork),
		violated: func(t tally, first *narrative.Violation) string {
			return fmt.Sprintf("someone asked for a key and could reach a quorum, and no one was granted it for longer than the %s allowed %s, %s: the first for %s, from %s on %s",
				narrative.At(bound), during, plural.Count(t.found, "time", "times"), narrative.At(first.Until-first.At), narrative.At(first.At), first.Key)
		},
		holds: func(t tally) string {
			return fmt.Sprintf("%s granted %s, after a wait of at most %s of the %s allowed", plural.Count(t.checked, "lease was", "leases were"), during, narrative.At(longest), narrative.At(bound))
		},
	}
}

// minWaits is the number of waits ended by a grant that the verdict Holds needs.
const minWaits = 3

// explainWait explains that nobody was granted a key although a waiting client could have been;
// more adds the events that the property needs.
func (r *run) explainWait(n *narrative.Narrative, d facts.Wait, during string, more func(*narrative.Narrative, facts.Wait)) {
	v := n.Violation
	v.Summary = fmt.Sprintf("no one was granted %s for %s, from %s to %s, %s, though %s asked for it", v.Key, narrative.At(d.To-d.From), narrative.At(d.From), narrative.At(d.To), during, fault.Enumerate(v.Clients))
	waiting := r.AcquiresWithin(d.Key, d.From, d.To)
	n.Stuck(v.Clients, d.From, d.To, waiting)
	more(n, d)
	n.Violated(v.Summary)
}
