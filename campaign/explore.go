package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"lockpick/checker"
	"lockpick/history"
)

// Exploration is a search by simulation: many short schedules, drawn from a base.
type Exploration struct {
	Base       Scenario      // what the schedules are drawn from; its seed is the exploration's
	Schedules  int           // how many; 0: as many as the time limit allows
	TimeLimit  time.Duration // in real time; 0: none. One of the two must be given.
	Workers    int           // 0: one for each processor
	Properties []string      // levels or names of those that count; empty: L2
	Collect    bool          // do not stop at the first violation: find distinct ones

	Live func(ExplorationStatus) // called a few times a second; may be nil
}

// ExplorationStatus is how an exploration is getting on.
type ExplorationStatus struct {
	Schedules, Of int // Of is 0 if only time limits it
	Elapsed       time.Duration
	Limit         time.Duration
	Granted       int
	Violations    int
	Distinct      int
}

// Explored is what an exploration found. With a number of schedules, everything in it
// but Elapsed is the same for the same seed, whatever the number of workers.
type Explored struct {
	Seed      uint64
	Schedules int // that were tried, up to and with the first violation unless they were collected
	Simulated time.Duration
	Elapsed   time.Duration
	Interrupted,
	OutOfTime bool

	Counts     Counts            // of all schedules together
	Kinds      map[string]*Bites // by kind of fault
	Coverage   Coverage
	Properties []PropertyCount // those that were looked at
	Shapes     map[string]int  // how many schedules were explicit, guided, pct, …
	Found      []Found         // the distinct violations, the lowest-numbered first
}

// Bites counts the faults of a kind.
type Bites struct {
	Installed int `json:"installed"`
	Bit       int `json:"bit"`
	Skipped   int `json:"skipped"`
}

// PropertyCount is what the schedules said of one property.
type PropertyCount struct {
	checker.Property
	Judged   int // schedules in which it was decided, with leases granted
	Violated int // of them
	Verdict  checker.Verdict
	Why      string
}

// Found is a violation that an exploration found.
type Found struct {
	Number    int // of the schedule, from 0
	Seed      uint64
	Scenario  Scenario // the schedule, concrete: it violates the property whenever it is simulated
	Property  checker.Property
	Reason    string            // the property and the kinds of fault that explain it: what makes it distinct
	Violation checker.Violation // the first
	Count     int               // schedules that violate it for the same reason
}

// Verdict is the worst of the properties'; unknown if the exploration was interrupted
// before it had found anything.
func (x *Explored) Verdict() checker.Verdict {
	worst := checker.Holds
	for _, l := range x.Properties {
		switch {
		case l.Verdict == checker.Violated:
			return checker.Violated
		case l.Verdict == checker.Invalid:
			worst = checker.Invalid
		}
	}
	if worst == checker.Holds && x.Interrupted {
		return checker.Unknown
	}
	return worst
}

