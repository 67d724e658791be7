package risk

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"lockpick/campaign"
	"lockpick/campaign/scenario"
	"lockpick/internal/crew"
	"lockpick/search"
)

// Options configures an estimate.
type Options struct {
	Setup   Setup
	Samples int  // of each kind of fault; 0: 1,000. Pairs and other setups get fewer
	WhatIf  bool // estimate other setups too
	Seed    uint64
	Live    search.Live // of samples; may be nil
}

// ResultFile is the name of the file in which a store keeps an estimate.
const ResultFile = "risk.json"

// Result is an estimate.
type Result struct {
	Setup     Setup         `json:"setup"`
	Exclusion Interval      `json:"mutual_exclusion"` // violations of L2 per year
	Effects   Interval      `json:"double_effects"`   // violations per year of L4, or of L5 with fencing
	Causes    []Cause       `json:"causes"`           // sorted, the largest first
	LeftOut   float64       `json:"left_out"`         // bound per year: three faults or more, or very rare pairs
	Contended float64       `json:"contended"`        // share of acquisitions that find their key held
	Not       []string      `json:"not_covered"`
	WhatIf    []Alternative `json:"what_if,omitempty"`
	Samples   int           `json:"samples"` // number simulated
	Seed      uint64        `json:"seed"`
	Elapsed   time.Duration `json:"elapsed"` // ns
	Stopped   bool          `json:"interrupted"`
}

// Cause is the effect of one kind of fault, or of a pair of faults.
type Cause struct {
	Name      string   `json:"name"`
	Faults    int      `json:"faults"`   // number of faults that meet: 0, 1 or 2
	PerYear   float64  `json:"per_year"` // number of times that acquisitions, the faults and another client meet
	Samples   int      `json:"samples"`  // number simulated
	Exclusion Interval `json:"mutual_exclusion"`
	Effects   Interval `json:"double_effects"`
	Example   string   `json:"example,omitempty"` // a scenario with a violation, in YAML

	of    []*cause
	rates []int // their indexes
	l2    part
	l4    part
	meets float64 // of a pair: PerYear with the highest rates
}

// Alternative is the same deployment with one thing changed.
type Alternative struct {
	Name      string   `json:"name"`
	Exclusion Interval `json:"mutual_exclusion"`
	Effects   Interval `json:"double_effects"`
}

// Pairs of faults get 1/pairShare of the samples of one kind of fault, but at least leastPairs. In
// other setups, causes that violated nothing get 1/otherShare.
const (
	pairShare  = 5
	otherShare = 4
	leastPairs = 40
)

// rare is the number of meetings per year, of a pair of faults, an acquisition and another client,
// below which the pair is not simulated. If every meeting were a violation, there would be one in
// 10,000 years.
const rare = 1e-4

// Estimate estimates a risk. When ctx ends, it returns a result with the causes that are complete.
// An error on invalid options is a *scenario.Problem.
func Estimate(ctx context.Context, o Options) (*Result, error) {
	if err := o.Setup.Check(); err != nil {
		return nil, err
	}
	if o.Samples == 0 {
		o.Samples = 1000
	}
	if o.Samples < 50 || o.Samples > 1_000_000 {
		return nil, &scenario.Problem{Field: "samples", Says: fmt.Sprintf("%d is out of range: 50 to 1000000", o.Samples)}
	}
	began := time.Now()
	e := &estimator{live: o.Live}
	var others []Alternative
	var setups []Setup
	if o.WhatIf {
		others, setups = alternatives(o.Setup)
	}
	e.of = budget(&o.Setup, o.Samples)
	for i := range setups { // assume all samples for each cause, until it is known which causes need fewer
		e.of += budget(&setups[i], o.Samples)
	}
	r, err := e.estimate(ctx, o.Setup, func(string) int { return o.Samples }, o.Seed, "")
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, c := range r.Causes {
		found[c.Name] = c.Exclusion.Expected+c.Effects.Expected > 0
	}
	fewer := func(cause string) int {
		if found[cause] {
			return o.Samples // the same samples, so that only the setup differs, and not chance
		}
		return max(o.Samples/otherShare, 50)
	}
	for i := range others {
		if ctx.Err() != nil {
			break
		}
		x, err := e.estimate(ctx, setups[i], fewer, o.Seed, others[i].Name+": ")
		if err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			break // some of its causes are missing
		}
		others[i].Exclusion, others[i].Effects = x.Exclusion, x.Effects
		r.WhatIf = append(r.WhatIf, others[i])
	}
	slices.SortStableFunc(r.WhatIf, func(a, b Alternative) int {
		return cmp.Compare(a.Exclusion.Expected+a.Effects.Expected, b.Exclusion.Expected+b.Effects.Expected)
	})
	r.Not, r.Seed, r.Samples, r.Elapsed, r.Stopped = notCovered(&o.Setup), o.Seed, e.done, time.Since(began), ctx.Err() != nil
	return r, nil
}

