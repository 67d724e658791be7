package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/internal/crew"
	"lockpick/internal/wholefile"
)

// try tries all schedules, in order.
func (a *audit) try(ctx context.Context) {
	type task struct {
		s *series
		i int
	}
	var all []task
	for _, s := range a.series {
		for i := range s.trials {
			all = append(all, task{s, i})
		}
	}
	if a.opt.Driver != scenario.Sim { // run the first schedule of every case first, since most cases need no other
		slices.SortStableFunc(all, func(x, y task) int { return x.i - y.i })
	}
	for i := range a.situations {
		if a.rows[i] == nil && !slices.ContainsFunc(a.series, func(s *series) bool { return s.of == &a.situations[i] }) {
			a.decided <- i // it is not applicable
		}
	}
	workers := crew.OnMasters(a.opt.Workers)
	if a.opt.Driver == scenario.Sim {
		workers = crew.Of(a.opt.Workers)
	}
	crew.Each(workers, all, func(t task) { a.attempt(ctx, t.s, t.i) })
}

// attempt tries one schedule, unless earlier ones have decided the series.
func (a *audit) attempt(ctx context.Context, s *series, i int) {
	a.mu.Lock()
	if s.began.IsZero() {
		s.began = time.Now()
	}
	skip := i > s.stop || ctx.Err() != nil || a.err != nil
	a.status.Now = s.of.title(s.at)
	a.mu.Unlock()
	var t *trial
	var err error
	if !skip {
		t, err = a.bounded(ctx, s, i)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err != nil:
		a.failed(fmt.Errorf("situation %s, schedule %d of seed %d: %w", s.of.title(s.at), i+1, a.opt.Seed, err))
		t = &trial{scenario: s.scenario(i), failed: fmt.Sprintf("schedule %d of %s ended with an error: %v", i+1, cmp.Or(s.at.Name, "the situation"), err)}
	case t != nil:
		a.errors = -1
		a.versions = t.versions
	}
	if t != nil {
		t.after = time.Since(s.began)
		s.trials[i] = t
		s.decideWhereToStop()
		if t.breaks(s.of) {
			if a.broken == nil {
				a.broken = map[string]bool{}
			}
			a.broken[s.of.ID] = true
		}
	}
	a.status.Done++
	a.status.Broken = len(a.broken)
	if a.opt.Live != nil {
		a.opt.Live(a.status)
	}
	if s.left--; s.left == 0 && a.untried(s.of) == 0 {
		a.decided <- slices.IndexFunc(a.situations, func(x Situation) bool { return x.ID == s.of.ID })
	}
}

// maxErrors is how many schedules may end with an error of the harness while none ends well: then the audit ends,
// since all others would end like them.
const maxErrors = 8

// failed counts a schedule that ended with an error of the harness. Mistakes of the user end the audit at once.
func (a *audit) failed(err error) {
	var problem *scenario.Problem
	if a.errors >= 0 {
		a.errors++
	}
	if a.err == nil && (errors.As(err, &problem) || a.errors == maxErrors) {
		a.err = err
	}
}

// untried returns the number of schedules of a situation that are neither done nor skipped.
func (a *audit) untried(of *Situation) int {
	n := 0
	for _, s := range a.series {
		if s.of == of {
			n += s.left
		}
	}
	return n
}

// bounded runs one schedule in bounded real time, and turns a panic into an error.
func (a *audit) bounded(ctx context.Context, s *series, i int) (t *trial, err error) {
	defer func() {
		if value := recover(); value != nil {
			path := filepath.Join(a.evidence.Dir, fmt.Sprintf("panic-%s-%d.txt", s.of.ID, i+1))
			t, err = nil, fmt.Errorf("panic: %v (where: %s)", value, path)
			if kept := wholefile.Write(path, 0o600, wholefile.Content(debug.Stack())); kept != nil {
				err = errors.Join(err, kept)
			}
		}
	}()
	bound := cmp.Or(a.opt.bound, s.bound())
	within, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	t, err = a.run(within, s, i)
	stopped := err == nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	if t == nil && stopped && within.Err() != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("it was not over after %v of real time", bound)
	}
	if ctx.Err() != nil && err != nil {
		return nil, nil // a consequence of the interruption
	}
	return t, err
}
