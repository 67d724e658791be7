package reduce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/cluster/sim/world"
	"lockpick/history"
	"lockpick/search"
)

// WhyOptions are the options of Why.
type WhyOptions struct {
	Scenario   scenario.Scenario // simulated
	Properties []string          // levels or names; empty: L2 if that is violated, otherwise whatever is violated first
	Points     int               // number of points of the run to branch from; 0: 24
	Branches   int               // number of branches from each point; 0: 40
	Minimize   time.Duration     // real time to look for the fewest faults that violate it; 0: none

	Live search.Live // of runs; may be nil
}

// WhyResult is the probability of a violation over the course of a run: how likely it was, at each point,
// that chance would still lead to it.
type WhyResult struct {
	Violation narrative.Violation `json:"violation"`
	Property  string              `json:"property"`
	History   *history.History    `json:"-"` // of the run
	By        time.Duration       `json:"by"`
	Points    []WhyPoint          `json:"points"`
	Decided   *WhyJump            `json:"decided,omitempty"`    // where the probability rose most; nil: less than 0.15
	Certain   time.Duration       `json:"inevitable,omitempty"` // ns: from then on 95 % of branches violate; 0: always
	Branches  int                 `json:"branches"`             // number of branches from each point
	Faults    *WhyFaults          `json:"faults,omitempty"`     // nil: not searched for
}

// WhyFaults is the smallest set found of the run's faults that violates the property.
type WhyFaults struct {
	Steps   []string `json:"steps"` // in words; empty: violated without any, unless Note is set
	Of      int      `json:"of"`    // number of faults of the run
	Rate    int      `json:"rate"`  // how many of Seeds violate it with these faults alone
	Seeds   int      `json:"seeds"`
	Minimal bool     `json:"minimal"`        // without any one of these faults, none of Seeds violates it
	Rarely  bool     `json:"rarely"`         // without one of these faults, fewer of Seeds violate it
	Note    string   `json:"note,omitempty"` // why there is no such set
}

// WhyPoint is a point of a run. In its branches everything up to the point happens as recorded, and chance
// decides afterwards.
type WhyPoint struct {
	Choice int             `json:"choice"` // number of random choices kept from the run
	Time   time.Duration   `json:"time"`   // ns: time of the last line that all branches share with the run
	Line   int             `json:"line"`   // index of that line; -1: none
	Rate   search.Interval `json:"rate"`   // share of branches that violate
}

// WhyJump is the interval in which the probability rose most.
type WhyJump struct {
	From   WhyPoint          `json:"from"`
	To     WhyPoint          `json:"to"`
	End    time.Duration     `json:"end"`    // ns: time of the last line in the interval
	Events []narrative.Event `json:"events"` // events of the violation's explanation in the interval
	Lines  []int             `json:"lines"`  // indices of the history's lines in the interval
}

// The defaults of WhyOptions, the number of times that the steepest rise is divided and into how many parts,
// the share of branches from which on a violation counts as inevitable, and the least rise.
const (
	whyPoints   = 24
	whyBranches = 60
	whyRounds   = 3
	whyParts    = 8
	inevitable  = 0.95
	whyRise     = 0.15 // a smaller difference is not called a rise
)

