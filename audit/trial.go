package audit

import (
	"context"
	"errors"
	"slices"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/history"
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
	over   bool // all schedules are done or no longer necessary
	stop   int  // schedules with a higher number are not necessary
}

// trial is the result of one schedule.
type trial struct {
	number   int // of the schedule in its series, from 1
	scenario scenario.Scenario
	results  []search.Judgement
	leases   int
	fixed    bool // its leases show that the lock has no extend
	notes    []string
	hints    []judge.Hint
	waiting  judge.Waiting
	after    time.Duration     // real time since the series began
	run      string            // folder of its run; empty: not stored
	kept     bool              // a finding refers to it
	versions map[string]string // of the run
	tooFew   string            // why it is not known how many masters the lock needs
	untested map[string]string // why what rests on votes is not judged, by property
	failed   string            // the error of the harness that ended it; empty: none
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

// run runs one schedule and returns its result, or nil if ctx ended.
func (a *audit) run(ctx context.Context, s *series, i int) (*trial, error) {
	x, err := a.bench.Try(ctx, s.scenario(i), i == 0)
	if p := (*scenario.Problem)(nil); errors.As(err, &p) && (p.Field == "client" || p.Field == "lock" && a.worked.Load()) {
		return nil, errors.New(err.Error()) // it did start, or work, before: not a mistake of the user, which would end the audit
	}
	if x == nil || err != nil {
		return nil, err
	}
	r := x.Result
	t := &trial{scenario: x.Scenario, leases: r.Counts.Granted, fixed: checker.CannotExtend(history.Pack(x.History)), notes: r.Notes, hints: r.Hints, waiting: r.Waiting, run: x.Run, versions: r.Versions, tooFew: r.TooFew}
	faults := history.Faults(x.History.Ops)
	add := func(v *checker.Result) {
		if checker.Named(v.Name).NotOfLock {
			return
		}
		reworded := v.Reword(a.opt.Wording)
		j := search.JudgementOf(&reworded, faults)
		if j.First != nil {
			explain(&j, v, x.History, faults)
		}
		t.results = append(t.results, j)
	}
	for i := range r.Verdicts {
		add(&r.Verdicts[i])
	}
	for name, why := range r.Untested {
		if r.Unseen != "" && checker.Named(name).Votes {
			if t.untested == nil {
				t.untested = map[string]string{}
			}
			t.untested[name] = why
		}
	}
	for _, name := range s.of.extra() {
		v := checker.Named(name).JudgeClaim(x.History)
		add(&v)
	}
	return t, nil
}

// explain chooses the violation that a finding is about: one for which the lock is to blame before one that a takeover accounts
// for, and none that happened while the machine of the harness stood still.
func explain(j *search.Judgement, v *checker.Result, h *history.History, faults []*history.Fault) {
	var excused *narrative.Violation
	without := ""
	for i := range v.Violations {
		x := &v.Violations[i]
		if stalled(x) {
			continue
		}
		a, ok := judge.Excused(h, v.Level, x)
		if !ok || !h.Header.Asynchronous { // elsewhere the situation says what is inherent in it
			j.Explain(x, faults)
			return
		}
		if excused == nil {
			excused, without = x, a.Name
		}
	}
	if excused != nil {
		j.Explain(excused, faults)
		j.Without = without
		return
	}
	j.Verdict, j.Why, j.Help = checker.Unknown, "violated only while the machine of the harness stood still: "+j.First.Summary, "run it on a machine with less load"
}

// stalled reports whether the machine of the harness, which runs all clients too, stalled during a
// violation. Simulated machines never stall.
func stalled(v *narrative.Violation) bool {
	return slices.ContainsFunc(v.Events, func(e narrative.Event) bool { return e.Kind == narrative.EventStalled })
}

// result returns the schedule's result for a property; nil: it was not judged.
func (t *trial) result(property string) *search.Judgement {
	i := slices.IndexFunc(t.results, func(j search.Judgement) bool { return j.Property == property })
	if i < 0 {
		return nil
	}
	return &t.results[i]
}

// breaks reports whether the schedule violates a property that is not inherent in the situation, and no broken assumption accounts
// for that.
func (t *trial) breaks(s *Situation) bool {
	return slices.ContainsFunc(t.results, func(j search.Judgement) bool {
		return j.Verdict == checker.Violated && j.Without == "" && !s.isInherent(j.Property)
	})
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
				if j.Property != name && checker.Named(j.Property).Level != name {
					continue
				}
				p := proofs[j.Property]
				if p == nil {
					p = &search.Proof{}
					proofs[j.Property] = p
				}
				p.Add(j.Evidence)
				if j.Verdict == checker.Violated && j.Without == "" || s.real && p.Missing() == nil && (j.Property == name || checker.Named(j.Property).Leads) {
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
func (a *audit) keep(ctx context.Context, t *trial) (err error) {
	if t.run == "" {
		t.run, err = a.bench.Keep(context.WithoutCancel(ctx), t.scenario)
	}
	t.kept = true
	return err
}

// tidy removes the runs on real masters that no finding refers to.
func (a *audit) tidy() error {
	var unused []string
	for _, s := range a.series {
		for _, t := range s.trials {
			if t != nil && t.run != "" && !t.kept {
				unused = append(unused, t.run)
			}
		}
	}
	return errors.Join(a.bench.Remove(unused), a.bench.Folder.RemoveDanglingLatest())
}
