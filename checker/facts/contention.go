package facts

import (
	"cmp"
	"slices"
	"time"

	"lockpick/history"
)

// Contended returns the leases for which another client competed: its acquire of the same
// key was pending at some time between the grant and a TTL after it, and asked for more than what
// the lease and the other holds at its grant left of the lock. A lease that was over
// on arrival held nothing, so nobody competed with it.
func (r *Run) Contended() map[*history.Lease]bool {
	return r.contended.get(r.findContended)
}

func (r *Run) findContended() map[*history.Lease]bool {
	competed := map[*history.Lease]bool{}
	var weights []int64 // of the acquires, each once, in order
	for _, a := range r.Acquires() {
		if i, known := slices.BinarySearch(weights, a.Weight); !known {
			weights = slices.Insert(weights, i, a.Weight)
		}
	}
	least := make([]map[string][]pendingAcquires, len(weights)) // by position in weights and by key
	others := r.heldBeside()
	for _, l := range r.Leases {
		if ExpiredOnArrival(l) {
			continue
		}
		left := r.Lock.Capacity - r.Lock.WeightAt(l, l.Acquired()) - others(l)
		i, _ := slices.BinarySearch(weights, left+1)
		if i == len(weights) {
			continue
		}
		if least[i] == nil {
			least[i] = r.pendingAcquires(weights[i])
		}
		all := least[i][l.Key]
		n, _ := slices.BinarySearchFunc(all, l.Acquired()+r.History.Header.TTL+1, func(p pendingAcquires, t time.Duration) int { return cmp.Compare(p.called, t) })
		if n == 0 {
			continue
		}
		p := all[n-1]
		other := p.first
		if other.client == l.Process {
			other = p.next
		}
		if other.client != "" && other.until >= l.Acquired() {
			competed[l] = true
		}
	}
	return competed
}

// pending is an acquire of a client that lasted until a time.
type pending struct {
	client string
	until  time.Duration
}

// pendingAcquires says which of the acquires of a key that were called up to a time were pending longest: those of two
// different clients, because at least one of them is not by a lease's own client. next is the zero value while there is
// one client.
type pendingAcquires struct {
	called      time.Duration
	first, next pending
}

// pendingAcquires returns by key, in the order of their calls, the acquires that ask for at least a weight.
func (r *Run) pendingAcquires(weight int64) map[string][]pendingAcquires {
	byKey := map[string][]pendingAcquires{}
	for _, a := range r.Acquires() {
		if a.Weight < weight {
			continue
		}
		all := byKey[a.Key]
		p := pendingAcquires{called: a.Invoked}
		if n := len(all); n > 0 {
			p.first, p.next = all[n-1].first, all[n-1].next
		}
		mine := pending{a.Client, a.Ended}
		switch {
		case p.first.client == "" || p.first.client == mine.client:
			mine.until = max(mine.until, p.first.until)
			p.first = mine
		case p.next.client == "" || p.next.client == mine.client || mine.until > p.next.until:
			if p.next.client == mine.client {
				mine.until = max(mine.until, p.next.until)
			}
			p.next = mine
		}
		if p.next.until > p.first.until {
			p.first, p.next = p.next, p.first
		}
		byKey[a.Key] = append(all, p)
	}
	return byKey
}

// heldBeside returns how much the other holds on the key of a lease weigh at its grant. Where one hold takes the
// whole lock, that does not matter.
func (r *Run) heldBeside() func(*history.Lease) int64 {
	if r.Lock.Capacity == 1 {
		return func(*history.Lease) int64 { return 0 }
	}
	type change struct{ at, weight int64 }
	byKey := map[string][]change{}
	for _, s := range HoldsOf(r.Leases, r.Lock) {
		if !s.Empty() {
			byKey[s.Key] = append(byKey[s.Key], change{int64(s.From), s.Weight}, change{int64(s.To), -s.Weight})
		}
	}
	for _, all := range byKey {
		slices.SortFunc(all, func(a, b change) int { return cmp.Compare(a.at, b.at) })
		for i := range all[1:] {
			all[i+1].weight += all[i].weight
		}
	}
	return func(l *history.Lease) int64 {
		all := byKey[l.Key]
		i, _ := slices.BinarySearchFunc(all, int64(l.Acquired())+1, func(c change, t int64) int { return cmp.Compare(c.at, t) })
		if i == 0 {
			return 0
		}
		if span := l.Holds()[0]; span.Empty() {
			return all[i-1].weight
		}
		return all[i-1].weight - r.Lock.WeightAt(l, l.Acquired())
	}
}

// ContendedGrants returns the grant times of the contended leases for which counts, if not nil, is
// true.
func (r *Run) ContendedGrants(counts func(*history.Lease) bool) []time.Duration {
	competed := r.Contended()
	var at []time.Duration
	for _, l := range r.Leases {
		if competed[l] && r.InWindow(l.Acquired()) && (counts == nil || counts(l)) {
			at = append(at, l.Acquired())
		}
	}
	return at
}
