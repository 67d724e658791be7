package nemesis

import (
	"context"
	"errors"
	"slices"
	"time"

	"lockpick/cluster"
	"lockpick/history"
)

// Guided reads the votes and strikes where exclusion hangs on a thread, until ctx
// ends. It returns when all faults have healed.
//
// A lease that k masters voted for is protected as long as fewer than a quorum are
// free for another: those that did not vote, N−k, and those that forgot. So it takes
// k−(N−quorum) of them to forget while the lease is valid, which is k−⌊N/2⌋ for an odd
// N and one more for an even one. If partitions are allowed, half of the clients
// are cut from a minority beforehand: of what they acquire, k is a bare quorum, and
// a single master decides; the others are there to take its vote.
func (n *Nemesis) Guided(ctx context.Context, plan Plan) {
	plan = n.begun(plan)
	n.background(ctx, plan)
	cut := slices.Contains(plan.Faults, "partition")
	lag := slices.Contains(plan.Faults, "failover")
	for ctx.Err() == nil {
		mend := func() {}
		if cut {
			mend = n.thin(ctx)
		}
		if lag { // what is granted from now on, replicas have not heard of
			n.lag(ctx, true)
		}
		if l, ok := n.acquisition(ctx); ok {
			n.strike(ctx, plan, l)
		}
		if lag {
			n.lag(context.WithoutCancel(ctx), false)
		}
		mend()
		if n.env.Runtime.Sleep(ctx, n.around(plan.Interval/2)) != nil {
			break
		}
	}
	n.settle()
}

// background installs, for the whole run and on all masters, what is no strike by
// itself: a disk that lies or is slow, a clock that drifts or strobes.
func (n *Nemesis) background(ctx context.Context, plan Plan) {
	for _, name := range plan.Faults {
		if !n.lasts(name, plan) {
			continue
		}
		s := n.shape(plan, name)
		s.Masters, s.For, s.guided = []string{All}, 24*time.Hour, true
		random := n.fork()
		n.spawn(func() { n.inject(ctx, s, random) })
	}
}

// lasts says whether a fault is installed for the whole run.
func (n *Nemesis) lasts(name string, plan Plan) bool {
	kind, _ := KindNamed(name)
	c, strobe, err := ParseClock(plan.Clock)
	return kind.lasting || name == "clock" && err == nil && (c.Rate != 0 || strobe)
}

// lag holds all masters' replication, or lets it go on. A master that has no replicas,
// or is down, is none of our business.
func (n *Nemesis) lag(ctx context.Context, held bool) {
	_ = n.holdReplication(ctx, n.env.Cluster.Masters(), held)
}

// thin cuts half of the clients from a minority of the masters, and returns what
// ends that.
func (n *Nemesis) thin(ctx context.Context) (mend func()) {
	until, end := n.env.Runtime.WithCancelCause(ctx)
	clients := slices.Clone(n.env.Clients)
	n.random.Shuffle(len(clients), func(i, j int) { clients[i], clients[j] = clients[j], clients[i] })
	clients = clients[:(len(clients)+1)/2]
	slices.Sort(clients)
	s := Step{
		Fault: "partition", Masters: []string{Minority}, Clients: clients, For: 6 * n.env.TTL,
		Mode: pick(n.random, []cluster.Mode{cluster.Hold, cluster.Drop}), Direction: Both, guided: true,
	}
	random := n.fork()
	n.spawn(func() { n.inject(until, s, random) })
	return func() { end(errStruck) }
}

var errStruck = errors.New("struck")

// lateVotes is how long after an acquisition the votes that it did not wait for are
// still awaited.
const lateVotes = 5 * time.Millisecond

// acquisition waits for the next one, but not for ever: clients may be out of luck.
func (n *Nemesis) acquisition(ctx context.Context) (lease, bool) {
	op, ok := n.watch.await(ctx, 3*n.env.TTL, func(op history.Op) bool {
		return op.F == history.FAcquire && op.Type == history.OK
	})
	if !ok || n.env.Runtime.Sleep(ctx, lateVotes) != nil {
		return lease{}, false
	}
	return lease{client: op.Process, key: op.Key, token: op.Value.Token, until: op.Value.ValidUntil}, true
}

// strike hits the lease that was just granted, and returns when the fault has healed.
func (n *Nemesis) strike(ctx context.Context, plan Plan, l lease) {
	faults := slices.DeleteFunc(slices.Clone(plan.Faults), func(name string) bool { return n.lasts(name, plan) })
	if others := without(faults, "partition", "slow", "reset"); len(others) > 0 {
		faults = others // partitions have their part in it already
	}
	if len(faults) == 0 {
		return
	}
	s := n.shape(plan, n.deal(faults))
	kind, _ := KindNamed(s.Fault)
	voters := n.watch.votersOf(l.token)
	switch {
	case s.Fault == "client-clock": // of any client, for as long as it lasts
	case kind.Hits == "clients":
		// What it has passed already it will pass in its next section. The last point is
		// the one where the lease that it holds now is at stake.
		s.Clients = []string{l.client}
		if n.random.IntN(3) > 0 {
			s.Point = plan.Points[len(plan.Points)-1]
		}
	case len(voters) == 0: // released already
		return
	case kind.forgets:
		s.held = s.Fault == "failover"
		if s.Fault == "clock" && plan.Clock == "" {
			s.Clock = "+" + n.around(2*n.env.TTL).String() // forward: it ends keys before their time
		}
		all := len(n.env.Cluster.Masters())
		spare := max(1, len(voters)-(all-(all/2+1)))
		n.random.Shuffle(len(voters), func(i, j int) { voters[i], voters[j] = voters[j], voters[i] })
		s.Masters = voters[:min(spare, len(voters))]
	default: // what holds the lease cannot be reached, or answers too late
		s.Masters = voters
		if kind.Hits == "links" {
			s.Clients = []string{l.client}
		}
	}
	s.guided = true
	if c, _, err := ParseClock(s.Clock); s.Fault == "clock" && err == nil && c.Offset < 0 {
		// To set it right again would be a jump forward, a fault of its own: it stays as
		// it is until the run ends.
		s.For = 24 * time.Hour
		random := n.fork()
		n.spawn(func() { n.inject(ctx, s, random) })
		return
	}
	n.inject(ctx, s, n.fork())
}