// Explore searches. The end of ctx ends it early: what was found by then counts. An
// error is a *Problem of the base or a *HarnessError, which names the schedule.
func Explore(ctx context.Context, e Exploration) (*Explored, error) {
	if err := e.Base.Check(); err != nil {
		return nil, err
	}
	if e.Schedules <= 0 && e.TimeLimit <= 0 {
		return nil, &Problem{"schedules", "say how many, or give a time limit"}
	}
	if e.Workers <= 0 {
		e.Workers = runtime.GOMAXPROCS(0)
	}
	if len(e.Properties) == 0 {
		e.Properties = []string{checker.MutualExclusion.Level}
	}
	e.Base.Properties = e.Properties // some are judged only if they are asked for
	began := time.Now()
	search := &search{e: e, outer: ctx, first: -1, pending: map[int]*tried{}, total: &Explored{
		Seed: e.Base.Seed, Kinds: map[string]*Bites{}, Coverage: Coverage{}, Shapes: map[string]int{},
	}}
	for _, p := range propertiesOf(e.Properties) {
		search.total.Properties = append(search.total.Properties, PropertyCount{Property: p})
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	if e.TimeLimit > 0 {
		running, stop = context.WithTimeout(running, e.TimeLimit)
		defer stop()
	}
	var workers sync.WaitGroup
	for range e.Workers {
		workers.Go(func() { search.work(running) })
	}
	shown := make(chan struct{})
	var showing sync.WaitGroup
	if e.Live != nil {
		showing.Go(func() { search.show(shown, began) })
	}
	workers.Wait()
	close(shown)
	showing.Wait()
	total := search.total
	total.Elapsed = time.Since(began)
	total.Interrupted = ctx.Err() != nil
	total.OutOfTime = !total.Interrupted && running.Err() != nil && total.Schedules != e.Schedules && (e.Collect || len(total.Found) == 0)
	total.conclude(e)
	return total, search.err
}

// tried is one schedule, with what came of it.
type tried struct {
	number   int
	scenario Scenario
	result   *Result
	faults   []*history.Fault
	coverage Coverage
}

// search is an exploration while it runs.
type search struct {
	e     Exploration
	outer context.Context

	mu      sync.Mutex
	next    int            // the number that is handed out next
	first   int            // the lowest number that violates; -1: none
	folded  int            // all numbers below are in total
	pending map[int]*tried // that wait for lower ones
	total   *Explored
	err     error
}

// work tries one schedule after the other.
func (s *search) work(ctx context.Context) {
	for {
		i, ok := s.take(ctx)
		if !ok {
			return
		}
		t, err := try(s.outer, s.e.Base, i)
		if s.outer.Err() != nil && t != nil && !t.whole() {
			return // it was cut short: it counts for nothing
		}
		s.done(i, t, err)
	}
}

// take hands out the next number. Once something was found only lower numbers matter,
// and those have all been handed out before.
func (s *search) take(ctx context.Context) (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil || s.err != nil || s.e.Schedules > 0 && s.next >= s.e.Schedules || s.first >= 0 && !s.e.Collect {
		return 0, false
	}
	s.next++
	return s.next - 1, true
}

// done folds a schedule into the total, in the order of the numbers, so that the total does
// not depend on who was faster.
func (s *search) done(i int, t *tried, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.err = errors.Join(s.err, err)
		return
	}
	if v, _ := t.result.violation(s.e.Properties); v != nil && (s.first < 0 || i < s.first) {
		s.first = i
	}
	s.pending[i] = t
	for s.pending[s.folded] != nil && (s.e.Collect || s.first < 0 || s.folded <= s.first) {
		s.total.fold(s.pending[s.folded])
		delete(s.pending, s.folded)
		s.folded++
	}
}

func (s *search) show(end <-chan struct{}, began time.Time) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-end:
			return
		case <-tick.C:
		}
		s.mu.Lock()
		now := ExplorationStatus{
			Schedules: s.folded, Of: s.e.Schedules, Elapsed: time.Since(began), Limit: s.e.TimeLimit,
			Granted: s.total.Counts.Granted, Distinct: len(s.total.Found),
		}
		for _, l := range s.total.Properties {
			now.Violations += l.Violated
		}
		s.mu.Unlock()
		s.e.Live(now)
	}
}

// try draws schedule i and simulates it.
func try(ctx context.Context, base Scenario, i int) (*tried, error) {
	s := draw(base, scheduleSeed(base.Seed, i))
	h, r, err := judged(ctx, s, propertiesOf(base.Properties)...)
	if err != nil {
		return nil, &HarnessError{fmt.Errorf("schedule %d of seed %d: %w", i, base.Seed, err)}
	}
	t := &tried{number: i, scenario: s, result: r, faults: history.Faults(h.Ops), coverage: Coverage{}}
	t.coverage.add(h)
	return t, nil
}

// judged runs a scenario in virtual time and judges it, by some properties or by all.
func judged(ctx context.Context, s Scenario, by ...checker.Property) (*history.History, *Result, error) {
	h, err := Simulate(ctx, s.Completed(), Simulation{})
	if err != nil {
		return nil, nil, err
	}
	r, err := Judge(h, by...)
	return h, r, err
}

// whole says whether the schedule came to its end.
func (t *tried) whole() bool { return t.result.CutShort == "" }

