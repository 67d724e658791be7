package nemesis

import (
	"context"
	"errors"
	"slices"
	"time"

	"lockpick/cluster"
	"lockpick/history"
	"lockpick/history/fault"
)

// Guided reads the votes, and injects faults when mutual exclusion depends on few masters,
// until ctx ends. It returns when all faults have healed. Each of these faults is a strike.
//
// A lease that k masters voted for is protected as long as fewer than a quorum of masters are
// free for another one: the N−k masters that did not vote for it, and those that lost its key.
// So k−(N−quorum) of them must lose the key while the lease is valid, which is k−⌊N/2⌋ for an
// odd N and one more for an even one. If partitions are allowed, half of the clients are cut
// off from a minority first. Then k is exactly a quorum for their leases, a single master
// decides, and the other clients can take its vote.
//
// Every kind in the plan strikes within the first quarter of the run: at the next lease, or, if
// its time comes without one, at an older lease or at random. Until then strikes may overlap;
// afterwards each waits until the previous one has healed.
//
// If clients get leases and no vote is recorded, Guided continues at random.
//
// The servers of a service give no votes of their own: they agree among themselves. Then each strike comes at once after
// a grant, at its client, or at the plan's targets.
func (n *Nemesis) Guided(ctx context.Context, plan Plan) {
	plan = n.begun(plan)
	n.background(ctx, plan)
	voteless := n.voteless()
	cut := slices.ContainsFunc(plan.Faults, cuts) && !voteless
	strikes := n.strikes(plan)
	if len(strikes) == 0 {
		n.untilEnd(ctx)
	}
	for debut := n.newDebut(strikes, plan); ctx.Err() == nil; {
		if !voteless && n.watch.blind() {
			n.unguided(ctx, plan)
			return
		}
		mend := func() {}
		if cut {
			mend = n.narrowQuorum(ctx)
		}
		n.strike(ctx, plan, strikes, debut)
		mend()
		if n.env.Runtime.Sleep(ctx, min(n.jitter(plan.Interval/2), debut.left(n.now()))) != nil {
			break
		}
	}
	n.finish(ctx, plan)
}

// unguided continues at random because there are no votes.
func (n *Nemesis) unguided(ctx context.Context, plan Plan) {
	n.env.History.Record(history.Op{
		Process: history.Nemesis, Type: history.Info, F: history.FUnguided,
		Error: "no votes of masters could be observed: the guided nemesis strikes at random",
	})
	plan.Faults = slices.DeleteFunc(slices.Clone(plan.Faults), func(name string) bool { return n.lasts(name, plan) })
	if len(plan.Faults) == 0 {
		n.untilEnd(ctx)
		return
	}
	n.Random(ctx, plan)
}

// strikes returns the kinds that are used for strikes. A partition narrows quorums before each
// strike, and is a strike of its own only if there is no other kind.
func (n *Nemesis) strikes(plan Plan) []string {
	faults := slices.DeleteFunc(slices.Clone(plan.Faults), func(name string) bool { return n.lasts(name, plan) })
	if others := slices.DeleteFunc(slices.Clone(faults), cuts); len(others) > 0 && !n.voteless() {
		return others
	}
	return faults
}

// cuts reports whether a kind of fault is a partition that can narrow quorums.
func cuts(name string) bool {
	kind := fault.Of(name)
	return kind.Link == fault.CutLink && kind.Hits == fault.Links && !kind.Isolates
}

// voteless reports whether the masters give no votes, because they agree among themselves.
func (n *Nemesis) voteless() bool {
	_, is := n.env.Cluster.(cluster.Peered)
	return is
}

// debut spreads the first strikes of all kinds over the first quarter of the run.
type debut struct {
	begun    time.Duration
	quarter  time.Duration // 0: the length of the run is unknown, and no strike is ever due
	kinds    int
	injected int // number of kinds that have struck
}

func (n *Nemesis) newDebut(strikes []string, plan Plan) *debut {
	return &debut{begun: n.now(), quarter: plan.Length / 4, kinds: len(strikes)}
}

// complete reports whether every kind has struck once.
func (d *debut) complete() bool { return d.injected == d.kinds }

