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
	"lockpick/checker/narrative"
	"lockpick/workload"
)

// holder is the client whose acquisition a sample is about. The other clients want its key.
const holder = "c1"

// mostOthers limits the other clients. More of them make no violation likelier that three do not
// show.
const mostOthers = 3

// sample is one acquisition with the faults around it. Its scenario adds the other clients.
type sample struct {
	hold    time.Duration
	events  []event
	weight  float64       // product of exposed, times the probability that another client comes
	exposed []float64     // exposure to each fault, in seconds
	lasts   time.Duration // until the holder's last act
}

// newSample draws the holder's section and its faults. at returns the quantiles of their durations,
// from 0 to 1: number 0 is the section, the others are the faults.
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
		x.weight = 0 // nothing can go wrong
	}
	x.weight *= -math.Expm1(-s.comers(x.lasts))
	return x
}

// exposure returns how long the acquisition is exposed to fault i: while a fault that began earlier
// lasts, and while the holder works or another fault delays it.
func (x *sample) exposure(i int) time.Duration {
	e := &x.events[i]
	if e.window > 0 {
		return e.window
	}
	return e.before + x.lasts - e.beyond
}

// overruns reports whether a section outlasts its lease.
func (s *Setup) overruns(hold time.Duration) bool { return !s.Extended && hold > s.TTL*19/20 }

// population draws samples and chooses n of them in proportion to their weights. Therefore all
// chosen samples count the same: the mean weight, which population returns too.
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
	for i := range n { // one from each n-th part of the total weight
		at, _ := slices.BinarySearch(sum, (float64(i)+r.Float64())/float64(n)*total)
		chosen = append(chosen, all[min(at, size-1)])
	}
	r.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	return chosen, total / float64(size)
}

// spread returns points that fill a unit cube more evenly than random ones, with random shifts. The
// coordinates of point i are the fractions of i times inverse powers of the root of x⁴ = x+1
// (Roberts, "The unreasonable effectiveness of quasirandom sequences", 2018). Rare long pauses and
// sections decide a risk, and random points have too few or too many of them by chance. Coordinates
// after the third are random.
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

// scenario returns the scenario that simulates a sample. only selects the faults that strike;
// without it, all do.
func (x *sample) scenario(s *Setup, seed uint64, only ...int) scenario.Scenario {
	r := rand.New(rand.NewPCG(seed, 0x7269736b))
	c := scenario.Defaults()
	c.Name, c.Driver, c.Lock, c.Masters, c.Persistence = "risk", scenario.Sim, s.Lock, s.Masters, s.Persistence
	c.Replicas, c.Wait, c.Fencing, c.TTL, c.Hold, c.LongHolds, c.Extend = s.Replicas, s.Wait, s.Fencing, s.TTL, "0s", 0, 0
	if s.Extended {
		c.Extend = 1
	}
	c.Faults, c.Nemesis, c.Seed = nil, scenario.Random, seed
	c.Properties = []string{checker.MutualExclusion.Name, s.effects().Name}

	const ready = 10 * time.Millisecond
	began := ready // beginning of the acquisition, after the beginning of all faults
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

// others draws the number of other clients from a Poisson distribution, on condition that it is at
// least one. It returns at most mostOthers.
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

// effects returns the property that double effects violate.
func (s *Setup) effects() checker.Property {
	if s.Fencing {
		return checker.FencedWrites
	}
	return checker.NoStaleWrite
}

// outcome says which properties a sample violates.
type outcome struct{ exclusion, effects bool }

// run simulates a scenario with the memory of a pool, and returns the violations that the holder takes part in.
func run(ctx context.Context, pool *campaign.Pool, s *Setup, c scenario.Scenario) (outcome, error) {
	if err := c.Check(); err != nil {
		return outcome{}, &judge.HarnessError{Err: fmt.Errorf("a sample is not a scenario: %w", err)}
	}
	h, err := campaign.Record(ctx, c, campaign.Simulation{Pool: pool}.Driver(), campaign.Options{})
	if err != nil {
		return outcome{}, err
	}
	rep := checker.Check(h, checker.MutualExclusion, s.effects())
	if err := rep.Err(); err != nil {
		return outcome{}, &judge.HarnessError{Err: err}
	}
	violated := func(p checker.Property) bool {
		r := rep.Result(p)
		return r != nil && slices.ContainsFunc(r.Violations, func(v narrative.Violation) bool { return slices.Contains(v.Clients, holder) })
	}
	return outcome{violated(checker.MutualExclusion), violated(s.effects())}, nil
}
