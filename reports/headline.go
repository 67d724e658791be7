package reports

import (
	"cmp"
	"slices"
	"strings"

	"lockpick/campaign"
	"lockpick/checker"
	"lockpick/history"
)

// headline is the verdict of a run in one sentence: the worst verdict, and the property
// that it is about: one that the scenario names if there is one, mutual exclusion if it is
// one of several, because that is what a lock is for, else the first by level.
type headline struct {
	Verdict  checker.Verdict
	Level    string   // empty: no property was judged
	Property string   // in words
	Why      string   // one sentence
	Also     []string // levels of the other properties with the same verdict; by name if it is the same level
}

func headlineOf(r *campaign.Result) headline {
	worst := byWeight(r)
	if len(worst) == 0 {
		// Result.Verdict of no verdicts is Holds: right for folding, wrong to print.
		return headline{Verdict: checker.Unknown, Why: "no property was judged"}
	}
	lead := worst[0]
	head := headline{Verdict: lead.Verdict, Level: lead.Level, Property: words(lead.Name), Why: lead.Why}
	for _, v := range worst[1:] {
		also := v.Level
		if also == head.Level {
			also += " " + words(v.Name)
		}
		if !slices.Contains(head.Also, also) {
			head.Also = append(head.Also, also)
		}
	}
	return head
}

// byWeight are the results with the worst verdict, the one for the headline first.
func byWeight(r *campaign.Result) []checker.Result {
	worst := r.Verdict()
	results := slices.DeleteFunc(slices.Clone(inOrder(r.Verdicts)), func(v checker.Result) bool { return v.Verdict != worst })
	named := map[string]bool{}
	if len(r.Properties) > 0 {
		for _, v := range r.About(r.Properties) {
			named[v.Name] = true
		}
	}
	weight := func(v checker.Result) int {
		switch {
		case named[v.Name] && v.Name == checker.MutualExclusion.Name:
			return 0
		case named[v.Name]:
			return 1
		case v.Name == checker.MutualExclusion.Name:
			return 2
		}
		return 3
	}
	slices.SortStableFunc(results, func(a, b checker.Result) int { return cmp.Compare(weight(a), weight(b)) })
	return results
}

// level is one row of the table of properties.
type level struct {
	Level    string
	Property string          // in words
	Says     string          // the sentence that was judged
	Verdict  checker.Verdict // empty: not tested
	Why      string
	Checked  int
	Count    int
}

// levelsOf lists every property, tested or not, in the order of the levels.
func levelsOf(h *history.History, r *campaign.Result) []level {
	found := map[string][]checker.Result{}
	for _, v := range r.Verdicts {
		found[v.Name] = append(found[v.Name], v)
	}
	var levels []level
	add := func(p checker.Property) {
		for _, v := range found[p.Name] {
			levels = append(levels, level{p.Level, words(p.Name), p.Says, v.Verdict, v.Why, v.Checked, v.Count})
		}
		if found[p.Name] == nil {
			levels = append(levels, level{Level: p.Level, Property: words(p.Name), Says: p.Says, Why: whyNotTested(p, h)})
		}
		delete(found, p.Name)
	}
	for _, p := range checker.Properties {
		add(p)
	}
	for _, v := range r.Verdicts { // properties that this version does not know
		if found[v.Name] != nil {
			add(v.Property)
		}
	}
	return levels
}

// whyNotTested says what the history lacks for a verdict on p.
func whyNotTested(p checker.Property, h *history.History) string {
	happened := func(f string) bool {
		for i := range h.Ops {
			if h.Ops[i].F == f {
				return true
			}
		}
		return false
	}
	asked := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(h.Header.Properties, n) })
	}
	switch p.Name {
	case checker.KeyLifetime.Name:
		if !happened(history.FLook) {
			return "nobody asked the masters what they store"
		}
	case checker.OrphanKeys.Name, checker.GhostKeys.Name:
		switch {
		case p == checker.GhostKeys && !asked(p.Name):
			return "judged only if the scenario names it"
		case !happened(history.FLook):
			return "nobody asked the masters what they store"
		}
		return "no attempt was over"
	case checker.DeadOnArrival.Name:
		if !asked(p.Name) {
			return "judged only if the scenario names it"
		}
	case checker.OwnKeys.Name:
		return "no vote for a release or an extension was recorded"
	case checker.MinValidity.Name:
		return "no vote on a lease was recorded"
	case checker.FencedWrites.Name, checker.FencingMonotone.Name:
		if !h.Header.Fencing {
			return "the leases of this lock carry no fencing tokens"
		}
	case checker.BeliefExclusion.Name, checker.Told.Name:
		if !happened(history.FEnter) {
			return "no client entered a critical section"
		}
	case checker.NoStaleWrite.Name:
		if !happened(history.FApply) {
			return "nothing was written to the guarded resource"
		}
	case checker.NoLostUpdate.Name:
		if h.Header.Resource == "" {
			return "the guarded resource does not compare and set"
		}
		return "nothing was written to the guarded resource"
	case checker.Extension.Name, checker.Continuity.Name:
		if !happened(history.FExtend) {
			return "no lease was extended"
		}
		return "no extension was granted by votes that were recorded"
	case checker.DeadlockFree.Name, checker.Availability.Name:
		if !happened(history.FHealed) {
			return "the run ended before the faults had healed"
		}
	case checker.HolderLoss.Name:
		return "no lock's holder was lost while another asked for it"
	case checker.MinorityFailure.Name:
		return "no lease was granted while a minority of masters failed"
	case checker.Progress.Name:
		return "nobody had to wait while nothing was wrong"
	case checker.QuorumGranted.Name:
		if h.Header.Fencing {
			return "a lease with a fencing token needs more than a quorum's votes"
		}
		return "no vote on an attempt was recorded"
	}
	return "not asked for"
}

// firstViolation is the earliest violation of the property in the headline, or
// nil.
func firstViolation(r *campaign.Result) *checker.Violation {
	for _, v := range byWeight(r) {
		if v.Verdict != checker.Violated || len(v.Violations) == 0 {
			continue
		}
		first := &v.Violations[0]
		for i := range v.Violations {
			if v.Violations[i].At < first.At {
				first = &v.Violations[i]
			}
		}
		return first
	}
	return nil
}

// inOrder sorts verdicts as checker.Properties lists them; unknown ones go last.
func inOrder(verdicts []checker.Result) []checker.Result {
	var sorted []checker.Result
	known := map[string]bool{}
	for _, p := range checker.Properties {
		known[p.Name] = true
		for _, v := range verdicts {
			if v.Name == p.Name {
				sorted = append(sorted, v)
			}
		}
	}
	for _, v := range verdicts {
		if !known[v.Name] {
			sorted = append(sorted, v)
		}
	}
	return sorted
}

// words turns a property's name into words: "mutual-exclusion" is "mutual exclusion".
func words(name string) string { return strings.ReplaceAll(name, "-", " ") }
