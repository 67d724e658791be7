package nemesis

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"lockpick/cluster"
	"lockpick/history/fault"
)

var (
	errBusy      = errors.New("all masters that it could hit are under another fault")
	errNoHolders = errors.New("nobody held a lease")
)

// aim chooses the masters and clients of a step. The caller holds n.mu.
func (n *Nemesis) aim(f *injection, random *rand.Rand) error {
	s := f.step
	if f.kind.Hits == fault.Links || f.kind.Hits == fault.Clients || s.SplitBrain && len(s.Clients) > 0 {
		if err := n.aimClients(f, random); err != nil {
			return err
		}
	}
	if f.kind.Hits == fault.Clients {
		return nil
	}
	all := n.env.Cluster.Masters()
	quorum := len(all)/2 + 1
	word := One
	if f.kind.Isolates {
		word = All
	}
	if len(s.Masters) > 0 {
		word = s.Masters[0]
	}
	want := 0
	switch word {
	case One:
		want = 1
	case Minority:
		want = max(1, len(all)-quorum)
	case Majority:
		want = quorum
	case All:
		want = len(all)
	case Holders:
		_, voters, ok := n.watch.latest(n.now())
		if !ok || len(voters) == 0 {
			return errNoHolders
		}
		f.params["target"] = Holders
		f.masters = n.free(f, named(all, voters), false)
	case Leader:
		f.params["target"] = Leader
		f.masters = n.free(f, []cluster.Master{f.leader}, false)
	default:
		f.masters = n.free(f, named(all, s.Masters), true)
	}
	if want > 0 {
		f.params["target"] = word
		free := n.free(f, all, false)
		for _, i := range random.Perm(len(free))[:min(want, len(free))] {
			f.masters = append(f.masters, free[i])
		}
		slices.SortFunc(f.masters, byNumber(all))
	}
	if len(f.masters) == 0 {
		return errBusy
	}
	return nil
}

// free leaves out the masters whose process is under another fault, because healing one of the
// two would also heal the other. It leaves out masters that a step names only if both faults
// end masters or neither does, so that a schedule can kill a master that it has paused.
func (n *Nemesis) free(f *injection, masters []cluster.Master, byName bool) []cluster.Master {
	if f.kind.Hits == fault.Links || f.kind.Hits == fault.Peers {
		return masters
	}
	return slices.DeleteFunc(slices.Clone(masters), func(m cluster.Master) bool {
		for _, other := range n.active {
			if f.kind.Hits == fault.Machines { // only one fault at a time can set a clock
				if other.kind.Name == f.kind.Name && slices.Contains(other.masters, m) {
					return true
				}
				continue
			}
			if other.kind.Hits == fault.Masters && slices.Contains(other.masters, m) && !(byName && other.kind.EndsMaster() != f.kind.EndsMaster()) {
				return true
			}
		}
		return false
	})
}

// occupied reports whether other faults prevent a kind of fault on all of the masters with
// these names.
func (n *Nemesis) occupied(kind fault.Kind, names []string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(names) > 0 && len(n.free(&injection{kind: kind}, named(n.env.Cluster.Masters(), names), true)) == 0
}

// aimClients chooses the clients of a step. By default a fault on links hits all clients, and a
// pause hits the first client to reach the point.
func (n *Nemesis) aimClients(f *injection, random *rand.Rand) error {
	word := All
	if f.kind.Hits == fault.Clients || f.kind.Isolates {
		word = Any
	}
	if len(f.step.Clients) > 0 {
		word = f.step.Clients[0]
	}
	switch {
	case word == All:
		f.clients = slices.Clone(n.env.Clients)
	case f.kind.Clock == fault.ClientClock && word == Any: // a clock waits for no client
		f.clients = slices.Clone(n.env.Clients)
	case word == Any && f.kind.Hits == fault.Clients:
		f.params["client"] = Any
	case word == Any:
		f.clients = []string{n.env.Clients[random.IntN(len(n.env.Clients))]}
	case word == Holder:
		l, _, ok := n.watch.latest(n.now())
		if !ok {
			return errNoHolders
		}
		f.clients = []string{l.client}
	default:
		f.clients = f.step.Clients
	}
	if f.kind.Clock == fault.ClientClock { // only one fault at a time can set a clock
		for _, other := range n.active {
			if other.kind.Name == f.kind.Name {
				f.clients = without(f.clients, other.clients...)
			}
		}
		if len(f.clients) == 0 {
			return errClockBusy
		}
	}
	return nil
}

// leaderWithin is how long to look for the leader of a service: an election takes about a second.
const leaderWithin = 2 * time.Second

// findLeader returns the leader, if a step names it. It returns when one leads, which may be only after an election.
func (n *Nemesis) findLeader(ctx context.Context, s plannedStep) (cluster.Master, error) {
	if !slices.Equal(s.Masters, []string{Leader}) {
		return nil, nil
	}
	peered, ok := n.env.Cluster.(cluster.Peered)
	if !ok {
		return nil, errNoLeader
	}
	looking, stop := n.within(ctx, leaderWithin)
	defer stop()
	for {
		try, end := n.within(looking, leaderWithin/4)
		m, err := peered.Leader(try)
		end()
		if err == nil {
			return m, nil
		}
		if n.env.Runtime.Sleep(looking, leaderWithin/20) != nil {
			return nil, err
		}
	}
}

var errNoLeader = errors.New("independent masters have no leader")

var errClockBusy = errors.New("the clocks of all of its clients are skewed by another fault already")

func named(all []cluster.Master, names []string) []cluster.Master {
	return slices.DeleteFunc(slices.Clone(all), func(m cluster.Master) bool { return !slices.Contains(names, m.Name()) })
}

func byNumber(all []cluster.Master) func(a, b cluster.Master) int {
	return func(a, b cluster.Master) int { return slices.Index(all, a) - slices.Index(all, b) }
}
