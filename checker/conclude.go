package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockpick/checker/facts"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/internal/plural"
)

// judgement is the finding of a property's judge, before conclude turns it into a Result. A judge
// returns nil if the run had nothing for it to judge.
type judgement struct {
	tally
	violations []proven   // in any order
	evidence   []Evidence // the evidence that the property needs, and how much of it the run had
	late       bool       // a violation is proven only at its end, not when it begins

	violated func(t tally, first *narrative.Violation) string // the reason for the verdict, a sentence
	holds    func(t tally) string                             // the same, if there is no violation
	note     string                                           // a clause to add to either, beginning with a semicolon

	contradiction string // the sweep and porcupine disagree, so there is no verdict
	undecided     string // why the checker could not decide; a proven violation stands nevertheless
	invalid       string // why the run proves nothing about the property, regardless of the evidence
	needsSlack    bool   // the judge compares times that may have been recorded late
}

// proven is a violation and what explains it, if the result has it.
type proven struct {
	narrative.Violation
	explain func(*narrative.Narrative)
}

// onLeases returns a violation about leases on one key, the earlier one first. ops prove it.
func onLeases(at, until time.Duration, ops []int, leases ...*history.Lease) narrative.Violation {
	v := narrative.Violation{Key: leases[0].Key, At: at, Until: until, Ops: ops}
	for _, l := range leases {
		v.Tokens, v.Clients = append(v.Tokens, l.Token), append(v.Clients, l.Process)
	}
	return v
}

// firstOf returns the sentence that so many of the judged cases did something, and where the first was.
func firstOf(nouns, did string) func(tally, *narrative.Violation) string {
	return func(t tally, first *narrative.Violation) string {
		return fmt.Sprintf("%s %s: the first at %s on %s", narrative.Share(t.found, t.checked, nouns), did, narrative.At(first.At), first.Key)
	}
}

// allOf returns a sentence with the number of judged cases.
func allOf(format, one, many string) func(tally) string {
	return func(t tally) string { return fmt.Sprintf(format, plural.Count(t.checked, one, many)) }
}

// noteOn returns a note on a number of cases, or "" if there are none.
func noteOn(n int, format, one, many string) string {
	if n == 0 {
		return ""
	}
	return "; " + fmt.Sprintf(format, plural.Count(n, one, many))
}

// tally holds a judge's counts.
type tally struct {
	checked int // leases, sections, writes or acquires that were judged
	found   int // violations
}

// conclude applies the one rule for verdicts, which docs/checking.md states.
func (r *run) conclude(p Property, j *judgement) Result {
	res := Result{Property: p, Checked: j.checked, Evidence: j.evidence}
	slices.SortStableFunc(j.violations, func(a, b proven) int { return cmp.Compare(a.At, b.At) })
	certain := slices.DeleteFunc(slices.Clone(j.violations), func(v proven) bool {
		if j.late {
			return v.Until >= r.died.from
		}
		return v.At >= r.died.from
	})
	t := j.tally
	t.found = max(t.found, len(certain))
	switch {
	case j.contradiction != "":
		res.Verdict, res.Why = Unknown, j.contradiction
	case len(certain) > 0:
		r.violate(&res, certain)
		res.Count = t.found
		res.Why = j.violated(t, &res.Violations[0]) + j.note
	case len(j.violations) > 0:
		res.Verdict = Invalid
		res.Why = fmt.Sprintf("%s, and what was found after that says nothing about the lock", r.died.how)
	case r.cutShort() != "":
		res.Verdict, res.Why = Unknown, r.cutShort()
	case r.died.how != "":
		res.Verdict, res.Why = Invalid, r.died.how
	case j.invalid != "":
		res.Verdict, res.Why = Invalid, j.invalid
	case j.undecided != "":
		res.Verdict, res.Why = Unknown, j.undecided
	case r.unproven(j) != lack{}:
		res.Verdict, res.lacks = Invalid, r.unproven(j)
		res.Why = wordingFor(&r.History.Header).of(res.lacks)
	case j.short() != nil:
		res.Verdict = Invalid
		res.lack(j.short())
	default:
		res.Verdict, res.Finding, res.Faults = Holds, j.holds(t)+j.note, r.tried()
		res.Why = res.Finding + found(j.evidence) + "; " + res.Faults
	}
	return res
}

// violate stores violations, which are in order of time, in a result and explains them.
func (r *run) violate(res *Result, found []proven) {
	res.Verdict, res.Key = Violated, found[0].Key
	for i := range found {
		p := &found[i]
		p.Property, p.Level = res.Name, res.Level
		if i < MaxViolations+MaxCaused {
			p.explain(narrative.New(r.Run, &p.Violation, res.scope()))
		}
		res.take(&p.Violation)
	}
}

// take adds the next violation, in order of time: the first MaxViolations in full, and the others as marks.
func (res *Result) take(v *narrative.Violation) {
	if len(res.Violations) < MaxViolations {
		res.Violations = append(res.Violations, *v)
		return
	}
	m := Mark{Key: v.Key, At: v.At, Until: v.Until, Clients: v.Clients}
	if len(v.Ops) > 0 {
		m.Op = v.Ops[0]
	}
	if len(v.Events) > 0 {
		m.Cause, m.Faults, m.TakenOver = v.Cause(), v.Faults, v.TakenOver()
	}
	res.Others = append(res.Others, m)
}