// estimator counts the samples of all setups together.
type estimator struct {
	live     search.Live
	done, of int
}

// possible lists the causes that a setup can have.
func possible(s *Setup) (list []*cause) {
	for i := range causes {
		if causes[i].possible(s) {
			list = append(list, &causes[i])
		}
	}
	return list
}

// budget returns the maximum number of samples of an estimate.
func budget(s *Setup, samples int) int {
	n := len(possible(s))
	return samples*(n+1) + n*(n+1)/2*pairsOf(samples)
}

func pairsOf(samples int) int { return max(samples/pairShare, leastPairs) }

// estimate estimates one setup. where is the beginning of its status.
func (e *estimator) estimate(ctx context.Context, s Setup, samples func(cause string) int, seed uint64, where string) (*Result, error) {
	kinds := possible(&s)
	var rates []Rate
	for _, c := range kinds {
		rates = append(rates, c.rate(&s))
	}
	var all []Cause
	if s.Hold.Most() > s.TTL*19/20 && !s.Extended {
		all = append(all, Cause{Name: "a section that outlasts its lease"})
	}
	for i, c := range kinds {
		all = append(all, Cause{Name: c.name, of: []*cause{c}, rates: []int{i}})
	}
	for i, c := range kinds {
		for j, d := range kinds[i:] {
			name := c.name + ", and " + d.name
			if j == 0 {
				name = "twice: " + c.name
			}
			all = append(all, Cause{Name: name, of: []*cause{c, d}, rates: []int{i, i + j}})
		}
	}
	r := rand.New(rand.NewPCG(seed, 0x72617465))
	for i := range all {
		n := samples(all[i].Name)
		if len(all[i].of) == 2 {
			n = pairsOf(n)
		}
		series := e.sample(&s, &all[i], rates, n, rand.New(rand.NewPCG(seed, xxhash.Sum64String(all[i].Name))))
		if series == nil {
			continue
		}
		before := e.done
		engine := search.Engine[outcome]{Crew: crew.Of(0), Live: func(now string, done, _ int) {
			if e.done = before + done; e.live != nil {
				e.live(e.done, e.of, func() string { return fmt.Sprintf("%d of at most %d samples; now %s%s", e.done, e.of, where, now) })
			}
		}}
		if err := engine.Run(ctx, series); err != nil {
			return nil, err
		}
	}
	out := &Result{Setup: s, Contended: min(s.perKey()*s.Hold.Mean().Seconds(), 1), LeftOut: leftOut(&s, kinds, rates, r)}
	var l2, l4 []part
	for i := range all {
		c := &all[i]
		c.Faults, c.Samples = len(c.of), c.l2.n
		if c.l2.n == 0 {
			out.LeftOut += c.meets
			continue
		}
		c.PerYear = c.l2.weight
		for _, j := range c.l2.rates {
			c.PerYear *= rates[j].Mid()
		}
		c.Exclusion, c.Effects = sum([]part{c.l2}, rates, r), sum([]part{c.l4}, rates, r)
		l2, l4 = append(l2, c.l2), append(l4, c.l4)
	}
	out.Exclusion, out.Effects = sum(l2, rates, r), sum(l4, rates, r)
	all = slices.DeleteFunc(all, func(c Cause) bool { return c.Samples == 0 })
	slices.SortStableFunc(all, func(a, b Cause) int {
		x, y := a.Exclusion.Expected+a.Effects.Expected, b.Exclusion.Expected+b.Effects.Expected
		if x == 0 && y == 0 {
			x, y = a.Exclusion.High+a.Effects.High, b.Exclusion.High+b.Effects.High
		}
		return cmp.Compare(y, x)
	})
	out.Causes = all
	return out, nil
}

