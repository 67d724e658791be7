package search

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/history/fault"
	"lockpick/internal/plural"
)

// ExploreResult is the result of an exploration. If the number of schedules is given, everything in it except
// Elapsed is the same for the same seed, whatever the number of workers.
type ExploreResult struct {
	Seed      uint64
	Schedules int // schedules that count: all simulated ones, up to the last necessary one
	Simulated time.Duration
	Elapsed   time.Duration
	Interrupted,
	OutOfTime bool
	Missing []string // what is missing of merged shards
	Settled bool     // the search ended early, because everything that was asked for is violated

	Counts     judge.Counts           // of all schedules together
	Kinds      map[string]*FaultCount // by kind of fault
	Coverage   Coverage
	Properties []PropertyCount // the properties that were judged
	Statements int             // number of bounds and intervals in Properties, which all hold together with Confidence
	Shapes     map[string]int  // number of schedules that were explicit, guided, pct, …
	Found      []Found         // the distinct violations, in the order of the schedules' numbers

	collect bool
	asked   []request
	all     []PropertyCount // Properties, including those that are not reported
}

// request is a level or a property that the user asked for.
type request struct {
	name       string
	properties []checker.Property
	first      int // the lowest number of a schedule that violates it; -1: none
}

// requestsFor returns the levels and properties that were asked for, none of them violated yet.
func requestsFor(names []string) []request {
	var all []request
	for _, name := range names {
		all = append(all, request{name, checker.PropertiesOf([]string{name}), -1})
	}
	return all
}

// violatedIn reports whether a schedule violates the level or the property.
func (a *request) violatedIn(r *judge.Result) bool {
	v, _ := r.FirstViolation([]string{a.name})
	return v != nil
}

// lastNeeded returns the number of the schedule with which everything that was asked for is violated, or -1
// if something is not.
func lastNeeded(all []request) int {
	last := -1
	for _, a := range all {
		if a.first < 0 {
			return -1
		}
		last = max(last, a.first)
	}
	return last
}

// FaultCount counts the faults of a kind. TookEffect counts the installed ones that took effect.
type FaultCount struct {
	Installed  int `json:"installed"`
	TookEffect int `json:"bit"`
	Skipped    int `json:"skipped"`
}

// PropertyCount counts what the schedules showed about one property.
type PropertyCount struct {
	checker.Property
	Tested     int // schedules in which the checker judged the property
	Conclusive int // of Tested, the schedules in which it holds or is violated; all others prove nothing
	Violated   int // of Conclusive
	Verdict    checker.Verdict
	Why        string
	First      int            // the first schedule that violates it; -1: none
	Lacking    map[string]int // number of schedules that prove nothing, by the reason
	Bound      float64        // if it holds: at most this share of schedules violates it, at Confidence
	Rate       *Interval      // the share of schedules that violate it; nil: none does, or Settled
}

// Found is a violation that an exploration found.
type Found struct {
	Number    int // of the schedule, from 0
	Seed      uint64
	Scenario  scenario.Scenario // the concrete schedule: it violates the property whenever it is simulated
	Property  checker.Property
	Faults    []string            // kinds of fault that explain it
	Reason    string              // the property and Faults: violations with the same reason are not distinct
	Violation narrative.Violation // the first one in the schedule
	Count     int                 // number of schedules that violate it for the same reason

	// History is the history of the schedule if ExploreOptions.Run ran it, because another run may not repeat
	// it.
	History *history.History `json:"-"`
}

// Verdict returns the worst verdict of the properties. It is unknown if nothing was violated and the
// exploration was interrupted or lacks shards.
func (x *ExploreResult) Verdict() checker.Verdict {
	worst := checker.Holds
	for _, l := range x.Properties {
		switch {
		case l.Verdict == checker.Violated:
			return checker.Violated
		case l.Verdict == checker.Invalid:
			worst = checker.Invalid
		}
	}
	if worst == checker.Holds && (x.Interrupted || len(x.Missing) > 0) {
		return checker.Unknown
	}
	return worst
}

// newExploreResult returns the result of an exploration that has tried nothing yet.
func newExploreResult(e *ExploreOptions) *ExploreResult {
	x := &ExploreResult{
		Seed: e.Base.Seed, Kinds: map[string]*FaultCount{}, Coverage: Coverage{}, Shapes: map[string]int{},
		collect: e.Collect, asked: requestsFor(e.Properties),
	}
	for _, p := range checker.PropertiesOf(e.Properties) {
		x.Properties = append(x.Properties, PropertyCount{Property: p, First: -1, Lacking: map[string]int{}})
	}
	return x
}

