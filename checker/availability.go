package checker

import (
	"fmt"
	"time"

	"lockpick/checker/facts"
	"lockpick/checker/narrative"
	"lockpick/internal/plural"
)

var Availability = Property{
	Name: "availability", Level: "AV", Says: "once faults have healed, every acquire succeeds within a bound", Leads: true,
	rules: &rules{judge: afterHealing((*run).availability), gaps: []gap{notHealed}},
}

// availability judges AV: each acquire that was called after the faults had
// healed was granted within the bound. These acquires wait for the lock, so an
// acquire that fails, is late or never returns is a violation.
func (r *run) availability(h facts.Healing) *judgement {
	var found []proven
	clients := map[string]bool{}
	judged, cut := 0, 0
	var slowest time.Duration
	for _, a := range r.Acquires() {
		if a.Ops[0] < h.Line {
			continue
		}
		took := a.Ended - a.Invoked
		switch {
		case a.OK && took <= h.Bound:
			judged++
			clients[a.Client] = true
			slowest = max(slowest, took)
			continue
		case a.Open && took <= h.Bound, r.Cancelled(a), r.History.Header.DeadWaiter > 0 && took >= h.Bound && took <= h.Bound+r.QueueDelay(a.Key, a.Invoked, a.Ended):
			cut++ // the history ends before the bound
			continue
		}
		judged++
		clients[a.Client] = true
		found = append(found, proven{narrative.Violation{Key: a.Key, At: a.Invoked, Until: a.Ended, Ops: a.Ops, Clients: []string{a.Client}}, func(n *narrative.Narrative) { r.explainRefused(n, a) }})
	}
	j := &judgement{
		tally: tally{checked: judged}, violations: found, late: true,
		evidence: r.count("clients that acquired after all faults had ended", len(clients), max(1, r.History.Header.Clients), MoreWork),
		violated: func(t tally, first *narrative.Violation) string {
			return fmt.Sprintf("%s were not granted within %s after all faults had ended at %s: the first was called at %s on %s and lasted %s",
				narrative.Share(t.found, t.checked, "acquires"), narrative.At(h.Bound), narrative.At(h.At), narrative.At(first.At), first.Key, narrative.At(first.Until-first.At))
		},
		holds: func(t tally) string {
			return fmt.Sprintf("%s granted after all faults had ended at %s, the slowest in %s of the %s allowed",
				plural.Count(t.checked, "acquire was", "acquires were"), narrative.At(h.At), narrative.At(slowest), narrative.At(h.Bound))
		},
	}
	switch {
	case judged == 0 && cut > 0:
		j.invalid = fmt.Sprintf("the history ends before the %s after all faults had ended had to be granted", plural.Count(cut, "acquire", "acquires"))
	case judged == 0:
		j.invalid = fmt.Sprintf("no acquire followed the end of all faults at %s", narrative.At(h.At))
	}
	return j
}

// explainRefused explains that an acquire was not granted in time after the faults had healed.
func (r *run) explainRefused(n *narrative.Narrative, a facts.Acquire) {
	v := n.Violation
	took := narrative.At(a.Ended - a.Invoked)
	switch {
	case a.OK:
		v.Summary = fmt.Sprintf("%s asked for %s at %s and was granted it only after %s", a.Client, a.Key, narrative.At(a.Invoked), took)
	case a.Open:
		v.Summary = fmt.Sprintf("%s asked for %s at %s and had no answer for %s, until the history ends", a.Client, a.Key, narrative.At(a.Invoked), took)
	default:
		v.Summary = fmt.Sprintf("%s asked for %s at %s and was refused after %s", a.Client, a.Key, narrative.At(a.Invoked), took)
		if a.Err != "" {
			v.Summary += ": " + a.Err
		}
	}
	n.Stuck([]string{a.Client}, a.Invoked, a.Ended, []facts.Acquire{a})
	h := r.Healed()
	n.AllHealed(h)
	n.Violated(fmt.Sprintf("%s, where %s is allowed", v.Summary, narrative.At(h.Bound)))
}

// MaxStall is the fraction of the time after the healing for which the harness's machine
// may have stood still. If it stood still for longer, the machine may be why acquires failed.
const MaxStall = 0.05

// afterHealing judges what came after all faults had ended. It withdraws violations if the machine stalled too much: then
// commands may have timed out because no process ran in time.
func afterHealing(judge func(*run, facts.Healing) *judgement) func(*run) *judgement {
	return func(r *run) *judgement {
		h := r.Healed()
		switch {
		case !r.ReachesEnd():
			return nil
		case h.Problem != "":
			return &judgement{invalid: h.Problem}
		}
		j := judge(r, h)
		if stalled := r.StalledSince(h.At); len(j.violations) > 0 && stalled > MaxStall {
			j.violations = nil
			j.invalid = fmt.Sprintf("the harness's machine stood still for %.0f %% of the time after all faults had ended at %s: too busy to tell", 100*stalled, narrative.At(h.At))
		}
		return j
	}
}
