package audit

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/internal/racetest"
	"lockpick/search"
)

// simulated runs a schedule that was meant for real masters on simulated ones.
func simulated(ctx context.Context, s scenario.Scenario) (*history.History, error) {
	s.Driver = scenario.Sim
	return campaign.Record(ctx, s, campaign.Simulation{}.Driver(), campaign.Options{})
}

// TestOneBadScheduleEndsNoAudit: errors, panics and schedules that never end are listed on the card, and the rest of
// it is as it would be without them.
func TestOneBadScheduleEndsNoAudit(t *testing.T) {
	racetest.Exclude(t, "it simulates schedules")
	var crowds atomic.Int32
	r, err := Run(t.Context(), Options{
		JobOptions: search.JobOptions{Driver: scenario.Process, Budget: search.Quick, Seed: 1, Workers: 2, Store: campaign.Store{Dir: t.TempDir()}}, Lock: "redlock", Only: []string{"quiet", "crowd"},
		bound: 1, // every schedule below goes on after it, and so it ends only the one that asks
		Run: func(ctx context.Context, s scenario.Scenario) (*history.History, error) {
			if s.Clients != 30 {
				return simulated(context.WithoutCancel(ctx), s)
			}
			switch crowds.Add(1) {
			case 1:
				return nil, errors.New("a master answered $60000000000")
			case 2:
				panic("makeslice: len out of range")
			}
			<-ctx.Done()
			return nil, ctx.Err()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	crowd := r.Rows[1]
	all := strings.Join(crowd.Errors, "\n")
	for _, want := range []string{"$60000000000", "panic: makeslice", "not over after"} {
		if !strings.Contains(all, want) {
			t.Errorf("no error says %q:\n%s", want, all)
		}
	}
	if r.Errors < 3 || !crowd.Complete || r.Interrupted {
		t.Errorf("%d errors, complete %v, interrupted %v", r.Errors, crowd.Complete, r.Interrupted)
	}
	if c := crowd.cell("L2"); c.Outcome != Inconclusive || !strings.Contains(c.Worst().Why, "error: ") {
		t.Errorf("L2 of the situation with errors is %s: %+v", c.Outcome, c.Worst())
	}
}

// TestAClientThatFailsInOneSituationEndsNoAudit: it did start when the audit began.
func TestAClientThatFailsInOneSituationEndsNoAudit(t *testing.T) {
	racetest.Exclude(t, "it simulates schedules")
	r, err := Run(t.Context(), Options{
		JobOptions: search.JobOptions{Driver: scenario.Process, Budget: search.Quick, Seed: 1, Most: 1, Store: campaign.Store{Dir: t.TempDir()}}, Lock: "redlock", Only: []string{"quiet", "crowd"},
		Run: func(ctx context.Context, s scenario.Scenario) (*history.History, error) {
			if s.Clients == 30 {
				return nil, &scenario.Problem{Field: "client", Says: "no connection"}
			}
			return simulated(context.WithoutCancel(ctx), s)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if errs := strings.Join(r.Rows[1].Errors, "\n"); !strings.Contains(errs, "client: no connection") || len(r.Rows[0].Errors) > 0 {
		t.Errorf("errors of the situation: %q, of the other: %q", errs, r.Rows[0].Errors)
	}
}

// TestErrorsOfAllSchedulesEndTheAudit: then there is nothing to say about the lock.
func TestErrorsOfAllSchedulesEndTheAudit(t *testing.T) {
	_, err := Run(t.Context(), Options{
		JobOptions: search.JobOptions{Driver: scenario.Process, Budget: search.Quick, Seed: 1, Store: campaign.Store{Dir: t.TempDir()}}, Lock: "redlock",
		Run: func(context.Context, scenario.Scenario) (*history.History, error) {
			return nil, errors.New("no master starts")
		},
	})
	if err == nil || !strings.Contains(err.Error(), "no master starts") {
		t.Errorf("got %v", err)
	}
}

// TestResume: an audit that was ended early leaves its card, and another one goes on with it.
func TestResume(t *testing.T) {
	racetest.Exclude(t, "it simulates schedules")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ran := map[string]int{} // by situation
	opt := Options{
		JobOptions: search.JobOptions{Driver: scenario.Process, Budget: search.Quick, Seed: 1, Workers: 1, Store: campaign.Store{Dir: t.TempDir()}}, Lock: "redlock", Only: []string{"quiet", "crowd", "many-keys"},
		Run: func(_ context.Context, s scenario.Scenario) (*history.History, error) {
			switch {
			case s.Clients == 30:
				ran["crowd"]++
			case s.Keys == 30:
				ran["many-keys"]++
				cancel()
			default:
				ran["quiet"]++
			}
			return simulated(context.Background(), s)
		},
	}
	first, err := Run(ctx, opt)
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]int{}
	for _, row := range first.Rows {
		if row.Complete {
			done[row.ID] = ran[row.ID]
		}
	}
	if !first.Interrupted || len(done) == 0 || len(done) == len(first.Rows) {
		t.Fatalf("interrupted %v, complete are %v", first.Interrupted, done)
	}
	opt.Resume = true
	second, err := Run(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if second.Folder != first.Folder || second.Interrupted {
		t.Errorf("it went on in %s (interrupted %v), want %s", second.Folder, second.Interrupted, first.Folder)
	}
	for id, n := range done {
		if ran[id] != n {
			t.Errorf("%s was complete after %d schedules, and tried %d times more", id, n, ran[id]-n)
		}
	}
	whole := opt
	whole.Resume, whole.Store = false, campaign.Store{Dir: t.TempDir()}
	third, err := Run(t.Context(), whole)
	if err != nil {
		t.Fatal(err)
	}
	if changes := second.Compare(third); len(changes) > 0 {
		t.Errorf("the card that was taken up differs from one of a whole audit: %+v", changes)
	}
}

// TestJudgedByABaseline: only what is new counts, and what is newly inconclusive only if that was asked for.
func TestJudgedByABaseline(t *testing.T) {
	before := card(Safe, Broken, Inconclusive)
	for _, c := range []struct {
		now            *Result
		want, strictly checker.Verdict
	}{
		{card(Safe, Broken, Inconclusive), checker.Holds, checker.Holds},
		{card(Inconclusive, Broken, Inconclusive), checker.Holds, checker.Invalid},
		{card(Inconclusive, Inconclusive, Inconclusive), checker.Holds, checker.Invalid},
		{card(Inconclusive, Broken, Broken), checker.Violated, checker.Violated},
		{&Result{JobResult: search.JobResult{Driver: "sim", Interrupted: true}, Lock: "mine", Rows: before.Rows}, checker.Unknown, checker.Unknown},
	} {
		for strict, want := range map[bool]checker.Verdict{false: c.want, true: c.strictly} {
			j, err := Judge(c.now, before, strict)
			if err != nil {
				t.Fatal(err)
			}
			if got := j.Verdict(); got != want {
				t.Errorf("%v, strict %v: %s, want %s", c.now.Count(), strict, got, want)
			}
		}
	}
	if _, err := Judge(&Result{JobResult: search.JobResult{Driver: "sim"}, Lock: "yours"}, before, false); err == nil {
		t.Error("a baseline of another lock is taken")
	}
}

// TestRetry: what was inconclusive is decided by other schedules, and nothing else changes.
func TestRetry(t *testing.T) {
	racetest.Exclude(t, "it simulates schedules")
	opt := Options{JobOptions: search.JobOptions{Driver: scenario.Sim, Budget: search.Quick, Seed: 1, Most: 3, Store: campaign.Store{Dir: t.TempDir()}}, Lock: "redlock", Only: []string{"quiet", "crowd"}}
	r, err := Run(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	want := r.Baseline()
	if got := outcome(r, "quiet", checker.MutualExclusion.Name); got != Safe {
		t.Fatalf("mutual exclusion is %s, want safe, so that it can be decided again", got)
	}
	for i := range r.Rows {
		if c := r.Rows[i].cell("L2"); r.Rows[i].ID == "quiet" {
			*c = Cell{Level: "L2", Outcome: Inconclusive, Findings: []PropertyResult{{Property: "mutual-exclusion", Outcome: Inconclusive}}}
		}
	}
	if err := r.Retry(t.Context(), opt, []string{"quiet"}); err != nil {
		t.Fatal(err)
	}
	if changes := r.Compare(want); len(changes) > 0 {
		t.Errorf("%+v", changes)
	}
	stored, err := ReadResult(filepath.Join(r.Folder, ResultFile))
	if err != nil || len(stored.Compare(r)) > 0 || len(stored.Rows) != len(r.Rows) {
		t.Errorf("what is stored is not the card with the retry: %v", err)
	}
}
