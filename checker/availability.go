package checker

import (
	"fmt"
	"time"
)

var Availability = Property{
	Name: "availability", Level: "AV",
	Says:  "once faults have healed, every acquire succeeds within a bound",
	Leads: true,
	rules: &rules{
		judge: (*run).availability,
		gaps:  []gap{notHealed},
	},
}

// availability judges AV: each acquire that was called after the faults had
// healed was granted within the bound. These acquires wait for the lock, so an
// acquire that fails, is late or never returns is a violation.
func (r *run) availability() *judgement {
	if !r.final() {
		return nil
	}
	h := r.healed()
	if h.problem != "" {
		return &judgement{invalid: h.problem}
	}
	var found []Violation
	byCall := map[int]attempt{}
	clients := map[string]bool{}
	judged, cut := 0, 0
	var slowest time.Duration
	for _, a := range r.attempts() {
		if a.ops[0] < h.index {
			continue
		}
		took := a.ended - a.invoked
		switch {
		case a.ok && took <= h.bound:
			judged++
			clients[a.client] = true
			slowest = max(slowest, took)
			continue
		case a.open && took <= h.bound, r.cancelled(a), r.h.Header.DeadWaiter > 0 && took >= h.bound && took <= h.bound+r.queueing(a.key, a.invoked, a.ended):
			cut++ // the history ends before the bound
			continue
		}
		judged++
		clients[a.client] = true
		byCall[a.ops[0]] = a
		found = append(found, Violation{Key: a.key, At: a.invoked, Until: a.ended, Ops: a.ops, Clients: []string{a.client}})
	}
	j := &judgement{
		tally: tally{checked: judged, longest: slowest}, violations: found, late: true,
		evidence: countEvidence("clients that acquired after all faults had ended", len(clients), max(1, r.h.Header.Clients), moreWork),
		explain:  func(n *narrative) { r.explainRefused(n, byCall[n.v.Ops[0]]) },
		violated: func(t tally, first *Violation) string {
			return fmt.Sprintf("%s were not granted within %s after all faults had ended at %s: the first was called at %s on %s and lasted %s",
				share(t.found, t.checked, "acquires"), at(h.bound), at(h.at), at(first.At), first.Key, at(first.Until-first.At))
		},
		holds: func(t tally) string {
			return fmt.Sprintf("%s granted after all faults had ended at %s, the slowest in %s of the %s allowed",
				count(t.checked, "acquire was", "acquires were"), at(h.at), at(t.longest), at(h.bound))
		},
	}
	switch {
	case len(found) > 0 && r.stalled(h.at) > MaxStall:
		r.blameMachine(j, h.at)
	case judged == 0 && cut > 0:
		j.invalid = fmt.Sprintf("the history ends before the %s after all faults had ended had to be granted", count(cut, "acquire", "acquires"))
	case judged == 0:
		j.invalid = fmt.Sprintf("no acquire followed the end of all faults at %s", at(h.at))
	}
	return j
}

// explainRefused explains that an acquire was not granted in time after the faults had healed.
func (r *run) explainRefused(n *narrative, a attempt) {
	v := n.v
	took := at(a.ended - a.invoked)
	switch {
	case a.ok:
		v.Summary = fmt.Sprintf("%s asked for %s at %s and was granted it only after %s", a.client, a.key, at(a.invoked), took)
	case a.open:
		v.Summary = fmt.Sprintf("%s asked for %s at %s and had no answer for %s, until the history ends", a.client, a.key, at(a.invoked), took)
	default:
		v.Summary = fmt.Sprintf("%s asked for %s at %s and was refused after %s", a.client, a.key, at(a.invoked), took)
		if a.err != "" {
			v.Summary += ": " + a.err
		}
	}
	n.stuck([]string{a.client}, a.invoked, a.ended, []attempt{a})
	h := r.healed()
	n.allHealed(h)
	n.violated(fmt.Sprintf("%s, where %s is allowed", v.Summary, at(h.bound)))
}

// MaxStall is the fraction of the time after the healing for which the harness's machine
// may have stood still. If it stood still for longer, the machine may be why acquires failed.
const MaxStall = 0.05

// blameMachine withdraws the violations because the machine stalled too much, so that commands may
// have timed out because no process ran in time.
func (r *run) blameMachine(j *judgement, from time.Duration) {
	j.violations = nil
	j.invalid = fmt.Sprintf("the harness's machine stood still for %.0f %% of the time after all faults had ended at %s: too busy to tell", 100*r.stalled(from), at(from))
}
