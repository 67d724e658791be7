package audit

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/internal/plural"
	"lockpick/internal/wholefile"
	"lockpick/search"
)

// conclude makes the row of a situation from all its schedules, and stores runs as evidence.
func (a *audit) conclude(ctx context.Context, s *Situation) (Row, error) {
	row := Row{ID: s.ID, Group: s.Group, Name: s.Name, Says: s.Says, Breaks: s.Assumption(), Without: s.Breaks, Inherent: s.Why, Help: s.Help, Skipped: a.skipped[s.ID]}
	for _, l := range Levels() {
		row.Cells = append(row.Cells, Cell{Level: l, Outcome: NotApplicable})
	}
	if row.Skipped != "" {
		row.Complete = true
		return row, nil
	}
	mine := a.seriesOf(s)
	complete := true
	for _, x := range mine {
		for _, t := range x.trials {
			if t == nil {
				complete = false
				continue
			}
			if t.failed != "" {
				row.Errors = append(row.Errors, t.failed)
				continue
			}
			row.Schedules++
			row.Leases += t.leases
			row.Waiting = row.Waiting.Worst(t.waiting)
			row.Hints = judge.AddHints(row.Hints, t.hints)
			row.TooFew = cmp.Or(row.TooFew, t.tooFew)
			if t.untested != nil {
				row.Untested = t.untested
			}
			for _, n := range t.notes {
				if a.opt.Driver != scenario.Sim && !slices.Contains(row.Notes, n) && len(row.Notes) < 5 {
					row.Notes = append(row.Notes, n)
				}
			}
		}
	}
	row.Complete = complete
	if complete && slices.Contains(s.Needs, NeedsExtend) && fixed(mine) {
		row.Skipped = needs[NeedsExtend]
		return row, nil
	}
	for _, property := range append(properties(), s.extra()...) {
		f, evidence := find(s, mine, property, complete)
		if f == nil || f.Outcome != Broken && a.unread(checker.Named(property).Level, mine) {
			continue
		}
		if evidence != nil {
			if err := a.keepFinding(ctx, s, f, evidence); err != nil {
				return row, err
			}
		}
		row.cell(checker.Named(property).Level).put(*f)
	}
	for _, name := range s.Judges { // levels without any finding
		level := cmp.Or(checker.Named(name).Level, name)
		if c := row.cell(level); len(c.Findings) == 0 {
			if f := a.nothing(level, &row, mine); f != nil {
				c.put(*f)
			}
		}
	}
	return row, nil
}

// seriesOf returns copies of a situation's series, with the schedules that count.
func (a *audit) seriesOf(s *Situation) (mine []*series) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, x := range a.series {
		if x.of == s {
			c := *x
			c.trials = search.Counted(x.trials, x.stop, x.real)
			mine = append(mine, &c)
		}
	}
	return mine
}

// nothing returns the finding for a level about which no schedule says anything; nil: the lock lacks the
// feature that the level is about.
func (a *audit) nothing(level string, row *Row, all []*series) *PropertyResult {
	f := &PropertyResult{Property: checker.PropertiesOf([]string{level})[0].Name, Schedules: row.Schedules, Outcome: Inconclusive}
	switch {
	case a.unread(level, all):
		return nil
	case row.Schedules == 0 && len(row.Errors) > 0:
		f.Why, f.Help = "error: "+row.Errors[0], "run "+judge.Program+" audit --only "+row.ID
	case row.Schedules == 0:
		f.Why, f.Help = "interrupted before it was tried", judge.Program+" audit --resume goes on"
	case !a.subject.judges(level), featureOf(level) == checker.Extensions && (!a.subject.Extends || fixed(all)), featureOf(level) == checker.FencingTokens && !a.subject.Fencing:
		return nil
	default:
		f.Why = fmt.Sprintf("none of %s exercised it", plural.Count(row.Schedules, "schedule", "schedules"))
		if why := whyInvalid(all, level); why != "" {
			f.Why = provesNothing(row.Schedules, why)
		}
		f.Help = "try --budget full"
	}
	return f
}

// unread reports whether a level is about what masters store, and the votes of none of the schedules describe the lock. What
// is judged of the level nevertheless does not make it safe.
func (a *audit) unread(level string, all []*series) bool {
	if a.subject.unread(level) {
		return true
	}
	leading, tried := leadingVotes(level), false
	for _, x := range all {
		for _, t := range x.trials {
			if t == nil || t.failed != "" {
				continue
			}
			if t.untested[leading] == "" {
				return false
			}
			tried = true
		}
	}
	return tried
}

// leadingVotes returns the name of the property that stands for a level, if it rests on votes; otherwise "".
func leadingVotes(level string) string {
	for _, p := range checker.PropertiesOf([]string{level}) {
		if p.Leads && p.Votes {
			return p.Name
		}
	}
	return ""
}

// fixed reports whether the schedules show that the lock has no extend: no lease that they granted could be extended.
func fixed(all []*series) bool {
	granted := false
	for _, x := range all {
		for _, t := range x.trials {
			switch {
			case t == nil || t.leases == 0:
			case !t.fixed:
				return false
			default:
				granted = true
			}
		}
	}
	return granted
}

// whyInvalid returns why the first schedule that proves nothing about a level does not; empty: none says.
func whyInvalid(all []*series, level string) string {
	for _, x := range all {
		for _, t := range x.trials {
			if t == nil {
				continue
			}
			for _, j := range t.results {
				if checker.Named(j.Property).Level == level && j.Verdict == checker.Invalid {
					return j.Why
				}
			}
		}
	}
	return ""
}