// sample returns the series of n samples of one cause, or nil if it is not simulated. The series counts the samples with a
// violation, once all are done.
func (e *estimator) sample(s *Setup, c *Cause, rates []Rate, n int, r *rand.Rand) *search.Series[outcome] {
	chosen, mean := population(s, c.of, n, r)
	// Acquisitions are per second, rates per year, and mean is in seconds to the power of the
	// number of faults. The weight must leave a number per year: without faults, the acquisitions
	// become those of a year; of two rates, the second one becomes a rate per second.
	weight := s.Acquisitions * mean
	switch len(c.of) {
	case 0:
		weight *= yearSeconds
	case 2:
		weight /= yearSeconds
		if c.of[0] == c.of[1] {
			weight /= 2 // count each pair once
		}
	}
	if len(c.of) == 2 {
		if c.meets = weight * rates[c.rates[0]].High * rates[c.rates[1]].High; c.meets < rare {
			e.of -= n
			return nil
		}
	}
	seeds := make([]uint64, len(chosen))
	for i := range seeds {
		seeds[i] = r.Uint64()
	}
	got := make([]*outcome, len(chosen))
	return &search.Series[outcome]{
		Name: c.Name, Count: len(chosen),
		At: func(i int) string { return fmt.Sprintf("%s: seed %d", c.Name, seeds[i]) },
		Try: func(ctx context.Context, pool *campaign.Pool, i int) (*outcome, error) {
			x, err := c.violates(ctx, pool, s, &chosen[i], seeds[i])
			if err != nil || ctx.Err() != nil {
				return nil, err
			}
			return &x, nil
		},
		Done: func(i int, x *outcome, _ time.Duration) int {
			got[i] = x
			return math.MaxInt
		},
		Over: func() {
			if slices.Contains(got, nil) {
				return // an interrupted cause proves nothing
			}
			c.l2 = part{weight: weight, rates: c.rates, n: len(got)}
			c.l4 = c.l2
			for i, x := range got {
				if x.exclusion {
					c.l2.hits++
				}
				if x.effects {
					c.l4.hits++
				}
				if *x != (outcome{}) && c.Example == "" {
					example := chosen[i].scenario(s, seeds[i])
					if text, err := example.YAML(); err == nil {
						c.Example = string(text)
					}
				}
			}
		},
	}
}

// violates simulates a sample. It ignores violations that other causes count: those that also occur
// with one fault of a pair alone, or without the fault in a section that outlasts its lease.
func (c *Cause) violates(ctx context.Context, pool *campaign.Pool, s *Setup, x *sample, seed uint64) (outcome, error) {
	got, err := run(ctx, pool, s, x.scenario(s, seed))
	if err != nil || got == (outcome{}) || len(c.of) == 0 {
		return got, err
	}
	without := [][]int{{-1}} // none of the faults
	if len(c.of) == 2 {
		without = [][]int{{0}, {1}}
	} else if !s.overruns(x.hold) {
		return got, nil // only the fault can be the cause
	}
	for _, only := range without {
		alone, err := run(ctx, pool, s, x.scenario(s, seed, only...))
		if err != nil {
			return got, err
		}
		got.exclusion, got.effects = got.exclusion && !alone.exclusion, got.effects && !alone.effects
	}
	return got, nil
}

// leftOut bounds the number of violations per year with three faults or more: it counts each
// meeting of three faults and another client in an acquisition as a violation. It uses the highest
// rates of the ranges.
func leftOut(s *Setup, kinds []*cause, rates []Rate, r *rand.Rand) float64 {
	const size = 20_000
	total := 0.0
	for range size {
		x := newSample(s, kinds, func(int) float64 { return r.Float64() }, r)
		if len(kinds) == 0 {
			return 0
		}
		met := 0.0
		for i, seconds := range x.exposed {
			met += rates[i].High / yearSeconds * seconds
		}
		// Poisson: the probability of three faults or more.
		p := -math.Expm1(-met) - met*math.Exp(-met) - met*met/2*math.Exp(-met)
		if met < 1e-3 {
			p = met * met * met / 6 // the difference above would be only a rounding error
		}
		total += p * -math.Expm1(-s.comers(x.lasts))
	}
	return s.Acquisitions * yearSeconds * total / size
}
