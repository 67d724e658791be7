package nemesis

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"lockpick/cluster"
	"lockpick/history/fault"
)

// Plan contains the faults that a nemesis may draw, and their parameters.
type Plan struct {
	Faults       []string      // names of kinds
	Targets      []string      // words for the choice of masters; empty: one, minority, majority, holders
	Interval     time.Duration // between steps, on average; 0: the TTL
	Length       time.Duration // length of the run; 0: unknown
	Clock        string        // of clock (see ParseClock); empty: drawn
	ClientClock  string        // of client-clock (see ParseClock); empty: drawn
	Delay        time.Duration // of slow-fsync; 0: 1 s
	Strict, Torn bool          // of powercut
	Outage       time.Duration // of failover; 0: drawn
	SplitBrain   bool          // of failover
	Points       []string      // of client-pause, which needs one; in the order in which a client passes them
}

// Schedule carries out explicit steps, each at its time or its trigger. It returns when ctx has
// ended and all faults have healed.
func (n *Nemesis) Schedule(ctx context.Context, steps []Step) {
	var runs []func()
	for i, step := range steps {
		random, s := n.fork(), plannedStep{Step: step, number: strconv.Itoa(i + 1)}
		wait := func() { _ = n.env.Runtime.Sleep(ctx, s.At-n.now()) }
		if s.After != "" {
			seen := n.watch.expect(ctx, trigger(s.After, n.env.KeyPrefix))
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
				if n.watch.expect(ctx, trigger(s.After, n.env.KeyPrefix))() && n.env.Runtime.Sleep(ctx, s.Plus) == nil {
					n.inject(ctx, s, random)
				}
			}
		})
	}
	for _, run := range runs { // after all triggers are set, because a step may trigger an earlier one
		n.spawn(run)
	}
	n.untilEnd(ctx)
}

// Random draws steps from plan until ctx ends, and carries them out concurrently. It returns
// when all faults have healed.
func (n *Nemesis) Random(ctx context.Context, plan Plan) {
	plan = n.begun(plan)
	for n.env.Runtime.Sleep(ctx, n.jitter(plan.Interval)) == nil {
		s, random := plannedStep{Step: n.draw(plan)}, n.fork()
		n.spawn(func() { n.inject(ctx, s, random) })
	}
	n.finish(ctx, plan)
}

// finish records the kinds that were never drawn as skipped, and waits until all faults have
// healed. ctx has ended.
func (n *Nemesis) finish(ctx context.Context, plan Plan) {
	for _, name := range plan.Faults {
		n.mu.Lock()
		tried := n.tried[name]
		n.mu.Unlock()
		if !tried {
			n.inject(ctx, plannedStep{Step: Step{Fault: name}}, n.fork())
		}
	}
	n.settle()
}

// begun prepares the nemesis to draw from plan.
func (n *Nemesis) begun(plan Plan) Plan {
	n.untried = nil
	plan.Interval = cmp.Or(plan.Interval, n.env.TTL)
	return plan
}

// untilEnd returns when ctx has ended and all faults have healed.
func (n *Nemesis) untilEnd(ctx context.Context) {
	for n.env.Runtime.Sleep(ctx, time.Hour) == nil {
	}
	n.settle()
}

// jitter returns a random time from half of d to one and a half of d.
func (n *Nemesis) jitter(d time.Duration) time.Duration {
	return d/2 + time.Duration(n.random.Int64N(int64(d)+1))
}

// draw makes a random step.
func (n *Nemesis) draw(plan Plan) Step {
	targets := plan.Targets
	if len(targets) == 0 {
		targets = []string{One, Minority, Majority, Holders}
	}
	s := n.shape(plan, n.deal(plan.Faults))
	switch kind := fault.Of(s.Fault); {
	case kind.Isolates:
		s.Masters = []string{All}
	case kind.Hits != fault.Clients:
		s.Masters = []string{pick(n.random, targets)}
		if _, _, held := n.watch.latest(n.now()); s.Masters[0] == Holders && !held && len(plan.Targets) == 0 {
			s.Masters[0] = One // unless the plan asks for holders
		}
	}
	return s
}

// deal draws the next kind of fault. Every kind comes once before any kind comes again, so that
// a short run tries all of them.
func (n *Nemesis) deal(faults []string) string {
	name := n.top(faults)
	n.untried = n.untried[1:]
	return name
}

// top returns the kind that deal will draw next.
func (n *Nemesis) top(faults []string) string {
	if len(n.untried) == 0 {
		n.untried = slices.Clone(faults)
		n.random.Shuffle(len(n.untried), func(i, j int) { n.untried[i], n.untried[j] = n.untried[j], n.untried[i] })
	}
	return n.untried[0]
}

// shape draws the parameters of a fault, except its targets.
func (n *Nemesis) shape(plan Plan, name string) Step {
	s := Step{Fault: name}
	kind := fault.Of(name)
	switch {
	case kind.EndsMaster():
		s.For, s.Strict, s.Torn = n.env.RestartDelay, plan.Strict, plan.Torn
	case kind.Hits == fault.Clients:
		// The pause is longer than the client's lease is valid, and long enough for other
		// clients to use their leases.
		s.For = 2*n.env.TTL + n.jitter(n.env.TTL/2)
		s.Point = pick(n.random, plan.Points)
	default:
		s.For = n.jitter(n.env.TTL * 3 / 4)
		s.Mode = pick(n.random, []cluster.Mode{cluster.Hold, cluster.Drop})
		s.Direction = pick(n.random, []string{Both, Requests, Replies})
		s.Delay = time.Duration(1+n.random.Int64N(3)) * n.env.TTL / 80
	}
	if kind.Hits == fault.Links && !kind.Isolates {
		s.Clients = []string{pick(n.random, []string{Any, All, Holder})}
		if _, _, held := n.watch.latest(n.now()); s.Clients[0] == Holder && !held {
			s.Clients[0] = Any
		}
	}
	if i := implementations[name]; i.shape != nil {
		i.shape(n, plan, &s)
	}
	return s
}

// drawClock draws the change of a clock. Jumps are about as long as the TTL, because shorter
// ones rarely end a lease.
func (n *Nemesis) drawClock() string {
	d := n.jitter(2 * n.env.TTL)
	return pick(n.random, []string{"+" + d.String(), "-" + d.String(), "x1.5", "x0.5", "~" + d.String()})
}

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

// without returns names except those in but.
func without(names []string, but ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(x string) bool { return slices.Contains(but, x) })
}
