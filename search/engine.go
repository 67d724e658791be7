package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/internal/crew"
)

// Live is called with the progress of many schedules: how many are done or no longer necessary, and of how many. text
// says it in words.
type Live func(done, of int, text func() string)

// Engine runs the schedules of several series. What a schedule is and what its result T says is the series' affair.
type Engine[T any] struct {
	Crew    crew.Crew
	Breadth bool          // the first schedule of each series comes first, and then the second: most series need no more. Of each, what may take longest comes first
	Limit   time.Duration // of real time, after which no schedule begins; 0: none
	// Failed returns the result that counts for a schedule that ended with an error of the harness; the others go on,
	// unless the first maxErrors all fail. Without it the first error ends them all.
	Failed func(s *Series[T], i int, err error) *T
	// Live is called after each schedule, with what the last one was of; it may be nil. Calls do not overlap each
	// other and calls of Series.Done.
	Live func(now string, done, of int)

	began    time.Time
	mu       sync.Mutex
	pools    []*campaign.Pool // that no schedule uses now
	done, of int
	errors   int // schedules that ended with an error; -1: one ended well
	err      error
}

// Series is a list of schedules that decide something together.
type Series[T any] struct {
	Name  string
	At    func(i int) string // names schedule i in errors
	Count int                // of schedules; 0: as many as Engine.Limit allows
	Bound time.Duration      // of real time, after which a schedule is ended with an error; 0: none
	// Try runs schedule i, from 0. It may use the memory of the pool. Its result is nil if the schedule does not
	// count, because ctx ended.
	Try func(ctx context.Context, pool *campaign.Pool, i int) (*T, error)
	// Done takes the result of schedule i, after so much real time since the first one began. It returns the number of
	// the last schedule that is necessary, or math.MaxInt while that is not known.
	Done func(i int, t *T, after time.Duration) (last int)
	// Over is called when all schedules are done or no longer necessary. It may be nil.
	Over func()

	began time.Time
	left  int // schedules that are neither done nor skipped
	last  int
}

// maxErrors is how many schedules may end with an error of the harness while none ends well: then the engine ends,
// since all others would end like them.
const maxErrors = 8

// PanicError is the error of a schedule that panicked.
type PanicError struct {
	Value any
	Stack []byte
}

// Error names the value alone.
func (p *PanicError) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// task is one schedule of a series.
type task[T any] struct {
	s *Series[T]
	i int
}

// Run runs the schedules, and returns when all are done or no longer necessary. When ctx ends, no new schedule begins, and
// the context of those that run ends, too. The error is that of the first schedule that failed; it names the series and the schedule.
func (e *Engine[T]) Run(ctx context.Context, all ...*Series[T]) error {
	e.began = time.Now()
	for _, s := range all {
		s.left, s.last = s.Count, math.MaxInt
		e.of += s.Count
	}
	crew.Each(e.Crew, e.tasks(ctx, all), func(t task[T]) { e.attempt(ctx, t.s, t.i) })
	for _, pool := range e.pools {
		pool.Close()
	}
	return e.err
}

// tasks yields the schedules in their order. What has become unnecessary is left out.
func (e *Engine[T]) tasks(ctx context.Context, all []*Series[T]) iter.Seq[task[T]] {
	return func(yield func(task[T]) bool) {
		if e.Breadth {
			longest := slices.SortedStableFunc(slices.Values(all), func(a, b *Series[T]) int { return cmp.Compare(b.Bound, a.Bound) })
			for i, more := 0, true; more; i++ {
				more = false
				for _, s := range longest {
					if i < s.Count {
						more = true
						yield(task[T]{s, i})
					}
				}
			}
			return
		}
		for _, s := range all {
			for i := 0; i < s.Count || s.Count == 0 && e.Limit > 0; i++ {
				if e.unnecessary(ctx, s, i) {
					e.skip(s, max(0, s.Count-i))
					break
				}
				yield(task[T]{s, i})
			}
		}
	}
}

// unnecessary reports whether a schedule must not begin.
func (e *Engine[T]) unnecessary(ctx context.Context, s *Series[T], i int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return i > s.last || ctx.Err() != nil || e.err != nil || e.Limit > 0 && time.Since(e.began) >= e.Limit
}

// skip counts schedules that are done or unnecessary.
func (e *Engine[T]) skip(s *Series[T], n int) {
	e.mu.Lock()
	e.done += n
	s.left -= n
	over := s.left == 0 && s.Over != nil
	if e.Live != nil {
		e.Live(s.Name, e.done, e.of)
	}
	e.mu.Unlock()
	if over {
		s.Over()
	}
}

// attempt tries one schedule, unless earlier ones have made it unnecessary.
func (e *Engine[T]) attempt(ctx context.Context, s *Series[T], i int) {
	defer e.skip(s, 1)
	if e.unnecessary(ctx, s, i) {
		return
	}
	pool := e.begin(s)
	t, err := bounded(ctx, s, i, pool)
	e.mu.Lock()
	defer e.mu.Unlock()
	var panicked *PanicError
	if !errors.As(err, &panicked) { // otherwise its run may still use the pool
		e.pools = append(e.pools, pool)
	}
	switch {
	case err != nil && e.Failed == nil:
		if panicked != nil {
			err = fmt.Errorf("%w\n%s", err, panicked.Stack)
		}
		e.failed(fmt.Errorf("%s: %w", s.At(i), err))
		return
	case err != nil:
		e.failed(fmt.Errorf("%s: %w", s.At(i), err))
		t = e.Failed(s, i, err)
	case t == nil:
		return
	default:
		e.errors = -1
	}
	s.last = min(s.last, s.Done(i, t, time.Since(s.began)))
}

// failed counts a schedule that ended with an error. Mistakes of the user end all schedules at once.
func (e *Engine[T]) failed(err error) {
	var problem *scenario.Problem
	if e.errors >= 0 {
		e.errors++
	}
	if e.err == nil && (e.Failed == nil || errors.As(err, &problem) || e.errors == maxErrors) {
		e.err = err
	}
}

// begin notes when a series began, and returns memory for a schedule.
func (e *Engine[T]) begin(s *Series[T]) *campaign.Pool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.began.IsZero() {
		s.began = time.Now()
	}
	if len(e.pools) == 0 {
		return campaign.NewPool()
	}
	last := len(e.pools) - 1
	pool := e.pools[last]
	e.pools = e.pools[:last]
	return pool
}

// bounded runs one schedule in bounded real time, and turns a panic into an error.
func bounded[T any](ctx context.Context, s *Series[T], i int, pool *campaign.Pool) (t *T, err error) {
	defer func() {
		if value := recover(); value != nil {
			t, err = nil, &PanicError{value, debug.Stack()}
		}
	}()
	within := ctx
	if s.Bound > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, s.Bound)
		defer cancel()
	}
	t, err = s.Try(within, pool, i)
	stopped := err == nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	if t == nil && stopped && within.Err() != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("it was not over after %v of real time", s.Bound)
	}
	if ctx.Err() != nil && err != nil {
		return nil, nil // a consequence of the interruption
	}
	return t, err
}