// fold adds a schedule. Schedules are added in the order of their numbers.
func (x *ExploreResult) fold(t *trial) {
	x.Schedules++
	x.Simulated += t.result.Duration
	x.Counts.Add(t.result.Counts)
	x.Coverage.merge(t.coverage)
	x.Shapes[t.scenario.NemesisName()]++
	x.Shapes[cmp.Or(t.scenario.Scheduler, scenario.Uniform)+" scheduler"]++
	for _, f := range t.faults {
		b := x.Kinds[f.Name]
		if b == nil {
			b = &FaultCount{}
			x.Kinds[f.Name] = b
		}
		switch {
		case !f.Installed:
			b.Skipped++
		case f.TookEffect:
			b.Installed, b.TookEffect = b.Installed+1, b.TookEffect+1
		default:
			b.Installed++
		}
	}
	for i := range x.Properties {
		x.Properties[i].fold(t)
	}
	for i := range x.asked {
		a := &x.asked[i]
		if !a.violatedIn(t.result) || a.first >= 0 && !x.collect {
			continue
		}
		if a.first < 0 {
			a.first = t.number
		}
		for _, v := range t.result.ResultsFor([]string{a.name}) {
			if v.Verdict == checker.Violated && len(v.Violations) > 0 {
				x.found(t, v.Property, v.Violations[0])
			}
		}
	}
}

// fold counts a schedule by the verdict on the property in it. Nothing else decides whether a
// schedule counts.
func (l *PropertyCount) fold(t *trial) {
	v := t.result.ResultOf(l.Property)
	if v == nil {
		l.Lacking[cmp.Or(t.result.Untested[l.Name], checker.NotExercised)]++
		return
	}
	l.Tested++
	switch v.Verdict {
	case checker.Holds:
		l.Conclusive++
	case checker.Violated:
		l.Conclusive++
		l.Violated++
		if l.First < 0 {
			l.First = t.number
		}
	default:
		l.Lacking[lacking(v)]++
	}
}

// found adds a violation, or increments the count of a known reason.
func (x *ExploreResult) found(t *trial, p checker.Property, v narrative.Violation) {
	faults := explaining(v, t.faults)
	reason := reasonOf(p, v, faults, t.faults)
	for i := range x.Found {
		f := &x.Found[i]
		if f.Reason == reason && f.Number == t.number {
			return // the property was asked for twice, by its name and by its level
		}
		if f.Reason == reason {
			f.Count++
			return
		}
	}
	s := t.scenario
	s.Properties = []string{p.ShortName()}
	x.Found = append(x.Found, Found{
		Number: t.number, Seed: s.Seed, Scenario: s, Property: p, Faults: faults, Reason: reason, Violation: v, Count: 1, History: t.history,
	})
}

