package risk

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/workload"
)

// holder is the client whose acquisition a sample is about; the others come for its key.
const holder = "c1"

// mostOthers is how many others come at most: with more, no violation becomes likelier that three
// do not show.
const mostOthers = 3

// sample is one acquisition with the faults around it, before others have come.
type sample struct {
	hold    time.Duration
	events  []event
	weight  float64       // how much of the time in which it, its faults and others could meet lies in this sample: seconds to the power of the number of faults
	exposed []float64     // of each fault, in seconds
	lasts   time.Duration // until the holder has done its last act
}

// newSample draws the holder's section and its faults. How long they take is what at says, from 0 to 1
// for each.
func newSample(s *Setup, of []*cause, at func(i int) float64, r *rand.Rand) sample {
	x := sample{hold: s.Hold.at(at(0))}
	x.lasts = x.hold
	x.weight = 1
	for i, c := range of {
		e := c.draw(s, at(i+1), r)
		x.events = append(x.events, e)
		x.lasts += e.beyond
	}
	for i := range x.events {
		exposed := x.exposure(i).Seconds()
		x.exposed = append(x.exposed, exposed)
		x.weight *= exposed
	}
	if len(of) == 0 && !s.overruns(x.hold) {
		x.weight = 0 // nothing goes wrong
	}
	x.weight *= -math.Expm1(-s.comers(x.lasts))
	return x
}

// exposure is how long the acquisition is exposed to one of its faults: while the fault lasts that came
// before it, and while the holder works or is held up by another fault.
func (x *sample) exposure(i int) time.Duration {
	e := &x.events[i]
	if e.window > 0 {
		return e.window
	}
	return e.before + x.lasts - e.beyond
}

// overruns says whether a section goes on after its lease.
func (s *Setup) overruns(hold time.Duration) bool { return !s.Extend && hold > s.TTL*19/20 }

// population draws samples, and returns n of them by their weights, so that all those count the same: the
// mean weight, which is returned too.
func population(s *Setup, of []*cause, n int, r *rand.Rand) (chosen []sample, mean float64) {
	size := min(max(20_000, 100*n), 400_000)
	all := make([]sample, size)
	sum := make([]float64, size)
	total := 0.0
	points := spread(r)
	for i := range all {
		all[i] = newSample(s, of, func(j int) float64 { return points(i, j) }, r)
		total += all[i].weight
		sum[i] = total
	}
	if total == 0 {
		return nil, 0
	}
	for i := range n { // one of each n-th of the weight
		at, _ := slices.BinarySearch(sum, (float64(i)+r.Float64())/float64(n)*total)
		chosen = append(chosen, all[min(at, size-1)])
	}
	r.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	return chosen, total / float64(size)
}

// spread returns points that fill a unit cube more evenly than random ones, with random shifts: point i has
// the fractions of i times powers of the root of x⁴ = x+1 as its coordinates (Roberts, "The unreasonable
// effectiveness of quasirandom sequences", 2018). The rare long pauses and sections decide a risk, and
// random points have too few of them by chance, or too many. Further coordinates are random.
func spread(r *rand.Rand) func(i, dimension int) float64 {
	const root = 1.2207440846057596
	shifts := [3]float64{r.Float64(), r.Float64(), r.Float64()}
	return func(i, dimension int) float64 {
		if dimension >= len(shifts) {
			return r.Float64()
		}
		_, fraction := math.Modf(shifts[dimension] + float64(i+1)*math.Pow(root, -float64(dimension+1)))
		return fraction
	}
}

// scenario is the campaign that simulates a sample. only says which of its faults strike.
func (x *sample) scenario(s *Setup, seed uint64, only ...int) scenario.Scenario {
	r := rand.New(rand.NewPCG(seed, 0x7269736b))
	c := scenario.Defaults()
	c.Name, c.Driver, c.Lock, c.Masters, c.Persistence = "risk", scenario.Sim, s.Lock, s.Masters, s.Persistence
	c.Replicas, c.Wait, c.Fencing, c.TTL, c.Hold, c.LongHolds, c.Extend = s.Replicas, s.Wait, s.Fencing, s.TTL, "0s", 0, 0
	if s.Extend {
		c.Extend = 1
	}
	c.Faults, c.Nemesis, c.Seed = nil, scenario.Random, seed
	c.Properties = []string{checker.MutualExclusion.Name, s.effects().Name}

	const ready = 10 * time.Millisecond
	began := ready // of the acquisition: after the beginning of all faults
	for _, e := range x.events {
		began = max(began, e.before+ready)
	}
	work := x.hold
	if s.overruns(x.hold) {
		work = s.TTL / 2
		c.Schedule = append(c.Schedule, standing(began+s.TTL/4, x.hold-s.TTL/4)...)
	}
	c.Arrivals = []workload.Arrival{{Client: holder, At: began, Hold: work}}
	for i := range others(s.comers(x.lasts), r) {
		at := max(time.Duration(r.Float64()*float64(s.waits()+x.lasts))-s.waits(), 0)
		c.Arrivals = append(c.Arrivals, workload.Arrival{Client: fmt.Sprintf("c%d", i+2), At: began + at, Hold: min(s.Hold.at(r.Float64()), s.TTL*4/5)})
	}
	c.Clients = len(c.Arrivals)
	for i, e := range x.events {
		at := began - e.before + time.Duration(r.Float64()*float64(x.exposure(i)))
		if e.window > 0 {
			at = began - ready/2
		}
		if len(only) == 0 || slices.Contains(only, i) {
			c.Schedule = append(c.Schedule, e.steps(at)...)
		}
	}
	c.TimeLimit = max(began+x.lasts+time.Second, time.Second)
	return c.WithRequirements()
}

// others draws how many others come, of whom there is at least one: by Poisson's law.
func others(mean float64, r *rand.Rand) int {
	none := math.Exp(-mean)
	u := none + r.Float64()*(1-none)
	n, p, sum := 0, none, none
	for sum < u && n < mostOthers {
		n++
		p *= mean / float64(n)
		sum += p
	}
	return max(n, 1)
}

// effects is the property about double effects.
func (s *Setup) effects() checker.Property {
	if s.Fencing {
		return checker.FencedWrites
	}
	return checker.NoStaleWrite
}

// outcome is what a sample violates.
type outcome struct{ exclusion, effects bool }

// run simulates a scenario, and says what the holder's acquisition is part of.
func run(ctx context.Context, s *Setup, c scenario.Scenario) (outcome, error) {
	if err := c.Check(); err != nil {
		return outcome{}, &judge.HarnessError{Err: fmt.Errorf("a sample is not a scenario: %w", err)}
	}
	h, err := campaign.Simulate(ctx, c, campaign.SimulateOptions{})
	if err != nil {
		return outcome{}, err
	}
	rep := checker.Check(h, checker.MutualExclusion, s.effects())
	if err := rep.Err(); err != nil {
		return outcome{}, &judge.HarnessError{Err: err}
	}
	violated := func(p checker.Property) bool {
		r := rep.Result(p)
		return r != nil && slices.ContainsFunc(r.Violations, func(v checker.Violation) bool { return slices.Contains(v.Clients, holder) })
	}
	return outcome{violated(checker.MutualExclusion), violated(s.effects())}, nil
}