// unproven returns why the run cannot prove that a property holds, whatever evidence it has, or nothing.
func (r *run) unproven(j *judgement) lack {
	if share := r.StalledSince(0); share > MaxStalled {
		return lack{what: fmt.Sprintf("the harness's machine stood still for %.0f %% of the run: run it on a machine that is less busy", 100*share)}
	}
	for _, name := range r.RequestedFaults() {
		if why := r.ineffective(name); why != "" {
			return lack{what: why}
		}
	}
	if ttl := r.History.Header.TTL; j.needsSlack && ttl > 0 && r.Slack > ttl/4 {
		return lack{fmt.Sprintf("times are known to %s here, which is too coarse for a TTL of %s: it needs a TTL of %s", duration(r.Slack), duration(ttl), duration(4*r.Slack)), ", ", ExacterTimes}
	}
	return lack{}
}

// short returns the first evidence of which there is too little, or nil.
func (j *judgement) short() *Evidence {
	for i := range j.evidence {
		if e := &j.evidence[i]; e.Got < e.Need {
			return e
		}
	}
	return nil
}

// ineffective returns why no fault of a kind is known to have taken effect, or "" if one is.
func (r *run) ineffective(name string) string {
	var skipped, problem, evidence string
	installed, unhealed := 0, 0
	for _, f := range r.Faults {
		switch {
		case f.Name != name:
		case r.TookEffect(f):
			return ""
		case f.Installed && !f.Healed:
			installed++
			unhealed++
			problem = f.Problem
		case f.Installed:
			installed++
			evidence = f.Evidence
		case f.Skipped != "":
			skipped = f.Skipped
		}
	}
	switch {
	case installed > 0 && unhealed == installed && problem != "":
		return fmt.Sprintf("it is unknown whether %s took effect: it could not be healed: %s", name, problem)
	case installed > 0 && unhealed == installed:
		return fmt.Sprintf("it is unknown whether %s took effect: the run ended before it was healed", name)
	case installed > 0 && evidence != "":
		return fmt.Sprintf("%s was installed %s and never took effect: %s", name, plural.Count(installed, "time", "times"), evidence)
	case installed > 0:
		return fmt.Sprintf("%s was installed %s and is not known to have taken effect", name, plural.Count(installed, "time", "times"))
	case skipped != "":
		return fmt.Sprintf("%s was requested but always skipped: %s", name, skipped)
	}
	return name + " was requested but never installed"
}

// tried returns which faults the lock was exposed to, as a clause.
func (r *run) tried() string {
	if r.Imported() {
		return "whether anything failed meanwhile is not in the logs"
	}
	if len(r.Faults) == 0 {
		if len(r.RequestedFaults()) == 0 {
			return "no fault was requested"
		}
		return "no fault was installed"
	}
	effective := 0
	var kinds []string
	for _, f := range r.Faults {
		if !r.TookEffect(f) {
			continue
		}
		effective++
		if !slices.Contains(kinds, f.Name) {
			kinds = append(kinds, f.Name)
		}
	}
	if effective == 0 {
		return "no fault is known to have taken effect"
	}
	slices.Sort(kinds)
	return fmt.Sprintf("%s took effect (%s)", plural.Count(effective, "fault", "faults"), strings.Join(kinds, ", "))
}

// death is the death of a master that no fault caused, a step of the machine's clock, which makes
// masters expire keys too early or too late, or a command that simulated masters do not know.
type death struct {
	from time.Duration // the earliest time at which it can have happened; after the run if it did not happen
	how  string        // a clause that describes it; "" if it did not happen
}

// deathNotice is the longest time from a death to its detection, if the history does not say.
const deathNotice = 2 * time.Second

// foreignDeath returns the first such event of a history.
func foreignDeath(ops []history.Op) death {
	for i := range ops {
		op := &ops[i]
		if op.Foreign() {
			return death{from: facts.ChangedAt(op), how: fmt.Sprintf("somebody else's command %s %s on %s at %s: %s", cmp.Or(op.Value.Evidence, op.Value.Form),
				fmt.Sprintf(narrative.ChangeWords[op.Value.Command], cmp.Or(op.Value.RedisKey, op.Key)), op.Process, narrative.At(facts.ChangedAt(op)), op.Error)}
		}
		if op.F == history.FUnmodelled {
			return death{from: op.Time, how: "not modelled: " + op.Error}
		}
		if op.F == history.FBroke {
			return death{from: op.Time, how: fmt.Sprintf("%s broke the protocol at %s: %s (lockpick client check tells what a client must answer)", op.Process, narrative.At(op.Time), op.Error)}
		}
		if op.F != history.FDied && op.F != history.FStepped {
			continue
		}
		noticed := deathNotice
		if op.Value != nil && op.Value.Took > 0 {
			noticed = op.Value.Took
		}
		how := fmt.Sprintf("%s died or was changed at %s, which no fault of this run caused", op.Process, narrative.At(op.Time))
		if op.F == history.FStepped {
			how = fmt.Sprintf("somebody set the clock of the machine at %s", narrative.At(op.Time))
		}
		if op.Error != "" {
			how += " (" + op.Error + ")"
		}
		return death{from: op.Time - noticed, how: how}
	}
	return death{from: 1<<63 - 1}
}

// cutShort returns why a history is not the record of a whole run, or "".
func (r *run) cutShort() string {
	switch {
	case r.Interrupted.Why != "":
		return fmt.Sprintf("the run was interrupted at %s: %s", narrative.At(r.Interrupted.At), r.Interrupted.Why)
	case r.History.Header.Format >= 2 && !r.Complete:
		return "the history is cut short: its end mark is missing"
	}
	return ""
}

// duration formats a duration with a unit after a space: 100 ms, 2 s.
func duration(d time.Duration) string {
	switch {
	case d >= time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
	case d >= time.Millisecond:
		return strconv.FormatFloat(float64(d)/1e6, 'f', -1, 64) + " ms"
	}
	return d.String()
}