// fold adds a schedule.
func (x *Explored) fold(t *tried) {
	x.Schedules++
	x.Simulated += t.result.Duration
	x.Counts.add(t.result.Counts)
	x.Coverage.merge(t.coverage)
	x.Shapes[t.scenario.NemesisName()]++
	x.Shapes[cmp.Or(t.scenario.Scheduler, Uniform)+" scheduler"]++
	for _, f := range t.faults {
		b := x.Kinds[f.Name]
		if b == nil {
			b = &Bites{}
			x.Kinds[f.Name] = b
		}
		switch {
		case !f.Installed:
			b.Skipped++
		case f.Bit:
			b.Installed, b.Bit = b.Installed+1, b.Bit+1
		default:
			b.Installed++
		}
	}
	for i := range x.Properties {
		l := &x.Properties[i]
		for _, v := range t.result.Verdicts {
			if v.Name != l.Name || v.Verdict == checker.Unknown || t.result.Counts.Granted == 0 {
				continue
			}
			l.Judged++
			if v.Verdict == checker.Violated {
				l.Violated++
			}
			if v.Verdict == checker.Violated && len(v.Violations) > 0 {
				x.found(t, v.Property, v.Violations[0])
			}
		}
	}
}

// found adds a violation, or counts one more of a reason that is known.
func (x *Explored) found(t *tried, p checker.Property, v checker.Violation) {
	reason := reasonOf(p, v, t.faults)
	for i := range x.Found {
		if x.Found[i].Reason == reason {
			x.Found[i].Count++
			return
		}
	}
	s := t.scenario
	s.Properties = []string{shortName(p)}
	x.Found = append(x.Found, Found{
		Number: t.number, Seed: s.Seed, Scenario: s, Property: p, Reason: reason, Violation: v, Count: 1,
	})
}

// reasonOf names a violation by its property and the kinds of fault in its explanation.
func reasonOf(p checker.Property, v checker.Violation, faults []*history.Fault) string {
	kinds := map[string]bool{}
	for _, f := range faults {
		if slices.Contains(v.Faults, f.ID) {
			kinds[f.Name] = true
		}
	}
	if len(kinds) == 0 {
		return p.Level + " " + p.Name + ": no fault"
	}
	return p.Level + " " + p.Name + ": " + strings.Join(slices.Sorted(maps.Keys(kinds)), ", ")
}

// add adds up.
func (c *Counts) add(d Counts) {
	c.Operations += d.Operations
	c.Acquires += d.Acquires
	c.Granted += d.Granted
	c.Refused += d.Refused
	c.Extended += d.Extended
	c.Writes += d.Writes
	c.Votes += d.Votes
	c.NoReply += d.NoReply
	c.Faults += d.Faults
	c.Skipped += d.Skipped
	c.Bit += d.Bit
	c.Pauses += d.Pauses
}

// conclude gives each property its verdict, and says why. A property that was not asked
// for by its name, and that nothing tested, is left out where another of its level was:
// some are judged only if they are named.
func (x *Explored) conclude(e Exploration) {
	tested := map[string]bool{}
	for _, l := range x.Properties {
		tested[l.Level] = tested[l.Level] || l.Judged > 0
	}
	x.Properties = slices.DeleteFunc(x.Properties, func(l PropertyCount) bool {
		return l.Judged == 0 && tested[l.Level] && !slices.Contains(e.Properties, l.Name)
	})
	for i := range x.Properties {
		l := &x.Properties[i]
		switch missing := l.missing(x, e.Base); {
		case l.Violated > 0:
			first := slices.IndexFunc(x.Found, func(f Found) bool { return f.Property == l.Property })
			l.Verdict = checker.Violated
			violate := "violate"
			if l.Violated == 1 {
				violate = "violates"
			}
			l.Why = fmt.Sprintf("%d of %d schedules %s it, the first is schedule %d", l.Violated, l.Judged, violate, x.Found[first].Number)
		case missing != "":
			l.Verdict, l.Why = checker.Invalid, missing
		default:
			l.Verdict = checker.Holds
			l.Why = fmt.Sprintf("none of %d schedules violates it: the probability that one does is below %.2g with 95 %% confidence (3/n)", l.Judged, 3/float64(l.Judged))
		}
	}
}

// missing says what the schedules lack to prove anything, or "".
func (l *PropertyCount) missing(x *Explored, base Scenario) string {
	if l.Judged == 0 {
		return fmt.Sprintf("none of %d schedules tested it", x.Schedules)
	}
	for _, kind := range base.FaultNames() {
		if b := x.Kinds[kind]; b == nil || b.Bit == 0 {
			return fmt.Sprintf("the fault %s never bit in %d schedules", kind, x.Schedules)
		}
	}
	return ""
}
