package judge

import (
	"fmt"
	"slices"
	"strings"

	"lockpick/checker"
	"lockpick/history"
)

// NotTested is the verdict on a property that was asked for but that the run did not exercise.
const NotTested checker.Verdict = "not tested"

// Conclusion is the overall verdict of a run, which decides the exit code.
type Conclusion struct {
	Verdict checker.Verdict
	// Why names the properties that decide the verdict, each with its reason. It is empty if the verdict is
	// holds.
	Why string
}

// severity lists the verdicts by severity. The overall verdict is the most severe one.
var severity = []checker.Verdict{checker.Holds, NotTested, checker.Invalid, checker.Unknown, checker.Violated}

// Worse reports whether verdict a is more severe than b.
func Worse(a, b checker.Verdict) bool { return slices.Index(severity, a) > slices.Index(severity, b) }

// Conclude merges the verdicts on the levels or properties in asked. If asked is empty, it concludes about
// mutual exclusion: any violation counts, and so does everything that prevents mutual exclusion from holding,
// because no run has evidence for every property. A level or property in asked without a result counts as not
// tested. An incomplete run can only prove violations: without one, the overall verdict is unknown.
func (r *Result) Conclude(asked []string) Conclusion {
	c := Conclusion{Verdict: checker.Holds}
	var reasons []string
	add := func(v checker.Verdict, reason string) {
		if Worse(v, c.Verdict) {
			c.Verdict, reasons = v, nil
		}
		if v == c.Verdict && v != checker.Holds {
			reasons = append(reasons, reason)
		}
	}
	reported := map[string]bool{}
	for _, p := range r.Parts(asked) {
		switch {
		case !p.Counts:
		case p.Verdict != NotTested:
			add(p.Verdict, fmt.Sprintf("%s %s is %s: %s", p.Level, p.Name, p.Verdict.Word(), p.Why))
		case p.asked == "":
			add(NotTested, "mutual exclusion was not judged")
		case !reported[p.asked]:
			reported[p.asked] = true
			add(NotTested, fmt.Sprintf("%s was asked for and not tested: %s", p.asked, r.whyNotTested(p.asked)))
		}
	}
	if r.CutShort != "" && c.Verdict != checker.Violated {
		return Conclusion{checker.Unknown, r.CutShort}
	}
	c.Why = strings.Join(reasons, "; ")
	return c
}

// Part is what a run says about one property.
type Part struct {
	checker.Property
	Verdict checker.Verdict // NotTested if there is no result
	Why     string
	Counts  bool            // it counts for the overall verdict
	Result  *checker.Result // nil if there is none

	asked string // the level or the name under which a property without a result was asked for
}

// Parts returns what the run says about each property, given the levels or properties in asked, for which Conclude
// has the rules. Everything that shows a verdict, from the exit code to JUnit, takes from here whether it counts.
func (r *Result) Parts(asked []string) []Part {
	var parts []Part
	for _, p := range checker.Properties {
		part := Part{Property: p, Verdict: NotTested, Why: r.Untested[p.Name]}
		if part.Result = r.ResultOf(p); part.Result != nil {
			part.Verdict, part.Why = part.Result.Verdict, part.Result.Why
		}
		selects := func(name string) bool { return name == p.Name || name == p.Level }
		switch i := slices.IndexFunc(asked, selects); {
		case len(asked) == 0:
			part.Counts = p.Main || part.Verdict == checker.Violated
		case i < 0:
		case part.Verdict != NotTested:
			part.Counts = true
		default: // of a level, the properties without a result count only if none has one
			i := slices.IndexFunc(asked, func(name string) bool { return selects(name) && len(r.ResultsFor([]string{name})) == 0 })
			if part.Counts = i >= 0; part.Counts {
				part.asked = asked[i]
			}
		}
		parts = append(parts, part)
	}
	return parts
}

// SetProperties sets the properties that decide the overall verdict, and computes the verdict.
func (r *Result) SetProperties(properties []string) {
	c := r.Conclude(properties)
	r.Properties, r.Overall, r.Why = properties, c.Verdict, c.Why
}

// whyNotTested explains why the level or the property with a name has no result.
func (r *Result) whyNotTested(name string) string {
	var reasons []string
	for _, p := range checker.PropertiesOf([]string{name}) {
		if why := r.Untested[p.Name]; why != "" && !slices.Contains(reasons, why) {
			reasons = append(reasons, why)
		}
	}
	if len(reasons) == 0 {
		return checker.NotExercised
	}
	return strings.Join(reasons, ", ")
}

// WhyNotTested explains why a result has no verdict on p.
func (r *Result) WhyNotTested(p checker.Property, h *history.History) string {
	if why := r.Untested[p.Name]; why != "" {
		return why
	}
	return p.WhyUntested(history.Pack(h)) // the result is older than its reasons
}
