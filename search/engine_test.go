package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/internal/crew"
)

// TestTheSameSchedulesCountForAnyWorkers: each series counts all schedules up to the first that settles it, however many
// run at a time, however long they take and in which order they come. Each series is over once, and all schedules are
// done or skipped in the end.
func TestTheSameSchedulesCountForAnyWorkers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOfN(rapid.IntRange(1, 30), 1, 5).Draw(t, "schedules")
		workers, breadth := rapid.IntRange(1, 8).Draw(t, "workers"), rapid.Bool().Draw(t, "breadth first")
		type found struct{ settles bool }
		results := make([][]*found, len(lengths))
		var mu sync.Mutex
		over := make([]int, len(lengths))
		var all []*Series[found]
		var settle []int
		of := 0
		for n, length := range lengths {
			settles := rapid.SliceOfN(rapid.IntRange(0, 9), length, length).Draw(t, "outcomes")
			takes := rapid.SliceOfN(rapid.IntRange(0, 3), length, length).Draw(t, "durations")
			first := slices.IndexFunc(settles, func(x int) bool { return x == 0 })
			if first < 0 {
				first = length - 1
			}
			settle = append(settle, first)
			of += length
			results[n] = make([]*found, length)
			all = append(all, &Series[found]{
				Name: fmt.Sprint(n), Count: length, At: func(i int) string { return fmt.Sprint(n, i) },
				Try: func(_ context.Context, _ *campaign.Pool, i int) (*found, error) {
					time.Sleep(time.Duration(takes[i]) * time.Millisecond)
					return &found{settles[i] == 0}, nil
				},
				Done: func(i int, x *found, _ time.Duration) int {
					results[n][i] = x
					if at := slices.IndexFunc(results[n], func(x *found) bool { return x != nil && x.settles }); at >= 0 {
						return at
					}
					return math.MaxInt
				},
				Over: func() {
					mu.Lock()
					defer mu.Unlock()
					over[n]++
				},
			})
		}
		last := 0
		e := Engine[found]{Crew: crew.Of(workers), Breadth: breadth, Live: func(_ string, done, total int) {
			if total != of {
				t.Errorf("%d schedules in all, want %d", total, of)
			}
			last = done
		}}
		if err := e.Run(context.Background(), all...); err != nil {
			t.Error(err)
		}
		if last != of {
			t.Errorf("%d of %d are done or skipped", last, of)
		}
		for n := range lengths {
			if over[n] != 1 {
				t.Errorf("series %d was over %d times", n, over[n])
			}
			if slices.Contains(results[n][:settle[n]+1], nil) {
				t.Errorf("series %d lacks a schedule up to %d: %v", n, settle[n], results[n])
			}
		}
	})
}

// one is an engine's run of a series of n schedules.
func one(ctx context.Context, e *Engine[int], n int, try func(ctx context.Context, i int) error) (done []int, err error) {
	err = e.Run(ctx, &Series[int]{
		Count: n, Bound: time.Minute, At: func(i int) string { return fmt.Sprint("schedule ", i) },
		Try: func(ctx context.Context, _ *campaign.Pool, i int) (*int, error) {
			if err := try(ctx, i); err != nil {
				return nil, err
			}
			return &i, nil
		},
		Done: func(i int, _ *int, _ time.Duration) int {
			done = append(done, i)
			return math.MaxInt
		},
	})
	return done, err
}

