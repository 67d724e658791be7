package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/history/fault"
)

// headline is the verdict of a run in one sentence: the worst verdict of the requested properties,
// and the property that it is about. If several have it, mutual exclusion leads, because that is
// the purpose of a lock, or else the first by level.
type headline struct {
	Verdict  checker.Verdict
	Level    string   // empty: no property was judged
	Property string   // in words
	Why      string   // one sentence
	Also     []string // levels of the other properties with the same verdict; names too if the level is the same
	Meaning  string   // if something is violated: whether the lock is to blame, and what holds nevertheless
	Inherent bool     // all that is violated is inherent
}

// headlineOf returns the headline of a run with its meaning.
func headlineOf(h *history.History, r *judge.Result) headline {
	head := verdictOf(r)
	if head.Verdict == checker.Violated && h.Header.Driver != history.Imported {
		head.Meaning, head.Inherent = meaning(h, r)
	}
	return head
}

// meaning says which violated levels are inherent, because an assumption is broken on which all such locks rest, and
// which are not. It also reports whether all are.
func meaning(h *history.History, r *judge.Result) (text string, inherent bool) {
	var own, levels []string
	var broken []judge.Assumption
	fenced := ""
	if v := r.ResultOf(checker.FencedWrites); v != nil && v.Verdict == checker.Holds {
		fenced = " L5 holds: " + v.Finding + "."
	}
	for _, v := range byWeight(r) {
		all := judge.Inherent(h, &v)
		if len(all) == 0 {
			own = append(own, v.Level)
			continue
		}
		levels = append(levels, v.Level)
		broken = append(broken, all...)
	}
	levels = slices.DeleteFunc(levels, func(l string) bool { return slices.Contains(own, l) })
	if len(levels) == 0 {
		return "", false
	}
	var without []string
	help := ""
	for i, a := range broken {
		if slices.ContainsFunc(broken[:i], func(b judge.Assumption) bool { return a.Name == b.Name }) {
			continue
		}
		without = append(without, a.Name)
		if fenced == "" || slices.Contains(a.Inherent, checker.FencedWrites.Level) {
			help += " " + a.Help
		}
	}
	text = fmt.Sprintf("Without %s, no lock with leases keeps %s", fault.Enumerate(without), listOf(levels))
	if len(own) == 0 {
		text += ": the lock is not to blame."
	} else {
		text += fmt.Sprintf(". That does not explain %s: look there first.", listOf(own))
	}
	return text + fenced + help, len(own) == 0
}

// listOf enumerates levels, each once: "L2 and L4", and "L1 to L4" for three or more in a row.
func listOf(levels []string) string {
	levels = slices.Compact(slices.Sorted(slices.Values(levels)))
	var parts []string
	for i := 0; i < len(levels); {
		end := i + 1
		for end < len(levels) && follows(levels[end-1], levels[end]) {
			end++
		}
		if end-i >= 3 {
			parts = append(parts, levels[i]+" to "+levels[end-1])
		} else {
			parts = append(parts, levels[i:end]...)
		}
		i = end
	}
	return fault.Enumerate(parts)
}

// follows reports whether a level is the next one after another, as L3 after L2.
func follows(before, level string) bool {
	return len(before) == 2 && len(level) == 2 && before[0] == 'L' && level[0] == 'L' && level[1] == before[1]+1
}

// verdictOf returns the headline without its meaning.
func verdictOf(r *judge.Result) headline {
	worst := byWeight(r)
	if len(worst) == 0 {
		// Result.Verdict is Holds if there are no verdicts. That is right for merging, but wrong to
		// print.
		if len(r.Properties) > 0 && len(r.Verdicts) > 0 {
			return headline{Verdict: checker.Unknown, Why: "nothing that was asked for was judged: " + strings.Join(r.Properties, ", ")}
		}
		return headline{Verdict: checker.Unknown, Why: "no property was judged"}
	}
	lead := worst[0]
	head := headline{Verdict: lead.Verdict, Level: lead.Level, Property: checker.TitleOf(lead.Name), Why: lead.Why}
	for _, v := range worst[1:] {
		also := v.Level
		if also == head.Level {
			also += " " + checker.TitleOf(v.Name)
		}
		if !slices.Contains(head.Also, also) {
			head.Also = append(head.Also, also)
		}
	}
	return head
}

