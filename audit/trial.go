package audit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/internal/wholefile"
	"lockpick/search"
)

// series holds the schedules of one case.
type series struct {
	of     *Situation
	at     *Case
	base   scenario.Scenario
	judges []string // of the situation's Judges, those that the lock can show
	real   bool     // on real masters
	trials []*trial
	left   int // schedules that are neither done nor skipped
	stop   int // schedules with a higher number do not count
	began  time.Time
}

// trial is the result of one schedule.
type trial struct {
	scenario scenario.Scenario
	results  []judgement
	leases   int
	notes    []string
	hints    []judge.Hint
	waiting  judge.Waiting
	after    time.Duration     // real time since the series began
	run      string            // folder of its run; empty: not stored
	kept     bool              // a finding refers to it
	versions map[string]string // of the run
	failed   string            // the error of the harness that ended it; empty: none
}

// judgement is the result of one schedule for one property.
type judgement struct {
	property string
	verdict  checker.Verdict
	why      string
	help     string
	evidence []checker.Evidence // its contribution to the evidence of its situation; none: it proves nothing
	first    *narrative.Violation
	faults   []string // kinds of faults in the reason
}

// bound returns the real time after which a schedule is ended. Simulated schedules take seconds; real ones take their
// time limit, what starts and heals the masters, and what judges them.
func (s *series) bound() time.Duration {
	if s.real {
		return 2*time.Duration(s.base.TimeLimit) + 2*time.Minute
	}
	return 5 * time.Minute
}

// scenario returns the scenario of schedule i.
func (s *series) scenario(i int) scenario.Scenario {
	if s.at.Explore && !s.real {
		return search.Schedule(s.base, i)
	}
	c := s.base
	c.Seed = s.base.Seed*1_000_000 + uint64(i)
	return c
}

// runAndKeep runs a schedule with Options.Run, and stores the run as campaign.Run does.
func (a *audit) runAndKeep(ctx context.Context, s scenario.Scenario) (run string, h *history.History, r *judge.Result, err error) {
	if h, err = a.opt.Run(ctx, s); err != nil {
		return "", nil, nil, err
	}
	dir, r, err := a.evidence.Add(h, "")
	if err != nil {
		return "", nil, nil, err
	}
	yaml, err := s.YAML()
	if err == nil {
		err = wholefile.Replace(filepath.Join(dir, judge.ScenarioFile), 0o644, wholefile.Content(yaml))
	}
	return filepath.Base(dir), h, r, err
}

// run runs one schedule and returns its result, or nil if ctx ended.
func (a *audit) run(ctx context.Context, s *series, i int) (*trial, error) {
	c := s.scenario(i)
	var h *history.History
	var r *judge.Result
	run := ""
	var err error
	switch {
	case s.real && a.opt.Run != nil:
		run, h, r, err = a.runAndKeep(ctx, c)
	case s.real:
		var dir string
		dir, h, r, err = campaign.Run(ctx, c, campaign.Options{Store: a.evidence, Trust: campaign.TrustAll})
		run = filepath.Base(dir)
	default:
		if h, err = campaign.Simulate(ctx, c, campaign.SimulateOptions{Lint: i == 0}); err == nil {
			r, err = judge.History(h)
		}
	}
	if err != nil {
		return nil, err
	}
	t := &trial{scenario: c, leases: r.Counts.Granted, notes: r.Notes, hints: r.Hints, waiting: r.Waiting, run: run, versions: r.Versions}
	if ctx.Err() != nil && r.CutShort != "" && r.Verdict() != checker.Violated {
		return nil, nil
	}
	if s.real && a.opt.Report != nil {
		if err := a.opt.Report(filepath.Join(a.evidence.Dir, run), h, r); err != nil {
			return nil, err
		}
	}
	kinds := map[int]string{}
	for _, f := range history.Faults(h.Ops) {
		kinds[f.ID] = f.Name
	}
	add := func(v *checker.Result) {
		if checker.Named(v.Name).NotOfLock {
			return
		}
		j := judgement{property: v.Name, verdict: v.Verdict, why: v.Why, evidence: search.EvidenceOf(v)}
		if e := v.Short; e != nil {
			j.help = e.Help
		}
		if v.Verdict == checker.Violated && len(v.Violations) > 0 {
			first := v.Violations[0]
			if i := slices.IndexFunc(v.Violations, func(x narrative.Violation) bool { return !stalled(&x) }); i >= 0 {
				first = v.Violations[i]
			} else { // not the lock's fault
				j.verdict, j.why, j.help = checker.Unknown, "violated only while the machine of the harness stood still: "+first.Summary, "run it on a machine with less load"
			}
			j.first = &first
			for _, id := range first.Faults {
				j.faults = append(j.faults, kinds[id])
			}
			j.faults = slices.Compact(slices.Sorted(slices.Values(j.faults)))
		}
		t.results = append(t.results, j)
	}
	for i := range r.Verdicts {
		add(&r.Verdicts[i])
	}
	for _, name := range s.of.extra() {
		v := checker.Named(name).JudgeClaim(h)
		add(&v)
	}
	return t, nil
}

