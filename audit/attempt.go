package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"lockpick/campaign"
	"lockpick/internal/crew"
	"lockpick/internal/wholefile"
	"lockpick/search"
)

// try tries all schedules, in order.
func (a *audit) try(ctx context.Context) error {
	for i := range a.situations {
		if a.rows[i] == nil && !slices.ContainsFunc(a.series, func(s *series) bool { return s.of == &a.situations[i] }) {
			a.decided <- i // it is not applicable
		}
	}
	var all []*search.Series[trial]
	seriesOf := map[*search.Series[trial]]*series{}
	for _, s := range a.series {
		x := &search.Series[trial]{
			Name: s.of.title(s.at), Count: len(s.trials), Bound: cmp.Or(a.opt.bound, s.bound()),
			At: func(i int) string {
				return fmt.Sprintf("situation %s, schedule %d of seed %d", s.of.title(s.at), i+1, a.opt.Seed)
			},
			Try:  func(ctx context.Context, _ *campaign.Pool, i int) (*trial, error) { return a.run(ctx, s, i) },
			Done: func(i int, t *trial, after time.Duration) int { return a.done(s, i, t, after) },
			Over: func() { a.over(s) },
		}
		seriesOf[x] = s
		all = append(all, x)
	}
	e := search.Engine[trial]{
		Crew:   crew.Of(a.opt.Workers),
		Failed: func(x *search.Series[trial], i int, err error) *trial { return a.failed(seriesOf[x], i, err) },
		Live: func(now string, done, of int) {
			if a.opt.Live != nil {
				a.opt.Live(done, of, func() string { return a.progress(now, done, of) })
			}
		},
	}
	if !a.bench.Simulated() {
		e.Crew, e.Breadth = crew.OnMasters(a.opt.Workers), true
	}
	return e.Run(ctx, all...)
}

// done takes the result of a schedule.
func (a *audit) done(s *series, i int, t *trial, after time.Duration) (last int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.versions != nil {
		a.versions = t.versions
	}
	if t.leases > 0 {
		a.worked.Store(true)
	}
	t.after, t.number = after, i+1
	s.trials[i] = t
	s.decideWhereToStop()
	if t.breaks(s.of) {
		a.broken[s.of.ID] = true
	}
	return s.stop
}

// failed returns the result of a schedule that ended with an error of the harness. It keeps the stack of a panic.
func (a *audit) failed(s *series, i int, err error) *trial {
	if p := (*search.PanicError)(nil); errors.As(err, &p) {
		path := filepath.Join(a.bench.Folder.Dir, fmt.Sprintf("panic-%s-%d.txt", s.of.ID, i+1))
		err = errors.Join(fmt.Errorf("%w (where: %s)", err, path), wholefile.Write(path, 0o600, wholefile.Content(p.Stack)))
	}
	return &trial{scenario: s.scenario(i), failed: fmt.Sprintf("schedule %d of %s ended with an error: %v", i+1, cmp.Or(s.at.Name, "the situation"), err)}
}

// over notes that a series is complete; with the last one, the situation is decided.
func (a *audit) over(s *series) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s.over = true
	if !slices.ContainsFunc(a.series, func(x *series) bool { return x.of == s.of && !x.over }) {
		a.decided <- slices.IndexFunc(a.situations, func(x Situation) bool { return x.ID == s.of.ID })
	}
}

// progress describes the progress.
func (a *audit) progress(now string, done, of int) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := fmt.Sprintf("%d of %d schedules", done, of)
	if n := len(a.broken); n > 0 {
		text += fmt.Sprintf(", BROKEN in %d situations", n)
	}
	return text + "; now " + now
}
