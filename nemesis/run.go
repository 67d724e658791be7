package nemesis

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"lockpick/cluster"
)

// Plan says which faults a nemesis that draws its steps may use, and how.
type Plan struct {
	Faults       []string      // names of kinds
	Targets      []string      // words for masters; empty: one, minority, majority, holders
	Interval     time.Duration // between steps, on average; 0: the TTL
	Length       time.Duration // of the run; 0: unknown
	RestartDelay time.Duration // of kill, shutdown, powercut and failover
	Clock        string        // of clock (see ParseClock); empty: drawn
	ClientClock  string        // of client-clock (see ParseClock); empty: drawn
	Delay        time.Duration // of slow-fsync; 0: 1 s
	Strict, Torn bool          // of powercut
	Outage       time.Duration // of failover; 0: drawn
	SplitBrain   bool          // of failover
	Points       []string      // of client-pause, in the order in which a client passes them: at least one, if it is among the faults
}

// Schedule carries out explicit steps, each at its time or at its trigger. It
// returns when ctx has ended and all faults have healed.
func (n *Nemesis) Schedule(ctx context.Context, steps []Step) {
	var runs []func()
	for i, s := range steps {
		random := n.fork()
		s.number = strconv.Itoa(i + 1)
		wait := func() { _ = n.env.Runtime.Sleep(ctx, s.At-n.now()) }
		if s.After != "" {
			seen := n.watch.expect(ctx, trigger(s.After))
			wait = func() {
				if seen() {
					_ = n.env.Runtime.Sleep(ctx, s.Plus)
				}
			}
		}
		runs = append(runs, func() {
			wait()
			n.inject(ctx, s, random)
			for s.Repeat && ctx.Err() == nil {
				if n.watch.expect(ctx, trigger(s.After))() && n.env.Runtime.Sleep(ctx, s.Plus) == nil {
					n.inject(ctx, s, random)
				}
			}
		})
	}
	for _, run := range runs { // only now: a step may trigger one that stands before it
		n.spawn(run)
	}
	n.untilEnd(ctx)
}

// Random draws steps from plan until ctx ends, each beside the ones before. It
// returns when all faults have healed.
func (n *Nemesis) Random(ctx context.Context, plan Plan) {
	plan = n.begun(plan)
	for n.env.Runtime.Sleep(ctx, n.around(plan.Interval)) == nil {
		s, random := n.draw(plan), n.fork()
		n.spawn(func() { n.inject(ctx, s, random) })
	}
	n.finish(ctx, plan)
}

// finish records the kinds whose turn never came as skipped, and waits until all faults
// have healed. ctx has ended.
func (n *Nemesis) finish(ctx context.Context, plan Plan) {
	for _, name := range plan.Faults {
		n.mu.Lock()
		tried := n.tried[name]
		n.mu.Unlock()
		if !tried {
			n.inject(ctx, Step{Fault: name}, n.fork())
		}
	}
	n.settle()
}

// begun readies the nemesis to draw from plan.
func (n *Nemesis) begun(plan Plan) Plan {
	n.pack = nil
	plan.Interval = cmp.Or(plan.Interval, n.env.TTL)
	return plan
}

// untilEnd sleeps until ctx has ended and all faults have healed.
func (n *Nemesis) untilEnd(ctx context.Context) {
	for n.env.Runtime.Sleep(ctx, time.Hour) == nil {
	}
	n.settle()
}

// around is a random time between a half and one and a half of d.
func (n *Nemesis) around(d time.Duration) time.Duration {
	return d/2 + time.Duration(n.random.Int64N(int64(d)+1))
}

// draw makes a step at random.
func (n *Nemesis) draw(plan Plan) Step {
	targets := plan.Targets
	if len(targets) == 0 {
		targets = []string{One, Minority, Majority, Holders}
	}
	s := n.shape(plan, n.deal(plan.Faults))
	if kind, _ := KindNamed(s.Fault); kind.Hits != "clients" {
		s.Masters = []string{pick(n.random, targets)}
		if _, _, held := n.watch.latest(n.now()); s.Masters[0] == Holders && !held && len(plan.Targets) == 0 {
			s.Masters[0] = One // better than nothing, where nobody asked for holders
		}
	}
	return s
}

// deal draws a kind of fault as from a pack of cards: every kind comes once before
// any comes again, so that a short run tries them all.
func (n *Nemesis) deal(faults []string) string {
	name := n.top(faults)
	n.pack = n.pack[1:]
	return name
}

// top is the kind that deal will draw next.
func (n *Nemesis) top(faults []string) string {
	if len(n.pack) == 0 {
		n.pack = slices.Clone(faults)
		n.random.Shuffle(len(n.pack), func(i, j int) { n.pack[i], n.pack[j] = n.pack[j], n.pack[i] })
	}
	return n.pack[0]
}

// shape draws what a fault of that name looks like, but for its targets.
func (n *Nemesis) shape(plan Plan, name string) Step {
	s := Step{Fault: name}
	switch kind, _ := KindNamed(name); {
	case kind.restart:
		s.For, s.Strict, s.Torn = plan.RestartDelay, plan.Strict, plan.Torn
	case kind.Hits == "clients":
		// Longer than the lease that it holds is valid, and time for others to use theirs.
		s.For = 2*n.env.TTL + n.around(n.env.TTL/2)
		s.Point = pick(n.random, plan.Points)
	default:
		s.For = n.around(n.env.TTL * 3 / 4)
		s.Mode = pick(n.random, []cluster.Mode{cluster.Hold, cluster.Drop})
		s.Direction = pick(n.random, []string{Both, Requests, Replies})
		s.Delay = time.Duration(1+n.random.Int64N(3)) * n.env.TTL / 80
	}
	switch name {
	case "failover":
		s.Outage, s.SplitBrain = plan.Outage, plan.SplitBrain
	case "clock":
		if s.Clock = plan.Clock; s.Clock == "" {
			s.Clock = n.drawClock()
		}
	case "client-clock":
		if s.Clock = plan.ClientClock; s.Clock == "" {
			d := n.around(2 * n.env.TTL).String()
			s.Clock = pick(n.random, []string{"x0.5", "x0.9", "x1.1", "x2", "+" + d, "-" + d})
		}
		s.Clients = []string{Any}
	case "slow-fsync":
		s.Delay = plan.Delay
	case "client-kill":
		s.Point = pick(n.random, plan.Points[1:]) // the first lies within the lock: no client is there yet
	}
	if name == "partition" || name == "slow" || name == "reset" {
		s.Clients = []string{pick(n.random, []string{Any, All, Holder})}
		if _, _, held := n.watch.latest(n.now()); s.Clients[0] == Holder && !held {
			s.Clients[0] = Any
		}
	}
	return s
}

// drawClock draws what a clock does: jumps of about the TTL, which is what matters.
func (n *Nemesis) drawClock() string {
	d := n.around(2 * n.env.TTL)
	return pick(n.random, []string{"+" + d.String(), "-" + d.String(), "x1.5", "x0.5", "~" + d.String()})
}

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

// without leaves out some names.
func without(names []string, but ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(x string) bool { return slices.Contains(but, x) })
}