// stalled reports whether the machine of the harness, which runs all clients too, stalled during a
// violation. Simulated machines never stall.
func stalled(v *narrative.Violation) bool {
	return slices.ContainsFunc(v.Events, func(e narrative.Event) bool { return e.Kind == narrative.EventStalled })
}

// result returns the schedule's result for a property; nil: it was not judged.
func (t *trial) result(property string) *judgement {
	i := slices.IndexFunc(t.results, func(j judgement) bool { return j.property == property })
	if i < 0 {
		return nil
	}
	return &t.results[i]
}

// breaks reports whether the schedule violates a property that is not inherent in the situation.
func (t *trial) breaks(s *Situation) bool {
	return slices.ContainsFunc(t.results, func(j judgement) bool { return j.verdict == checker.Violated && !s.isInherent(j.property) })
}

// decideWhereToStop checks whether the schedules tried so far decide everything that the situation
// judges, and sets where to stop. On simulated masters a violation decides a property; on real ones
// sufficient evidence that it holds does too. The leading property of a level decides for the
// level.
func (s *series) decideWhereToStop() {
	last := 0
	for _, name := range s.judges {
		at := -1
		proofs := map[string]*search.Proof{}
		for i, t := range s.trials {
			if t == nil {
				continue
			}
			for _, j := range t.results {
				if j.property != name && checker.Named(j.property).Level != name {
					continue
				}
				p := proofs[j.property]
				if p == nil {
					p = &search.Proof{}
					proofs[j.property] = p
				}
				p.Add(j.evidence)
				if j.verdict == checker.Violated || s.real && p.Missing() == nil && (j.property == name || checker.Named(j.property).Leads) {
					at = i
				}
			}
			if at >= 0 {
				break
			}
		}
		if at < 0 {
			return
		}
		last = max(last, at)
	}
	s.stop = min(s.stop, last)
}

// keep stores the schedule as a run with its report, for inspection and replay.
func (a *audit) keep(ctx context.Context, t *trial) error {
	if t.run == "" {
		dir, h, r, err := campaign.Run(context.WithoutCancel(ctx), t.scenario, campaign.Options{Store: a.evidence, Trust: campaign.TrustAll})
		if err != nil {
			return err
		}
		t.run = filepath.Base(dir)
		if a.opt.Report != nil {
			if err := a.opt.Report(dir, h, r); err != nil {
				return err
			}
		}
	}
	t.kept = true
	return nil
}

// tidy removes the runs on real masters that no finding refers to.
func (a *audit) tidy() error {
	var errs []error
	for _, s := range a.series {
		for _, t := range s.trials {
			if t != nil && t.run != "" && !t.kept {
				errs = append(errs, os.RemoveAll(filepath.Join(a.evidence.Dir, t.run)))
			}
		}
	}
	return errors.Join(append(errs, a.evidence.RemoveDanglingLatest())...)
}
