package checker

import (
	"cmp"
	"slices"
	"time"

	"lockpick/history"
)

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