// TestErrorsOfSchedules: without Failed the first one ends all. With it the others go on, also after a panic and after one
// that does not end, unless all fail or the user made a mistake.
func TestErrorsOfSchedules(t *testing.T) {
	bad := errors.New("bad")
	marked := func(failed *[]string) *Engine[int] {
		return &Engine[int]{Crew: crew.Of(1), Failed: func(_ *Series[int], i int, err error) *int {
			*failed = append(*failed, fmt.Sprint(i, " ", err))
			return &i
		}}
	}
	second := func(err error) func(context.Context, int) error {
		return func(_ context.Context, i int) error {
			if i == 1 {
				return err
			}
			return nil
		}
	}
	synctest.Test(t, func(t *testing.T) {
		done, err := one(t.Context(), &Engine[int]{Crew: crew.Of(1)}, 9, second(bad))
		if !errors.Is(err, bad) || err.Error() != "schedule 1: bad" || len(done) != 1 {
			t.Errorf("done %v, %v", done, err)
		}
		if _, err := one(t.Context(), &Engine[int]{Crew: crew.Of(1)}, 9, func(context.Context, int) error { panic("x") }); err == nil || !strings.Contains(err.Error(), "schedule 0: panic: x") || !strings.Contains(err.Error(), "engine_test.go") {
			t.Errorf("a panic is %v, want it with its stack", err)
		}
		var failed []string
		done, err = one(t.Context(), marked(&failed), 9, func(ctx context.Context, i int) error {
			switch i {
			case 2:
				return bad
			case 4:
				panic("x")
			case 6:
				<-ctx.Done() // after a minute
				return ctx.Err()
			}
			return nil
		})
		if err != nil || len(done) != 9 || strings.Join(failed, "; ") != "2 bad; 4 panic: x; 6 it was not over after 1m0s of real time" {
			t.Errorf("done %v, failed %q, %v", done, failed, err)
		}
		failed = nil
		if done, err = one(t.Context(), marked(&failed), 99, func(context.Context, int) error { return bad }); !errors.Is(err, bad) || len(failed) != maxErrors {
			t.Errorf("done %v, failed %q, %v", done, failed, err)
		}
		failed = nil
		if _, err = one(t.Context(), marked(&failed), 9, second(&scenario.Problem{Field: "lock", Says: "no"})); err == nil || len(failed) != 1 {
			t.Errorf("a mistake of the user: failed %q, %v", failed, err)
		}
	})
}

// TestInterruptedEngine: no schedule begins any more, and an error that follows from the interruption is none.
func TestInterruptedEngine(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	done, err := one(ctx, &Engine[int]{Crew: crew.Of(1)}, 9, func(ctx context.Context, i int) error {
		if i == 3 {
			interrupt()
		}
		return ctx.Err()
	})
	if err != nil || !slices.Equal(done, []int{0, 1, 2}) {
		t.Errorf("done %v, %v", done, err)
	}
	synctest.Test(t, func(t *testing.T) {
		e := &Engine[int]{Crew: crew.Of(1), Limit: time.Minute}
		done, err := one(t.Context(), e, 0, func(context.Context, int) error {
			time.Sleep(7 * time.Second)
			return nil
		})
		if err != nil || len(done) != 9 {
			t.Errorf("without a number of schedules: %v, %v", done, err)
		}
	})
}

// TestLongSchedulesComeFirst: in breadth, of the schedules that have the same number those begin first that may take longest.
// The last ones are short then, so that no worker waits long for another.
func TestLongSchedulesComeFirst(t *testing.T) {
	var order []string
	series := func(name string, bound time.Duration) *Series[int] {
		return &Series[int]{
			Name: name, Count: 2, Bound: bound, At: func(i int) string { return fmt.Sprint(name, i) },
			Try: func(_ context.Context, _ *campaign.Pool, i int) (*int, error) {
				order = append(order, fmt.Sprint(name, i))
				return &i, nil
			},
			Done: func(int, *int, time.Duration) int { return math.MaxInt },
		}
	}
	e := Engine[int]{Crew: crew.Of(1), Breadth: true}
	if err := e.Run(t.Context(), series("a", time.Minute), series("b", time.Hour), series("c", time.Minute)); err != nil {
		t.Fatal(err)
	}
	if want := []string{"b0", "a0", "c0", "b1", "a1", "c1"}; !slices.Equal(order, want) {
		t.Errorf("the order is %v, want %v", order, want)
	}
}