// Why runs a scenario in the simulator and then runs it again many times. Each branch repeats the run up to a
// point and continues by chance: with other message times, other orders of simultaneous events, other
// decisions of the clients and of the nemesis. The share of branches that violate the same property on the
// same key, at the latest at WhyResult.By, is the probability of the violation at that point. If ctx ends,
// Why fails.
func Why(ctx context.Context, how WhyOptions) (*WhyResult, error) {
	s := how.Scenario
	s.Driver, s.ClientsAs, s.StopOnViolation, s.StopAfter = scenario.Sim, scenario.Goroutines, false, 0
	if err := s.Check(); err != nil {
		return nil, err
	}
	w := &why{how: how, ctx: ctx, points: map[int]WhyPoint{}}
	w.how.Points, w.how.Branches = cmp.Or(how.Points, whyPoints), cmp.Or(how.Branches, whyBranches)
	w.of = (w.how.Points + 1 + whyRounds*(whyParts-1)) * w.how.Branches
	if err := w.record(s); err != nil {
		return nil, err
	}
	var at []int
	for i := range w.how.Points + 1 {
		at = append(at, i*len(w.tape)/w.how.Points)
	}
	if err := w.measure(at); err != nil {
		return nil, err
	}
	for range whyRounds {
		from, to := w.steepest()
		if to.Choice-from.Choice < 2 || to.Rate.Share-from.Rate.Share < whyRise {
			break
		}
		at = at[:0]
		for i := 1; i < whyParts; i++ {
			at = append(at, from.Choice+i*(to.Choice-from.Choice)/whyParts)
		}
		if err := w.measure(at); err != nil {
			return nil, err
		}
	}
	out := w.result()
	if how.Minimize > 0 {
		var err error
		if out.Faults, err = w.fewest(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// fewest looks for the fewest faults that violate the property with the same clients and masters.
func (w *why) fewest() (*WhyFaults, error) {
	r, err := Shrink(w.ctx, ShrinkOptions{
		Scenario: w.scenario, History: w.h, Properties: []string{w.property.ShortName()}, OnlyFaults: true, TimeLimit: w.how.Minimize,
	})
	switch {
	case w.ctx.Err() != nil:
		return nil, w.ctx.Err()
	case errors.Is(err, ErrNotReproduced):
		return &WhyFaults{Steps: []string{}, Note: err.Error()}, nil
	case err != nil:
		return nil, err
	}
	f := &WhyFaults{Steps: []string{}, Of: r.Before.Faults, Rate: r.Rate, Seeds: r.Seeds, Minimal: r.Minimal, Rarely: r.Rarely}
	for _, step := range r.Scenario.Schedule {
		f.Steps = append(f.Steps, step.String())
	}
	return f, nil
}

// why is the state of a call of Why.
type why struct {
	how      WhyOptions
	ctx      context.Context
	scenario scenario.Scenario
	tape     world.Tape
	h        *history.History
	v        *narrative.Violation
	property checker.Property
	by       time.Duration

	mu       sync.Mutex
	done, of int
	points   map[int]WhyPoint
}

// record runs the scenario, and records its random choices up to the violation.
func (w *why) record(s scenario.Scenario) error {
	run := func(s scenario.Scenario) (*world.Recorder, *history.History, error) {
		choices := world.Record(world.NewRandom(s.Seed))
		h, err := campaign.Record(w.ctx, s.WithRequirements(), campaign.Simulation{Choices: choices}.Driver(), campaign.Options{})
		return choices, h, err
	}
	_, h, err := run(s)
	if err != nil {
		return err
	}
	r, err := judge.History(h)
	if err != nil {
		return err
	}
	k := &shrinker{properties: w.how.Properties}
	v, property := k.first(r)
	if v == nil {
		return fmt.Errorf("%w: %s with its seed %d", ErrNotReproduced, s.Name, s.Seed)
	}
	w.property = checker.PropertiesOf([]string{property})[0]
	w.by = max(v.At, v.Until) + s.TTL/10
	// What happens after the violation does not matter.
	w.scenario = s
	w.scenario.TimeLimit = min(s.TimeLimit, max(w.by.Round(time.Millisecond), time.Second))
	choices, h, err := run(w.scenario)
	if err != nil {
		return err
	}
	if w.v = w.violation(h); w.v == nil { // the run depends on its time limit
		w.scenario = s
		if choices, h, err = run(s); err != nil {
			return err
		}
		if w.v = w.violation(h); w.v == nil {
			w.v = v
		}
	}
	w.h, w.tape = h, choices.Tape
	return nil
}

// violation returns the violation of the property that begins by the time w.by, or nil.
func (w *why) violation(h *history.History) *narrative.Violation {
	rep := checker.Check(h, w.property)
	r := rep.Result(w.property)
	if r == nil {
		return nil
	}
	for i := range r.Violations {
		if v := &r.Violations[i]; v.At <= w.by && (w.v == nil || v.Key == w.v.Key) {
			return v
		}
	}
	return nil
}

// measure runs the branches of the points that were not measured yet.
func (w *why) measure(at []int) error {
	width := make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	var failed error
	for _, n := range at {
		if _, known := w.points[n]; known {
			continue
		}
		hits := make([]bool, w.how.Branches)
		shared := make([]int, w.how.Branches)
		for i := range w.how.Branches {
			width <- struct{}{}
			all.Go(func() {
				defer func() { <-width }()
				h, err := w.branch(n, search.ScheduleSeed(w.scenario.Seed^0x776879, n*w.how.Branches+i))
				if err == nil {
					hits[i], shared[i] = w.violation(h) != nil, sharedLines(w.h, h)
				}
				w.mu.Lock()
				defer w.mu.Unlock()
				if err != nil {
					failed = cmp.Or(failed, err)
					return
				}
				w.done++
				if w.how.Live != nil {
					done, most := w.done, max(w.of, w.done)
					w.how.Live(done, most, func() string { return fmt.Sprintf("%d of at most %d runs", done, most) })
				}
			})
		}
		all.Wait()
		if w.ctx.Err() != nil {
			return w.ctx.Err()
		}
		if failed != nil {
			return failed
		}
		k := 0
		for _, hit := range hits {
			if hit {
				k++
			}
		}
		p := WhyPoint{Choice: n, Rate: search.Wilson(k, w.how.Branches, 1), Line: slices.Min(shared) - 1}
		if p.Line >= 0 {
			p.Time = w.h.Ops[p.Line].Time
		}
		w.points[n] = p
	}
	return nil
}

// branch repeats the run for its first n choices, and continues by chance.
func (w *why) branch(n int, seed uint64) (*history.History, error) {
	choices := world.Play(w.tape[:n], world.NewRandom(seed))
	return campaign.Record(w.ctx, w.scenario.WithRequirements(), campaign.Simulation{Choices: choices}.Driver(), campaign.Options{Source: func(of, stream uint64) rand.Source {
		return &branched{kept: rand.NewPCG(of, stream), fresh: rand.NewPCG(seed, stream), over: func() bool { return choices.Diverged() != "" }}
	}})
}

// branched is a random source that repeats the run's numbers until the kept choices are used up, and then
// draws new ones.
type branched struct {
	kept, fresh rand.Source
	over        func() bool
}

// Uint64 returns the next number of the repeated or of the new source.
func (b *branched) Uint64() uint64 {
	if b.over() {
		return b.fresh.Uint64()
	}
	return b.kept.Uint64()
}

// Begins reports whether a history has the same lines as the explained run up to the violation.
func (r *WhyResult) Begins(h *history.History) bool {
	n := slices.IndexFunc(r.History.Ops, func(op history.Op) bool { return op.Time > r.Violation.At })
	if n < 0 {
		n = len(r.History.Ops)
	}
	return sharedLines(r.History, h) >= n
}

// sharedLines counts the lines at the beginning of two histories that are alike in time, process, operation,
// type and key.
func sharedLines(a, b *history.History) int {
	for i := range min(len(a.Ops), len(b.Ops)) {
		x, y := &a.Ops[i], &b.Ops[i]
		if x.Time != y.Time || x.Process != y.Process || x.F != y.F || x.Type != y.Type || x.Key != y.Key {
			return i
		}
	}
	return min(len(a.Ops), len(b.Ops))
}

func (w *why) sorted() []WhyPoint {
	var list []WhyPoint
	for _, p := range w.points {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b WhyPoint) int { return cmp.Compare(a.Choice, b.Choice) })
	return list
}

// steepest returns the two neighbouring points between which the probability rises most.
func (w *why) steepest() (from, to WhyPoint) {
	list := w.sorted()
	from, to = list[0], list[0]
	for i := range list[1:] {
		if list[i+1].Rate.Share-list[i].Rate.Share > to.Rate.Share-from.Rate.Share {
			from, to = list[i], list[i+1]
		}
	}
	return from, to
}

// moment returns the two points closest to each other between which the probability certainly rose, and whether there
// are any that are close.
func (w *why) moment() (from, to WhyPoint, found bool) {
	list := w.sorted()
	near := 2 * len(w.tape) / w.how.Points
	for i, a := range list {
		for _, b := range list[i+1:] {
			n := b.Choice - a.Choice
			if n <= near && b.Rate.Share-a.Rate.Share >= whyRise && (!found || n < to.Choice-from.Choice) && w.apart(a, b) {
				from, to, found = a, b, true
			}
		}
	}
	return from, to, found
}

// apart reports whether one probability is certainly higher than another: their intervals are disjoint, where they hold
// for all points together, since these are two of many.
func (w *why) apart(from, to WhyPoint) bool {
	interval := func(p WhyPoint) search.Interval {
		return search.Wilson(int(math.Round(p.Rate.Share*float64(w.how.Branches))), w.how.Branches, len(w.points))
	}
	return interval(from).High < interval(to).Low
}

func (w *why) result() *WhyResult {
	out := &WhyResult{Violation: *w.v, Property: w.property.Name, History: w.h, By: w.by, Points: w.sorted(), Branches: w.how.Branches}
	for i := len(out.Points) - 1; i >= 0 && out.Points[i].Rate.Share >= inevitable; i-- {
		out.Certain = out.Points[i].Time
	}
	from, to, found := w.moment()
	if !found {
		return out
	}
	jump := &WhyJump{From: from, To: to}
	for i := max(from.Line+1, 0); i <= min(to.Line+1, len(w.h.Ops)-1); i++ {
		jump.Lines = append(jump.Lines, i)
	}
	jump.End = max(to.Time, w.h.Ops[min(to.Line+1, len(w.h.Ops)-1)].Time)
	for _, e := range w.v.Events {
		if e.At >= from.Time && e.At <= jump.End {
			jump.Events = append(jump.Events, e)
		}
	}
	out.Decided = jump
	return out
}
