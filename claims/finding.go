package claims

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/internal/plural"
	"lockpick/search"
)

// judgement is the result of one schedule for one property, and whether it is as expected.
type judgement struct {
	search.Judgement
	match *narrative.Violation // the first violation with the expected reason; nil: none
}

// judge compares a history with the expectation.
func (e *Expect) judge(h *history.History, r *judge.Result) judgement {
	res, judged := e.result(h, r)
	if !judged {
		return judgement{Judgement: search.Judgement{Property: e.Property, Verdict: checker.Invalid, Why: "the schedule did not exercise the property " + e.Property}}
	}
	res = res.Reword(search.GivenSchedules)
	faults := history.Faults(h.Ops)
	s := judgement{Judgement: search.JudgementOf(&res, faults)}
	for i := range res.Violations {
		if x := &res.Violations[i]; res.Verdict == checker.Violated && e.hasExpectedReason(x, search.FaultsOf(x, faults)) {
			s.match = x
			break
		}
	}
	return s
}

// result returns the verdict of a history on the property; false: there is none.
func (e *Expect) result(h *history.History, r *judge.Result) (checker.Result, bool) {
	p := checker.Named(e.Property)
	if p.OnlyClaims {
		return p.JudgeClaim(h), true
	}
	if v := r.ResultOf(p); v != nil {
		return *v, true
	}
	return checker.Result{}, false
}

// hasExpectedReason reports whether a violation has the expected faults and text.
func (e *Expect) hasExpectedReason(x *narrative.Violation, faults []string) bool {
	for _, f := range e.Faults {
		if !slices.Contains(faults, f) {
			return false
		}
	}
	if e.Because == "" {
		return true
	}
	return e.because.MatchString(x.Summary) || slices.ContainsFunc(x.Reason, e.because.MatchString)
}

// findings returns the finding of a series on each expected property.
func (v *verifier) findings(ctx context.Context, s *series) []PropertyResult {
	var all []PropertyResult
	for i := range s.expect {
		f, evidence := s.find(&s.expect[i])
		if evidence != nil {
			f.Seed = evidence.seed
			f.FoundAfter = evidence.at
			v.keep(ctx, s, evidence, &f)
		}
		all = append(all, f)
	}
	return all
}

// find decides on one property from the schedules of a series. It returns the schedule that is the
// evidence: the first that violates the property, or the first that proves something.
func (s *series) find(e *Expect) (PropertyResult, *trial) {
	f := PropertyResult{Property: e.Property, Level: e.Level(), Expected: e.Verdict}
	var evidence, other, undecided, proving *trial
	var all search.Proof
	counted := s.counted()
	for _, t := range counted {
		if t == nil {
			continue
		}
		x := t.results[e.Property]
		f.Schedules++
		all.Add(x.Evidence)
		switch {
		case x.Verdict == checker.Holds:
			f.Proven++
			if proving == nil || proving.results[e.Property].Verdict != checker.Holds {
				proving = t // this schedule alone proves that the property holds
			}
		case len(x.Evidence) > 0:
			f.Proven++
			proving = cmp.Or(proving, t)
		case x.match != nil:
			f.Proven++
			f.Violated++
			evidence = cmp.Or(evidence, t)
		case x.Verdict == checker.Violated:
			f.Proven++
			f.Violated++
			other = cmp.Or(other, t)
		case x.Verdict == checker.Unknown || undecided == nil || undecided.results[e.Property].Verdict != checker.Unknown:
			undecided = t
		}
		if evidence != nil && e.Verdict == checker.Violated {
			break
		}
	}
	convict := func(t *trial, x *narrative.Violation) *trial {
		f.Found, f.Summary, f.Reason, f.At = checker.Violated, x.Summary, x.Reason, &x.At
		f.Faults = t.results[e.Property].Faults
		f.Why = t.results[e.Property].Why
		return t
	}
	switch {
	case f.Schedules == 0:
		f.Found, f.Why = checker.Unknown, "interrupted before any schedule was tried"
		f.Outcome = Undecided
	case evidence != nil:
		convict(evidence, evidence.results[e.Property].match)
		f.Outcome = Unexpected
		if e.Verdict == checker.Violated {
			f.Outcome = Expected
		}
		return f, evidence
	case other != nil:
		convict(other, other.results[e.Property].First)
		f.Outcome = Unexpected
		if e.Verdict == checker.Violated {
			f.Why = "violated, but not for the claimed reason: " + f.Why
		}
		return f, other
	case undecided != nil && (undecided.results[e.Property].Verdict == checker.Unknown || f.Proven < s.prove):
		x := undecided.results[e.Property]
		f.Found, f.Why, f.Outcome = x.Verdict, x.Why, Undecided
		if n := f.Schedules - f.Proven; n < f.Schedules {
			f.Why = fmt.Sprintf("%d of %d schedules decide nothing: %s", n, f.Schedules, x.Why)
		}
		return f, undecided
	case all.Missing() != nil:
		f.Found, f.Outcome, f.Evidence = checker.Invalid, Undecided, all.Evidence
		f.Why = fmt.Sprintf("%s together: %s", plural.Count(f.Proven, "schedule", "schedules"), all.Missing().Needs())
		return f, proving
	case slices.Contains(counted, nil):
		f.Found, f.Why, f.Outcome = checker.Unknown, fmt.Sprintf("interrupted after %d of %d schedules", f.Schedules, s.stop+1), Undecided
	default:
		f.Found, f.Outcome, f.Evidence = checker.Holds, Expected, all.Evidence
		f.Why = proving.results[e.Property].Why
		if proving.results[e.Property].Verdict != checker.Holds {
			f.Why = fmt.Sprintf("not violated in %s, which have the evidence together: %s", plural.Count(f.Proven, "schedule", "schedules"), all.Summary())
		}
		if e.Verdict == checker.Violated {
			f.Outcome, f.Why = Unexpected, "it was never violated: "+f.Why
		}
		f.Bound = search.Bound(f.Proven, 1)
		return f, proving
	}
	return f, nil
}
