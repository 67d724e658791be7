package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockpick/history"
	"lockpick/history/fault"
)

// ungranted is an attempt that was not granted although a quorum voted for it.
type ungranted struct {
	who    party
	key    string
	yes    []history.Vote
	by     time.Duration // when the quorum's votes had arrived
	ending attempt       // the acquire that it belongs to
	again  bool          // that acquire made another attempt
}

// setAttempt is one attempt of an acquire: the SETs that one client sent with one token, at
// most one to each master. A second SET to a master begins another attempt.
type setAttempt struct {
	began time.Duration
	votes votes
	next  time.Duration // when its client sent the first SET of its next attempt; 0: it made none
}

// setAttempts returns all attempts in the order of their first votes.
func (r *run) setAttempts() []*setAttempt {
	h := r.h
	type asker struct{ client, key int32 }
	type kind struct {
		set    bool
		asker  int32
		client int32
	}
	kinds := make([]kind, len(h.Kinds()))
	clients, keys, askers := map[string]int32{}, map[string]int32{}, map[asker]int32{}
	for i := range h.Kinds() {
		k := &h.Kinds()[i]
		client := numberOf(clients, k.Client)
		kinds[i] = kind{k.Command == history.CommandSet, numberOf(askers, asker{client, numberOf(keys, k.Key)}), client}
	}
	var sets []int32
	for i := range h.Len() {
		if id := h.InOrder(i); kinds[h.KindNumber(id)].set {
			sets = append(sets, id)
		}
	}
	slices.SortStableFunc(sets, func(a, b int32) int { return cmp.Compare(h.Sent(a), h.Sent(b)) })
	var all []*setAttempt
	open := map[[2]int32]*setAttempt{} // by client, key and token
	before := make([]*setAttempt, len(clients))
	for _, id := range sets {
		k := &kinds[h.KindNumber(id)]
		of := [2]int32{k.asker, h.TokenNumber(id)}
		a := open[of]
		if a == nil || a.asked(h.Kind(id).Master) {
			a = &setAttempt{began: h.Sent(id), votes: votes{h, make([]int32, 0, r.h.Header.Masters)}}
			open[of] = a
			all = append(all, a)
			if earlier := before[k.client]; earlier != nil {
				earlier.next = a.began
			}
			before[k.client] = a
		}
		a.votes.ids = append(a.votes.ids, id)
	}
	return all
}

// asked reports whether an attempt sent a SET to a master.
func (a *setAttempt) asked(master string) bool {
	for i := range a.votes.ids {
		if a.votes.kind(i).Master == master {
			return true
		}
	}
	return false
}

// numberOf numbers names in the order of their first use.
func numberOf[K comparable](numbers map[K]int32, name K) int32 {
	n, known := numbers[name]
	if !known {
		n = int32(len(numbers))
		numbers[name] = n
	}
	return n
}

// quorumGranted judges one part of AV: an attempt is granted if a quorum of masters voted for it
// within half the TTL. It does not judge acquires that may have been cancelled at that moment (the
// last acquire of a client before the healing, and any acquire that had lasted for three TTLs),
// clients that stood still, crashed or whose clock was changed, and locks with fencing tokens,
// which need more than the votes.
func (r *run) quorumGranted() *judgement {
	q, ttl := r.quorum(), r.h.Header.TTL
	if q == 0 || ttl <= 0 || r.h.Header.Fencing {
		return nil
	}
	byClient := map[string][]attempt{}
	for _, a := range r.attempts() {
		byClient[a.client] = append(byClient[a.client], a)
	}
	healing := r.healed()
	var judged []time.Duration
	var all []ungranted
	for _, s := range r.setAttempts() {
		first := s.votes.at(0)
		who := party{first.Client, first.Token}
		x := ungranted{who: who, key: first.Key}
		yes := 0
		for i := range s.votes.ids {
			if s.votes.kind(i).Yes {
				yes++
			}
		}
		if yes < q {
			continue
		}
		for v := range s.votes.all() {
			if v.Yes {
				x.yes = append(x.yes, v)
			}
		}
		slices.SortFunc(x.yes, func(a, b history.Vote) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Index, b.Index)) })
		x.by = x.yes[q-1].At
		if !r.counts(x.by) {
			continue
		}
		mine := byClient[who.client]
		i, exact := slices.BinarySearchFunc(mine, s.began, func(a attempt, at time.Duration) int { return cmp.Compare(a.invoked, at) })
		if !exact {
			i--
		}
		if i < 0 {
			continue
		}
		x.ending = mine[i]
		if l := r.grantOf(x.ending); l != nil && l.Token == who.token && l.Key == first.Key {
			judged = append(judged, x.by)
			continue
		}
		if x.by-s.began > ttl/2 {
			continue
		}
		x.again = s.next != 0 && s.next <= x.ending.ended && s.next > x.by
		cancelled := x.ending.ended-x.ending.invoked >= 3*ttl || i+1 == len(mine) || healing.problem == "" && x.ending.invoked < healing.at && mine[i+1].invoked >= healing.at
		end := x.ending.ended
		switch {
		case x.ending.open, x.ending.key != first.Key, x.ending.ended < x.by, x.ending.ended >= r.interrupted.at, !x.again && (cancelled || x.ending.ok):
		case r.stoppedIn(who.client, s.began, end), r.goneIn(who.client, s.began, end), r.stalledIn(s.began-r.slack, x.by+r.slack), r.clockBent(who.client, s.began, end):
		default:
			judged = append(judged, x.by)
			all = append(all, x)
		}
	}
	if len(judged) == 0 {
		return nil
	}
	found := make([]Violation, 0, len(all))
	byVote := map[int]ungranted{}
	for _, x := range all {
		proof := x.yes[q-1]
		byVote[proof.Index] = x
		found = append(found, Violation{Key: x.key, At: x.by, Until: max(x.by, x.ending.ended), Ops: append(slices.Clone(x.ending.ops), proof.Index), Tokens: []string{x.who.token}, Clients: []string{x.who.client}})
	}
	return &judgement{
		tally: tally{checked: len(judged)}, violations: found, late: true,
		evidence: r.need("attempts that a quorum voted for", judged, moreWork),
		explain:  func(v *Violation) { r.explainUngranted(v, byVote[v.Ops[len(v.Ops)-1]]) },
		violated: func(t tally, first *Violation) string {
			return fmt.Sprintf("%s that a quorum voted for in time were not granted: the first at %s on %s", share(t.found, t.checked, "attempts"), at(first.At), first.Key)
		},
		holds: func(t tally) string {
			return fmt.Sprintf("%s that a quorum voted for in time, and all were granted", count(t.checked, "attempt", "attempts"))
		},
	}
}

// grantOf returns the lease that an acquire returned, or nil.
func (r *run) grantOf(a attempt) *history.Lease {
	if !a.ok || len(a.ops) < 2 {
		return nil
	}
	i, found := slices.BinarySearchFunc(r.leases, a.ops[1], func(l *history.Lease, index int) int { return cmp.Compare(l.Grants[0].Index, index) })
	if !found {
		return nil
	}
	return r.leases[i]
}

// clockBent reports whether a fault changed a client's clock between two times.
func (r *run) clockBent(client string, from, to time.Duration) bool {
	return slices.ContainsFunc(r.faults, func(f *history.Fault) bool {
		return fault.Of(f.Name).Clock == fault.ClientClock && f.Installed && slices.Contains(f.Clients, client) && overlaps(f.Began, f.To, from, to)
	})
}