// byWeight returns the requested results that have the worst verdict, the one for the headline
// first.
func byWeight(r *judge.Result) []checker.Result {
	asked := judge.Result{Verdicts: r.Verdicts}
	if len(r.Properties) > 0 {
		asked.Verdicts = r.ResultsFor(r.Properties)
	}
	worst := asked.Verdict()
	if len(r.Properties) == 0 && worst != checker.Violated { // then the main property decides
		for _, v := range asked.Verdicts {
			if checker.Named(v.Name).Main {
				worst = v.Verdict
			}
		}
	}
	results := slices.DeleteFunc(inOrder(asked.Verdicts), func(v checker.Result) bool { return v.Verdict != worst })
	slices.SortStableFunc(results, func(a, b checker.Result) int {
		return cmp.Compare(weight(a), weight(b))
	})
	return results
}

func weight(v checker.Result) int {
	if checker.Named(v.Name).Main {
		return 0
	}
	return 1
}

// level is one row of the table of properties.
type level struct {
	Level    string
	Property string          // in words
	Says     string          // the property as a sentence
	Verdict  checker.Verdict // empty: not tested
	Why      string
	Finding  string             // if it holds: Why without the evidence and the faults
	Evidence []checker.Evidence // the number of cases; then, if faults were requested, the number of cases under faults
	Faults   string             // if it holds: which faults took effect, in words
	Checked  int
	Count    int
}

// levelsOf lists every property, tested or not, in the order of the levels. For imported logs it
// lists the judged ones, and one row for all others.
func levelsOf(h *history.History, r *judge.Result) []level {
	found := map[string][]checker.Result{}
	for _, v := range r.Verdicts {
		found[v.Name] = append(found[v.Name], v)
	}
	var levels []level
	add := func(p checker.Property) {
		for _, v := range found[p.Name] {
			levels = append(levels, level{
				Level: p.Level, Property: checker.TitleOf(p.Name), Says: p.Says, Verdict: v.Verdict, Why: v.Why, Finding: v.Finding,
				Evidence: v.Evidence, Faults: v.Faults, Checked: v.Checked, Count: v.Count,
			})
		}
		if found[p.Name] == nil {
			levels = append(levels, level{Level: p.Level, Property: checker.TitleOf(p.Name), Says: p.Says, Why: r.WhyNotTested(p, h)})
		}
		delete(found, p.Name)
	}
	if h.Header.Driver == history.Imported {
		for _, p := range checker.Properties {
			if found[p.Name] != nil {
				add(p)
			}
		}
		return append(levels, level{Property: "all others", Says: "what a run of Lockpick can show", Why: r.WhyNotTested(checker.Quorum, h)})
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

// fold groups the properties that hold, or that were not tested, on one line that the reader can
// open.
type fold struct {
	Verdict checker.Verdict // empty: not tested
	Levels  []level
}

// Names returns the names of the properties, separated by commas.
func (f fold) Names() string {
	var all []string
	for _, l := range f.Levels {
		all = append(all, l.Property)
	}
	return strings.Join(all, ", ")
}

// foldLevels moves the properties that hold, and those that were not tested, from the list into
// folds.
func foldLevels(all []level) (shown []level, folded []fold) {
	for _, v := range []checker.Verdict{checker.Holds, ""} {
		f := fold{Verdict: v}
		for _, l := range all {
			if l.Verdict == v {
				f.Levels = append(f.Levels, l)
			}
		}
		if len(f.Levels) > 0 {
			folded = append(folded, f)
		}
	}
	shown = slices.DeleteFunc(slices.Clone(all), func(l level) bool { return l.Verdict == checker.Holds || l.Verdict == "" })
	return shown, folded
}

// firstViolation returns the earliest violation of the property in the headline, or nil. If that
// property has no listed violation, the next one with the same verdict counts.
func firstViolation(r *judge.Result) *narrative.Violation {
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

// inOrder sorts verdicts in the order of checker.Properties; unknown ones go last.
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