// left returns the time until the next kind's first strike is due, at least 0. When all kinds
// have struck, it returns a time longer than any run.
func (d *debut) left(now time.Duration) time.Duration {
	if d.complete() || d.quarter == 0 {
		return forever
	}
	due := d.begun + d.quarter*time.Duration(d.injected+1)/time.Duration(d.kinds+1)
	return max(0, due-now)
}

const forever = 10_000 * time.Hour

// background installs the faults that are not strikes, for the whole run and on all masters: a
// disk that lies or is slow, a clock that drifts or strobes.
func (n *Nemesis) background(ctx context.Context, plan Plan) {
	for _, name := range plan.Faults {
		if !n.lasts(name, plan) {
			continue
		}
		s := n.shape(plan, name)
		s.Masters, s.For = []string{All}, 24*time.Hour
		random := n.fork()
		n.spawn(func() { n.inject(ctx, plannedStep{Step: s, guided: true}, random) })
	}
}

// lasts reports whether a fault is installed for the whole run.
func (n *Nemesis) lasts(name string, plan Plan) bool {
	kind := fault.Of(name)
	c, strobe, err := ParseClock(plan.Clock)
	return kind.Lasts() || kind.Clock == fault.MasterClock && err == nil && (c.Rate != 0 || strobe)
}

// narrowQuorum cuts half of the clients off from a minority of the masters. mend ends the
// partition.
func (n *Nemesis) narrowQuorum(ctx context.Context) (mend func()) {
	until, end := n.env.Runtime.WithCancelCause(ctx)
	clients := slices.Clone(n.env.Clients)
	n.random.Shuffle(len(clients), func(i, j int) { clients[i], clients[j] = clients[j], clients[i] })
	clients = clients[:(len(clients)+1)/2]
	slices.Sort(clients)
	s := Step{
		Fault: "partition", Masters: []string{Minority}, Clients: clients, For: 6 * n.env.TTL,
		Mode: pick(n.random, []cluster.Mode{cluster.Hold, cluster.Drop}), Direction: Both,
	}
	random := n.fork()
	n.spawn(func() { n.inject(until, plannedStep{Step: s, guided: true}, random) })
	return func() { end(errStruck) }
}

var errStruck = errors.New("struck")

// lateVotes is the time to wait, after an acquisition, for the votes that it did not need.
const lateVotes = 5 * time.Millisecond

// acquisition waits for the next acquisition, at most for d, because the clients may never
// acquire a lease. Unless atOnce is set, it also waits for late votes.
func (n *Nemesis) acquisition(ctx context.Context, d time.Duration, atOnce bool) (lease, bool) {
	op, ok := n.watch.await(ctx, d, func(op history.Op) bool {
		return op.F == history.FAcquire && op.Type == history.OK
	})
	if !ok || !atOnce && n.env.Runtime.Sleep(ctx, lateVotes) != nil {
		return lease{}, false
	}
	return lease{client: op.Process, key: op.Key, token: op.Value.Token, until: op.Value.ValidUntil}, true
}

// strike waits for a lease and strikes with the next kind. If the first strike of that kind is
// due before there is a lease, it strikes at an older lease or at random. It returns when the
// fault has healed, or when the next first strike is due.
func (n *Nemesis) strike(ctx context.Context, plan Plan, strikes []string, debut *debut) {
	name := n.top(strikes)
	kind := fault.Of(name)
	l, ok := n.acquisition(ctx, min(3*n.env.TTL, debut.left(n.now())), kind.AtOnce() || n.voteless())
	if ctx.Err() != nil {
		return
	}
	s, aimed := plannedStep{}, false
	if ok {
		s, aimed = n.aimedAt(plan, name, l)
	}
	if !aimed && debut.left(n.now()) > 0 {
		return
	}
	if held, _, ok := n.watch.latest(n.now()); !aimed && ok && !kind.AtOnce() { // hit an older lease
		s, aimed = n.aimedAt(plan, name, held)
	}
	if !aimed {
		s = n.unaimed(plan, name)
	}
	n.deal(strikes)
	if !debut.complete() {
		debut.injected++
	}
	healed, end := n.env.Runtime.WithCancelCause(context.Background())
	random := n.fork()
	n.spawn(func() {
		defer end(errStruck)
		n.inject(ctx, s, random)
	})
	if c, _, err := ParseClock(s.Clock); fault.Of(s.Fault).Clock == fault.MasterClock && err == nil && c.Offset < 0 {
		return // the clock stays wrong until the run ends
	}
	_ = n.env.Runtime.Sleep(healed, debut.left(n.now()))
	end(nil)
}

