package search

import (
	"math/rand/v2"
	"slices"

	"lockpick/campaign/scenario"
)

// guide chooses the schedules of an exploration by coverage: the loop of the fuzzer AFL (Zalewski) over
// schedules. The coverage of a schedule is the set of situations that it reaches. For each situation the
// guide keeps one schedule that reaches it. Some schedules are drawn as in every exploration. The others are
// mutations of a kept schedule, preferably one that reaches a rare situation (as in Böhme, Pham and
// Roychoudhury, "Coverage-based Greybox Fuzzing as Markov Chain").
//
// Schedule i depends on the results of the first known(i) schedules, and on nothing else. So the same seed
// gives the same schedules whatever the number of workers.
//
// The guide keeps at most one schedule for each situation. There are a few thousand situations: the product
// of the kinds of fault, the steps of the protocol and small counts.
type guide struct {
	base    scenario.Scenario
	corpus  []kept
	index   map[situation]int // position of the entry in corpus
	learned int               // number of schedules whose situations are in the corpus
	waiting []reached         // results of the schedules from learned on
}

// reached is a schedule and the situations that it reached, each once and sorted.
type reached struct {
	scenario   scenario.Scenario // with an explicit schedule, even if a nemesis chose the faults
	situations []situation
}

// kept is the entry of a situation in the corpus.
type kept struct {
	times    int               // number of schedules that reached the situation
	scenario scenario.Scenario // the latest of those with the fewest steps; without steps: none can be mutated
}

const (
	mutationShare   = 0.5 // share of the schedules; the others are drawn
	candidates      = 4   // random situations drawn to choose a schedule; the rarest one decides
	mostMutations   = 3   // of one schedule
	longestSchedule = 8   // most steps of a schedule that is kept or mutated
)

// ErrShardByCoverage is the error for a shard of an exploration by coverage.
var ErrShardByCoverage error = &scenario.Problem{
	Field: "by-coverage",
	Says:  "a schedule that is chosen by coverage depends on the results of earlier ones, so machines cannot share the schedules: leave out --by-coverage, or --shard and --out",
}

// checkByCoverage returns a *scenario.Problem if an exploration by coverage is impossible, otherwise nil.
func (e *ExploreOptions) checkByCoverage() error {
	switch {
	case !e.ByCoverage:
		return nil
	case !e.Shard.Whole() || e.Resume != nil:
		return ErrShardByCoverage
	case len(e.Base.Schedule) > 0:
		return &scenario.Problem{Field: "by-coverage", Says: "of a scenario with a schedule only the seed and the scheduler vary, so there is nothing to choose: leave out --by-coverage"}
	}
	return nil
}

func newGuide(base scenario.Scenario) *guide {
	return &guide{base: base, index: map[situation]int{}}
}

// known returns how many results schedule i depends on. Up to i-known(i) workers are busy at once: 8 in the
// beginning, where each result matters most, and 64 from schedule 448 on.
func known(i int) int { return max(0, i-min(64, 8+i/8)) }

// ready reports whether schedule i can be made, given that the results of the first n schedules are known.
func (g *guide) ready(i, n int) bool { return n >= known(i) }

// learn queues the result of a schedule for the corpus. The results come in the order of the schedules'
// numbers.
func (g *guide) learn(r reached) {
	if len(r.scenario.Schedule) > longestSchedule || r.scenario.Check() != nil {
		r.scenario = scenario.Scenario{} // its situations count, but it is never mutated
	}
	g.waiting = append(g.waiting, r)
}

// keep adds the situations that the first n schedules reached to the corpus.
func (g *guide) keep(n int) {
	n -= g.learned
	for _, r := range g.waiting[:n] {
		for _, x := range r.situations {
			at, ok := g.index[x]
			if !ok {
				at = len(g.corpus)
				g.index[x] = at
				g.corpus = append(g.corpus, kept{})
			}
			k := &g.corpus[at]
			k.times++
			if steps, best := len(r.scenario.Schedule), len(k.scenario.Schedule); steps > 0 && (best == 0 || steps <= best) {
				k.scenario = r.scenario
			}
		}
	}
	g.waiting = slices.Delete(g.waiting, 0, n)
	g.learned += n
}