// explaining returns the kinds of fault that explain a violation: those that its explanation names, and those
// that change the clock of a client in it, because that clock decides the end of every lease that is measured
// with it.
func explaining(v narrative.Violation, faults []*history.Fault) []string {
	kinds := map[string]bool{}
	for _, f := range faults {
		if slices.Contains(v.Faults, f.ID) || changesClockOf(v.Clients, f) && f.Began <= v.At {
			kinds[f.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(kinds))
}

// changesClockOf reports whether a fault was installed and changes the clock of one of the clients.
func changesClockOf(clients []string, f *history.Fault) bool {
	if !f.Installed || fault.Of(f.Name).Hits != fault.Clients || f.Params["clock"] == "" {
		return false
	}
	return len(f.Clients) == 0 || slices.ContainsFunc(clients, func(c string) bool { return slices.Contains(f.Clients, c) })
}

// reasonOf names a violation by its property and the kinds of fault that explain it.
func reasonOf(p checker.Property, v narrative.Violation, explaining []string, faults []*history.Fault) string {
	why := strings.Join(explaining, ", ")
	if why == "" {
		why = "without a fault"
		if slices.ContainsFunc(faults, func(f *history.Fault) bool { return f.Installed && f.Began <= v.At }) {
			why = "no fault is known to explain it"
		}
	}
	return p.Level + " " + p.Name + ": " + why
}

// conclude gives each property its verdict and the reason. A property that was not asked for by
// its name, and that nothing tested, is left out if another property of its level was tested:
// some are judged only if they are named.
func (x *ExploreResult) conclude(e ExploreOptions) {
	tested := map[string]bool{}
	for _, l := range x.Properties {
		tested[l.Level] = tested[l.Level] || l.Tested > 0
	}
	x.all = slices.Clone(x.Properties)
	x.Properties = slices.DeleteFunc(x.Properties, func(l PropertyCount) bool {
		return l.Tested == 0 && tested[l.Level] && !slices.Contains(e.Properties, l.Name)
	})
	x.Settled = !x.collect && lastNeeded(x.asked) >= 0
	for i := range x.Properties {
		l := &x.Properties[i]
		switch missing := l.missing(x, &e); {
		case l.Violated > 0:
			l.Verdict = checker.Violated
		case missing != "":
			l.Verdict, l.Why = checker.Invalid, missing
			continue
		case len(x.Missing) > 0:
			l.Verdict, l.Why = checker.Unknown, fmt.Sprintf("not violated in %s; but %s", conclusive(l.Conclusive), strings.Join(x.Missing, "; "))
			continue
		default:
			l.Verdict = checker.Holds
		}
		if l.Verdict == checker.Holds || !x.Settled {
			x.Statements++
		}
	}
	for i := range x.Properties {
		x.Properties[i].quantify(x)
	}
}

// quantify sets the bound or the rate of violations, and the text that explains the verdict.
func (l *PropertyCount) quantify(x *ExploreResult) {
	switch {
	case l.Verdict == checker.Holds:
		l.Bound = Bound(l.Conclusive, x.Statements)
		l.Why = fmt.Sprintf("%s%s; with 95 %% confidence in at most %s of those drawn from this scenario",
			l.never(), l.others(x), Percent(l.Bound))
	case l.Verdict == checker.Violated && x.Settled:
		l.Why = fmt.Sprintf("violated by schedule %d; the search ended there, so how often is not known (--collect goes on)", l.First)
		if l.First < x.Schedules-1 {
			l.Why = fmt.Sprintf("violated in %d of %s, first by schedule %d; the search ended early, so how often is not known (--collect goes on)",
				l.Violated, conclusive(l.Conclusive), l.First)
		}
	case l.Verdict == checker.Violated:
		rate := Wilson(l.Violated, l.Conclusive, x.Statements)
		l.Rate = &rate
		l.Why = fmt.Sprintf("violated in %d of %s%s: %s; first by schedule %d",
			l.Violated, conclusive(l.Conclusive), l.others(x), rate, l.First)
	}
}

// never renders that no conclusive schedule violates the property.
func (l *PropertyCount) never() string {
	if l.Conclusive == 1 {
		return "not violated in 1 conclusive schedule"
	}
	return "violated in none of " + conclusive(l.Conclusive)
}

func conclusive(n int) string {
	return plural.Count(n, "conclusive schedule", "conclusive schedules")
}

// others renders how many schedules do not count, or returns "".
func (l *PropertyCount) others(x *ExploreResult) string {
	if n := x.Schedules - l.Conclusive; n > 0 {
		return fmt.Sprintf(" (%d more proved nothing)", n)
	}
	return ""
}

// Caveats explains the meaning of the statistical statements. It returns nil if there are none.
func (x *ExploreResult) Caveats() []string {
	if x.Statements == 0 {
		return nil
	}
	about := "Shares are about schedules drawn from this scenario. They do not say how often it happens in production."
	if x.Statements == 1 {
		return []string{about}
	}
	return []string{about, fmt.Sprintf("All %d shares hold together with 95 %% confidence (Bonferroni: %.4g %% each).",
		x.Statements, 100*(1-(1-Confidence)/float64(x.Statements)))}
}

// missing explains what the schedules lack to prove anything, and what helps. It returns "" if they lack
// nothing.
func (l *PropertyCount) missing(x *ExploreResult, e *ExploreOptions) string {
	advised := func(what string, advice checker.Advice) string {
		if words := e.wording()[advice]; words != "" {
			return what + ": " + words
		}
		return what
	}
	tried := plural.Count(x.Schedules, "schedule", "schedules")
	if l.Conclusive == 0 {
		most, help := "the search ended before the first", checker.MoreInEachSchedule
		if len(l.Lacking) > 0 {
			most = slices.MaxFunc(slices.Sorted(maps.Keys(l.Lacking)), func(a, b string) int { return cmp.Compare(l.Lacking[a], l.Lacking[b]) })
		}
		if l.Tested == 0 {
			if help = l.Helps; l.Needs == checker.FencingTokens && e.Base.Fencing {
				help = checker.FenceEachLease
			}
		}
		if x.Schedules <= 1 {
			return advised(fmt.Sprintf("%s proved nothing: %s", tried, most), help)
		}
		return advised(fmt.Sprintf("none of %s was conclusive, most often (%d times) because %s", tried, l.Lacking[most], most), help)
	}
	for _, kind := range e.Base.FaultNames() {
		if b := x.Kinds[kind]; b == nil || b.TookEffect == 0 {
			how := advised("it was never drawn", checker.MoreSchedules)
			if b != nil {
				how = advised(fmt.Sprintf("%d were installed, %d skipped", b.Installed, b.Skipped), checker.LeaveOutFault)
			}
			return fmt.Sprintf("the fault %s never took effect in %s: %s", kind, tried, how)
		}
	}
	return ""
}
