package checker

import (
	"fmt"
	"time"

	"lockpick/checker/facts"
	"lockpick/checker/narrative"
	"lockpick/internal/plural"
)

var Availability = Property{
	Name: "availability", Level: "AV", Says: "once faults have healed, every client that keeps asking is granted the lock within a bound", Leads: true,
	rules: &rules{judge: afterHealing((*run).availability), gaps: []gap{notHealed}},
}

// availability judges AV: each client that asked for a key after the faults had healed, and again if it was refused, was
// granted it within the bound. A client that is refused at once and does not ask again proves nothing: its connection may have
// been broken by a fault, and its next acquire would use a new one.
func (r *run) availability(h facts.Healing) *judgement {
	var found []proven
	clients := map[string]bool{}
	all, cut := r.SeriesSince(h)
	judged := 0
	var slowest time.Duration
	for _, s := range all {
		took := s.To - s.From
		granted := s.Last().OK
		switch {
		case granted && took <= h.Bound:
			slowest = max(slowest, took)
		case took < h.Bound, s.Last().Open && took == h.Bound,
			r.History.Header.DeadWaiter > 0 && took <= h.Bound+r.QueueDelay(s.Key, s.From, s.To):
			cut++ // the client stopped asking, or the history ends, before the bound
			continue
		default:
			v := narrative.Violation{Key: s.Key, At: s.From, Until: s.To, Ops: s.Lines(), Clients: []string{s.Client}}
			found = append(found, proven{v, func(n *narrative.Narrative) { r.explainRefused(n, s) }})
		}
		judged++
		clients[s.Client] = true
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
		j.invalid = fmt.Sprintf("each client gave up, or the history ends, before the %s after all faults had ended had to be granted", plural.Count(cut, "acquire", "acquires"))
	case judged == 0:
		j.invalid = fmt.Sprintf("no acquire followed the end of all faults at %s", narrative.At(h.At))
	}
	return j
}

// explainRefused explains that a client was not granted in time what it asked for after the faults had healed.
func (r *run) explainRefused(n *narrative.Narrative, s *facts.Series) {
	v := n.Violation
	took := narrative.At(s.To - s.From)
	asked := fmt.Sprintf("%s asked for %s at %s", s.Client, s.Key, narrative.At(s.From))
	if times := len(s.Acquires); times > 1 {
		asked = fmt.Sprintf("%s asked for %s %d times from %s on", s.Client, s.Key, times, narrative.At(s.From))
	}
	switch last := s.Last(); {
	case last.OK:
		v.Summary = fmt.Sprintf("%s and was granted it only after %s", asked, took)
	case last.Open && len(s.Acquires) == 1:
		v.Summary = fmt.Sprintf("%s and had no answer for %s, until the history ends", asked, took)
	case last.Open:
		v.Summary = fmt.Sprintf("%s and was not granted it for %s, until the history ends", asked, took)
	case len(s.Acquires) == 1:
		v.Summary = fmt.Sprintf("%s and was refused after %s", asked, took)
	default:
		v.Summary = fmt.Sprintf("%s and was refused each time, for %s", asked, took)
	}
	if err := s.Last().Err; err != "" {
		v.Summary += ": " + err
	}
	n.Stuck([]string{s.Client}, s.From, s.To, s.Acquires)
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