// aimedAt returns the step that hits a lease. It returns false if the votes on the lease are no
// longer known.
func (n *Nemesis) aimedAt(plan Plan, name string, l lease) (plannedStep, bool) {
	kind := fault.Of(name)
	if n.voteless() {
		return plannedStep{Step: n.afterGrant(plan, name, l), guided: true}, true
	}
	voters := n.watch.votersOf(l.token)
	if kind.Hits != fault.Clients && len(voters) == 0 { // the lease was released
		return plannedStep{}, false
	}
	s := n.shape(plan, name)
	switch {
	case kind.Clock == fault.ClientClock: // hit any client, for the drawn duration
	case kind.Hits == fault.Clients:
		// The client reaches earlier points only in its next section. The last point endangers
		// its current lease.
		s.Clients = []string{l.client}
		if n.random.IntN(3) > 0 {
			s.Point = plan.Points[len(plan.Points)-1]
		}
	case kind.Isolates:
		s.Masters, s.Clients = []string{All}, []string{l.client}
	case kind.Forgets():
		if kind.Clock == fault.MasterClock && plan.Clock == "" {
			s.Clock = "+" + n.jitter(2*n.env.TTL).String() // a jump forward ends keys too early
		}
		all := len(n.env.Cluster.Masters())
		spare := max(1, len(voters)-(all-(all/2+1)))
		n.random.Shuffle(len(voters), func(i, j int) { voters[i], voters[j] = voters[j], voters[i] })
		s.Masters = voters[:min(spare, len(voters))]
	default: // make the masters that granted the lease unreachable or slow
		s.Masters = voters
		if kind.Hits == fault.Links {
			s.Clients = []string{l.client}
		}
	}
	if n.occupied(kind, s.Masters) { // earlier strikes still hit them
		s.Masters = []string{One}
	}
	return plannedStep{Step: n.unhealed(s), guided: true}, true
}

// afterGrant returns the step that hits the client of a lease, or masters that give no votes.
func (n *Nemesis) afterGrant(plan Plan, name string, l lease) Step {
	s := n.shape(plan, name)
	switch kind := fault.Of(name); {
	case kind.Isolates:
		s.Masters, s.Clients = []string{All}, []string{l.client}
	case kind.Hits == fault.Clients:
		s.Clients = []string{l.client}
		if n.random.IntN(3) > 0 { // as in aimedAt
			s.Point = plan.Points[len(plan.Points)-1]
		}
	case kind.Hits == fault.Links:
		s.Masters, s.Clients = []string{pick(n.random, plan.targets())}, []string{l.client}
	default:
		s.Masters = []string{pick(n.random, plan.targets())}
	}
	return s
}

// targets returns the words for masters that give no votes.
func (p Plan) targets() []string {
	if len(p.Targets) > 0 {
		return p.Targets
	}
	return []string{One, Minority}
}

// unaimed returns a step of a kind for which there was no lease in time.
func (n *Nemesis) unaimed(plan Plan, name string) plannedStep {
	s := n.shape(plan, name)
	switch kind := fault.Of(name); {
	case kind.Isolates:
		s.Masters = []string{All}
	case n.voteless() && kind.Hits != fault.Clients:
		s.Masters = []string{pick(n.random, plan.targets())}
	case kind.Hits != fault.Clients:
		s.Masters = []string{One}
	}
	return plannedStep{Step: n.unhealed(s)}
}

// unhealed makes a clock that a step sets back stay wrong until the run ends, because
// correcting it would be a jump forward, which is another fault.
func (n *Nemesis) unhealed(s Step) Step {
	if c, _, err := ParseClock(s.Clock); fault.Of(s.Fault).Clock == fault.MasterClock && err == nil && c.Offset < 0 {
		s.For = 24 * time.Hour
	}
	return s
}
