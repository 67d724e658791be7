package search

import (
	"maps"
	"math/rand/v2"
	"slices"

	"lockpick/campaign"
)

// Exploration by coverage is the loop of AFL (Zalewski) over schedules: a schedule that brings about a
// situation that none before it did is kept, and later ones are made by changing one that was kept. Those
// with the rarest situations are changed most (as in Böhme, Pham and Roychoudhury, "Coverage-based Greybox
// Fuzzing as Markov Chain").
//
// Schedule i depends on what those before its generation brought about, and on nothing else, so the same seed
// makes the same schedules whatever the number of workers.
type guide struct {
	base campaign.Scenario
	seen map[situation]int // how many schedules brought it about
	kept []promising
	next []brought // of the generation that goes on
}

// brought is a schedule and what it brought about.
type brought struct {
	scenario   campaign.Scenario
	situations map[situation]bool
}

// promising is a schedule that brought about something new.
type promising struct {
	scenario   campaign.Scenario
	situations []situation
}

const (
	generation  = 64  // schedules that are made of the same knowledge
	changeShare = 0.5 // of schedules that change one that was kept; the others are drawn
	contenders  = 4   // kept schedules of which the one with the rarest situation is changed
	longest     = 6   // faults of a schedule that was changed
)

// checkByCoverage returns what is wrong with an exploration by coverage, as a *Problem, or nil.
func (e *ExploreOptions) checkByCoverage() error {
	switch {
	case !e.ByCoverage:
		return nil
	case !e.Shard.Whole() || e.Resume != nil:
		return &campaign.Problem{Field: "shard", Says: "a schedule that is chosen by coverage depends on all those before it, so it has no shards: leave --by-coverage out"}
	case len(e.Base.Schedule) > 0:
		return &campaign.Problem{Field: "schedule", Says: "of a scenario with a schedule only the seed and the scheduler vary, so coverage cannot choose: leave --by-coverage out"}
	}
	return nil
}

func newGuide(base campaign.Scenario) *guide {
	return &guide{base: base, seen: map[situation]int{}}
}

// learn takes the result of a schedule, in the order of their numbers. What it brought about counts from
// the next generation on.
func (g *guide) learn(s campaign.Scenario, situations map[situation]bool) {
	g.next = append(g.next, brought{s, situations})
	if len(g.next) < generation {
		return
	}
	for _, b := range g.next {
		g.keep(b)
	}
	g.next = g.next[:0]
}

// keep keeps a schedule that brought about something new, unless nothing of it could be changed.
func (g *guide) keep(b brought) {
	novel := false
	for x := range b.situations {
		novel = novel || g.seen[x] == 0
		g.seen[x]++
	}
	if novel && len(b.scenario.Schedule) > 0 {
		g.kept = append(g.kept, promising{b.scenario, slices.Collect(maps.Keys(b.situations))})
	}
}

// schedule makes schedule i.
func (g *guide) schedule(i int) campaign.Scenario {
	seed := scheduleSeed(g.base.Seed, i)
	d := &generator{random: rand.New(rand.NewPCG(seed, 0x67756964)), base: g.base}
	if len(g.kept) == 0 || !d.chance(changeShare) {
		return drawScenario(g.base, seed)
	}
	d.s = g.choose(d).scenario
	if d.chance(0.5) { // the rest of what happens, too
		d.s.Seed = seed
	}
	for range 1 + d.random.IntN(3) {
		d.change(g)
	}
	if d.s.Check() != nil {
		return drawScenario(g.base, seed)
	}
	return d.s
}

// choose draws a schedule to change.
func (g *guide) choose(d *generator) *promising {
	best, rarest := &g.kept[d.random.IntN(len(g.kept))], 0
	for n := range contenders {
		p := &g.kept[d.random.IntN(len(g.kept))]
		if r := g.rarity(p); n == 0 || r < rarest {
			best, rarest = p, r
		}
	}
	return best
}

// rarity is how often the rarest of a schedule's situations was brought about.
func (g *guide) rarity(p *promising) int {
	least := g.seen[p.situations[0]]
	for _, x := range p.situations[1:] {
		least = min(least, g.seen[x])
	}
	return least
}

// change changes one thing of a schedule.
func (d *generator) change(g *guide) {
	ttl := d.base.TTL
	steps := len(d.s.Schedule)
	i := d.random.IntN(steps)
	switch d.random.IntN(8) {
	case 0, 1: // when it strikes
		d.s = withStep(d.s, i, func(s *campaign.Step) { d.when(s, i) })
	case 2: // a little earlier or later
		d.s = withStep(d.s, i, func(s *campaign.Step) {
			by := (d.upTo(ttl/4) - ttl/8).Round(1e5)
			if s.After == "" {
				s.At = max(0, s.At+by)
			} else {
				s.Plus = max(0, s.Plus+by)
			}
		})
	case 3: // another fault in its place
		d.s = withStep(d.s, i, func(s *campaign.Step) { *s = d.step(i) })
	case 4, 5: // one more
		if steps < longest {
			d.s.Schedule = append(slices.Clone(d.s.Schedule), d.step(steps))
		}
	case 6: // one less
		if steps > 1 {
			d.s = withoutStep(d.s, i)
		}
	case 7: // and one of another schedule
		other := g.choose(d).scenario.Schedule
		if s := other[d.random.IntN(len(other))]; steps < longest && stepTrigger.FindStringSubmatch(s.After) == nil {
			d.s.Schedule = append(slices.Clone(d.s.Schedule), s)
		}
	}
}