// schedule makes schedule i. The schedules are made in the order of their numbers.
func (g *guide) schedule(i int) scenario.Scenario {
	g.keep(known(i))
	seed := ScheduleSeed(g.base.Seed, i)
	d := &generator{random: rand.New(rand.NewPCG(seed, 0x67756964)), base: g.base}
	if !d.chance(mutationShare) {
		return drawScenario(g.base, seed)
	}
	parent, ok := g.choose(d)
	if !ok {
		return drawScenario(g.base, seed)
	}
	d.s = parent
	if d.chance(0.5) { // otherwise all random choices stay the same up to the first mutation
		d.redraw(seed)
	}
	mutated := false
	for range 1 + d.random.IntN(mostMutations) {
		before := d.s
		if d.mutate(g) && d.s.Check() == nil {
			mutated = true
		} else {
			d.s = before
		}
	}
	if !mutated { // otherwise it would equal its parent
		d.redraw(seed)
	}
	return d.s
}

// choose draws a schedule to mutate: the one kept for the rarest of some random situations.
func (g *guide) choose(d *generator) (s scenario.Scenario, ok bool) {
	rarest := 0
	for range min(candidates, len(g.corpus)) {
		k := &g.corpus[d.random.IntN(len(g.corpus))]
		if len(k.scenario.Schedule) > 0 && (!ok || k.times < rarest) {
			s, rarest, ok = k.scenario, k.times, true
		}
	}
	return s, ok
}

// redraw gives the schedule another seed, and draws again the behaviour of the clients: their number, hold
// times, running time and order.
func (d *generator) redraw(seed uint64) {
	steps, clients := d.s.Schedule, d.s.Clients
	d.s = drawFrom(d.base, seed, rand.NewPCG(seed, 0x636c69656e7473), 0)
	d.s.Schedule, d.s.Clients = steps, max(clients, d.s.Clients)
}

// mutate changes one thing about the schedule, and reports whether it could. The result may be invalid.
func (d *generator) mutate(g *guide) bool {
	ttl := d.base.TTL
	steps := len(d.s.Schedule)
	i := d.random.IntN(steps)
	switch d.random.IntN(8) {
	case 0, 1: // another time or trigger
		d.s = WithStep(d.s, i, func(s *scenario.Step) {
			s.At, s.After, s.Plus, s.Repeat = 0, "", 0, false
			d.when(s, i)
		})
	case 2: // a little earlier or later
		d.s = WithStep(d.s, i, func(s *scenario.Step) {
			by := (d.upTo(ttl/4) - ttl/8).Round(1e5)
			if s.After == "" {
				s.At = max(0, s.At+by)
			} else {
				s.Plus = max(0, s.Plus+by)
			}
		})
	case 3: // another fault in its place
		d.s = WithStep(d.s, i, func(s *scenario.Step) { *s = d.step(i) })
	case 4, 5: // an additional fault
		if steps >= longestSchedule {
			return false
		}
		d.s.Schedule = append(slices.Clone(d.s.Schedule), d.step(steps))
	case 6: // one fault fewer
		if steps == 1 {
			return false
		}
		d.s = WithoutStep(d.s, i)
	case 7: // an additional fault, from another kept schedule, unless a step of that schedule triggers it
		other, ok := g.choose(d)
		if !ok || steps >= longestSchedule {
			return false
		}
		s := other.Schedule[d.random.IntN(len(other.Schedule))]
		if stepTrigger.MatchString(s.After) {
			return false
		}
		d.s.Schedule = append(slices.Clone(d.s.Schedule), s)
	}
	return true
}

// reached returns the number of distinct situations that the schedules reached.
func (g *guide) reached() int {
	fresh := map[situation]bool{}
	for _, r := range g.waiting {
		for _, x := range r.situations {
			if _, known := g.index[x]; !known {
				fresh[x] = true
			}
		}
	}
	return len(g.corpus) + len(fresh)
}
