package reduce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/cluster/sim"
	"lockpick/history"
	"lockpick/search"
)

// WhyOptions are the options of Why.
type WhyOptions struct {
	Scenario   scenario.Scenario // simulated
	Properties []string          // levels or names; empty: L2 if that is violated, otherwise whatever is violated first
	Points     int               // from how many points of the run it branches; 0: 24
	Branches   int               // from each point; 0: 40
	Minimize   time.Duration     // how long to look for the fewest faults that violate it; 0: not at all

	Live func(done, of int) // may be nil
}

// WhyResult is the probability of a violation over the time of a run: how likely it was, at each
// point, that chance would still lead to it.
type WhyResult struct {
	Violation checker.Violation `json:"violation"`
	Property  string            `json:"property"`
	History   *history.History  `json:"-"` // of the run
	By        time.Duration     `json:"by"`
	Points    []WhyPoint        `json:"points"`
	Decided   *WhyJump          `json:"decided,omitempty"`    // where the probability rose most; nil: it hardly did
	Certain   time.Duration     `json:"inevitable,omitempty"` // from when on nearly all branches violate; 0: from the beginning
	Branches  int               `json:"branches"`             // from each point
	Faults    *WhyFaults        `json:"faults,omitempty"`     // nil: not looked for
}

// WhyFaults is the smallest set of the run's faults that was found to violate the property.
type WhyFaults struct {
	Steps   []string `json:"steps"` // in words; empty: it is violated without any
	Of      int      `json:"of"`    // faults of the run
	Rate    int      `json:"rate"`  // of Seeds, how many violate it with these faults alone
	Seeds   int      `json:"seeds"`
	Minimal bool     `json:"minimal"`        // without any one of them none of Seeds violates it
	Rarely  bool     `json:"rarely"`         // or at least fewer do
	Note    string   `json:"note,omitempty"` // why there is no such set
}

// WhyPoint is a point of a run: up to it all happened as recorded, after it chance was free.
type WhyPoint struct {
	Choice int             `json:"choice"` // how many choices were kept
	Time   time.Duration   `json:"time"`   // ns: of the last line that all branches share with the run
	Line   int             `json:"line"`   // its index; -1: none
	Rate   search.Interval `json:"rate"`   // share of branches that violate
}

// WhyJump is where the probability rose most.
type WhyJump struct {
	From   WhyPoint        `json:"from"`
	To     WhyPoint        `json:"to"`
	End    time.Duration   `json:"end"`    // ns: of the last line that lies there
	Events []checker.Event `json:"events"` // of the reason, that lie there
	Lines  []int           `json:"lines"`  // indices of the lines of the history there
}

// The defaults of WhyOptions, how often the steepest rise is looked at more closely and in how many
// parts, and the share of branches from which on a violation is as good as certain.
const (
	whyPoints   = 24
	whyBranches = 40
	whyRounds   = 3
	whyParts    = 8
	inevitable  = 0.95
	whyRise     = 0.15 // less is not called a rise
)

// Why runs a scenario in the simulator and then again and again, each time as before up to a point and
// from there on by chance: with other times on the way, other orders of what happens at once, other
// decisions of the clients and of the nemesis. The share of those that violate the same property on the same key by then
// is how likely the violation was at that point. The end of ctx ends it early with an error.
func Why(ctx context.Context, how WhyOptions) (*WhyResult, error) {
	s := how.Scenario
	s.Driver, s.ClientsAs, s.StopOnViolation = scenario.Sim, scenario.Goroutines, false
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

// fewest looks for the fewest faults that violate the property with these clients and masters.
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

// why is the state of Why.
type why struct {
	how      WhyOptions
	ctx      context.Context
	scenario scenario.Scenario
	tape     sim.Tape
	h        *history.History
	v        *checker.Violation
	property checker.Property
	by       time.Duration

	mu       sync.Mutex
	done, of int
	points   map[int]WhyPoint
}

// record runs the scenario, and keeps its choices up to the violation.
func (w *why) record(s scenario.Scenario) error {
	run := func(s scenario.Scenario) (*sim.Recorder, *history.History, error) {
		choices := sim.Record(sim.NewRandom(s.Seed))
		h, err := campaign.Simulate(w.ctx, s.WithRequirements(), campaign.SimulateOptions{Choices: choices})
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
	v, of := k.first(r)
	if v == nil {
		return fmt.Errorf("%w: %s with its seed %d", ErrNotReproduced, s.Name, s.Seed)
	}
	w.property = checker.PropertiesOf([]string{of})[0]
	w.by = max(v.At, v.Until) + s.TTL/10
	// What comes after the violation does not matter.
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

// violation returns the violation of the property by that time, or nil.
func (w *why) violation(h *history.History) *checker.Violation {
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

// measure branches from points that were not measured yet.
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
					w.how.Live(w.done, max(w.of, w.done))
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

// branch runs the scenario as it was for n choices, and by chance from there on.
func (w *why) branch(n int, seed uint64) (*history.History, error) {
	choices := sim.Play(w.tape[:n], sim.NewRandom(seed))
	return campaign.Simulate(w.ctx, w.scenario.WithRequirements(), campaign.SimulateOptions{Choices: choices, Source: func(of, stream uint64) rand.Source {
		return &branched{kept: rand.NewPCG(of, stream), fresh: rand.NewPCG(seed, stream), over: func() bool { return choices.Diverged() != "" }}
	}})
}

// branched draws as the run did until the kept choices are over.
type branched struct {
	kept, fresh rand.Source
	over        func() bool
}

// Uint64 is of the source that counts now.
func (b *branched) Uint64() uint64 {
	if b.over() {
		return b.fresh.Uint64()
	}
	return b.kept.Uint64()
}

// Begins reports whether a history begins as the run did of which this is the result, up to its violation.
func (r *WhyResult) Begins(h *history.History) bool {
	n := slices.IndexFunc(r.History.Ops, func(op history.Op) bool { return op.Time > r.Violation.At })
	if n < 0 {
		n = len(r.History.Ops)
	}
	return sharedLines(r.History, h) >= n
}

// sharedLines is how many lines two histories begin with alike.
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

// steepest returns the two points next to each other between which the probability rises most.
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

func (w *why) result() *WhyResult {
	out := &WhyResult{Violation: *w.v, Property: w.property.Name, History: w.h, By: w.by, Points: w.sorted(), Branches: w.how.Branches}
	for i := len(out.Points) - 1; i >= 0 && out.Points[i].Rate.Share >= inevitable; i-- {
		out.Certain = out.Points[i].Time
	}
	from, to := w.steepest()
	if to.Rate.Share-from.Rate.Share < whyRise {
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