func provesNothing(schedules int, why string) string {
	return fmt.Sprintf("none of %s proves anything: %s", plural.Count(schedules, "schedule", "schedules"), why)
}

// find decides on one property from the schedules of a situation. It also returns the evidence: the
// first schedule that violates the property, of those for which the lock is to blame if there are any. The finding is nil if there is nothing to report.
func find(s *Situation, all []*series, property string, complete bool) (*PropertyResult, *trial) {
	f := &PropertyResult{Property: property}
	var proof search.Proof
	var judged *series
	var evidence *trial
	var undecided *search.Judgement
	for _, x := range all {
		for _, t := range x.trials {
			if t == nil || t.failed != "" {
				continue
			}
			j := t.result(property)
			if j == nil {
				continue
			}
			f.Schedules++
			proof.Add(j.Evidence)
			switch {
			case j.Verdict == checker.Violated:
				f.Violated++
				if evidence == nil || j.Without == "" && evidence.result(property).Without != "" {
					judged, evidence = x, t
					f.Number = t.number
				}
			case len(j.Evidence) == 0 && undecided == nil || undecided != nil && undecided.Verdict == checker.Invalid && j.Verdict == checker.Unknown:
				undecided = j
			}
		}
	}
	f.Proven = proof.Schedules + f.Violated
	inherent := s.isInherent(property)
	named := slices.Contains(s.Judges, property)
	switch {
	case evidence != nil:
		j := evidence.result(property)
		f.Outcome, f.Why, f.Reason, f.Faults = Broken, j.Why, nil, j.Faults
		switch {
		case inherent:
			f.Outcome = Inherent
		case j.Without != "":
			f.Outcome, f.Without = Inherent, j.Without
		}
		f.Case, f.Seed, f.After = judged.at.Name, evidence.scenario.Seed, evidence.after
		if j.First != nil {
			f.Why, f.Reason, f.At = j.First.Summary, j.First.Reason, j.First.At
		}
		return f, evidence
	case f.Schedules == 0:
		return nil, nil
	case undecided != nil && undecided.Verdict == checker.Unknown && proof.Schedules == 0:
		f.Outcome, f.Why, f.Help = Inconclusive, undecided.Why, cmp.Or(undecided.Help, "try --budget full")
	case proof.Missing() != nil && inherent:
		return nil, nil
	case proof.Missing() != nil && (named || slices.Contains(s.Judges, checker.Named(property).Level) && checker.Named(property).Leads):
		f.Outcome = Inconclusive
		f.Why, f.Help = fmt.Sprintf("%s together: %s", plural.Count(f.Schedules, "schedule", "schedules"), proof.Missing().Needs()), "try --budget full"
		if proof.Schedules == 0 && undecided != nil {
			f.Why = provesNothing(f.Schedules, undecided.Why)
		}
		if !complete {
			f.Why, f.Help = "interrupted: "+f.Why, "run the audit to its end"
		}
	case proof.Missing() != nil:
		return nil, nil
	case inherent:
		f.Outcome = NotApplicable
		if named || slices.Contains(s.Judges, checker.Named(property).Level) {
			f.Outcome = Inherent
		}
		f.Why = fmt.Sprintf("no lock can promise it here; %s did not show it", plural.Count(f.Schedules, "schedule", "schedules"))
	case !complete:
		f.Outcome, f.Why, f.Help = Inconclusive, fmt.Sprintf("interrupted: not violated in %s so far", plural.Count(f.Proven, "schedule", "schedules")), "run the audit to its end"
	default:
		f.Outcome, f.Evidence = Safe, proof.Evidence
		f.Why = fmt.Sprintf("not violated in %s: %s", plural.Count(f.Proven, "schedule", "schedules"), proof.Summary())
	}
	return f, nil
}

// mostRuns limits the runs that a simulated audit stores for the same broken property.
const mostRuns = 3

// keepFinding stores the evidence of a violation, and sets the command that replays it. It stores a
// run with its report. In the simulator it stores only the scenario, which repeats the run exactly,
// if the property is inherent or already has mostRuns runs.
func (a *audit) keepFinding(ctx context.Context, s *Situation, f *PropertyResult, t *trial) error {
	only := ""
	if !checker.Named(f.Property).OnlyClaims {
		only = " --property " + f.Property
	}
	if f.Outcome == Broken && (a.runs[f.Property] < mostRuns || t.run != "") || a.opt.Driver != scenario.Sim {
		a.runs[f.Property]++
		if err := a.keep(ctx, t); err != nil {
			return err
		}
		f.Run = t.run
		dir := filepath.Join(a.bench.Folder.Dir, f.Run)
		f.Command = fmt.Sprintf("%s replay %s --driver %s%s", judge.Program, dir, a.opt.Driver, only)
		if a.opt.Driver == scenario.Sim { // repeats the same history
			f.Command = judge.Program + " run " + filepath.Join(dir, judge.ScenarioFile) + only
		}
		return nil
	}
	path := filepath.Join(a.bench.Folder.Dir, s.ID+"-"+f.Property+".yaml")
	inherent := t.scenario
	inherent.Properties = []string{f.Property}
	yaml, err := inherent.YAML()
	if err == nil {
		err = wholefile.Replace(path, 0o644, wholefile.Content(yaml))
	}
	if err != nil {
		return &judge.HarnessError{Err: fmt.Errorf("audit: %w", err)}
	}
	f.Command = judge.Program + " run " + path
	return nil
}
