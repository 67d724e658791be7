package facts

import (
	"cmp"
	"slices"
	"time"

	"lockpick/history"
)

// Attempt is one attempt of an acquire: the SETs that one client sent with one token, at
// most one to each master. A second SET to a master begins another attempt.
type Attempt struct {
	Began time.Duration
	Votes Votes
	Next  time.Duration // when its client sent the first SET of its next attempt; 0: it made none
}

// Attempts returns all attempts in the order of their first votes. A lock may make several with one token: in an attempt it
// sends no master two SETs, and no SET after a release.
func (r *Run) Attempts() []*Attempt {
	h := r.History
	type asker struct{ client, key int32 }
	type kind struct {
		set, release bool
		asker        int32
		client       int32
	}
	kinds := make([]kind, len(h.Kinds()))
	clients, keys, askers := map[string]int32{}, map[string]int32{}, map[asker]int32{}
	for i := range h.Kinds() {
		k := &h.Kinds()[i]
		client := numberOf(clients, k.Client)
		kinds[i] = kind{k.Command == history.CommandSet, k.Command == history.CommandRelease, numberOf(askers, asker{client, numberOf(keys, k.Key)}), client}
	}
	var sent []int32
	for i := range h.Len() {
		if id := h.InOrder(i); kinds[h.KindNumber(id)].set || kinds[h.KindNumber(id)].release {
			sent = append(sent, id)
		}
	}
	slices.SortStableFunc(sent, func(a, b int32) int { return cmp.Compare(h.Sent(a), h.Sent(b)) })
	var all []*Attempt
	open := map[[2]int32]*Attempt{} // by client, key and token
	before := make([]*Attempt, len(clients))
	for _, id := range sent {
		k := &kinds[h.KindNumber(id)]
		of := [2]int32{k.asker, h.TokenNumber(id)}
		if k.release {
			delete(open, of)
			continue
		}
		a := open[of]
		if a == nil || a.asked(h.Kind(id).Master) {
			a = &Attempt{Began: h.Sent(id), Votes: Votes{h, make([]int32, 0, r.History.Header.Masters)}}
			open[of] = a
			all = append(all, a)
			if earlier := before[k.client]; earlier != nil {
				earlier.Next = a.Began
			}
			before[k.client] = a
		}
		a.Votes.IDs = append(a.Votes.IDs, id)
	}
	return all
}

// asked reports whether an attempt sent a SET to a master.
func (a *Attempt) asked(master string) bool {
	return a.Votes.AnyOf(func(k *history.VoteKind) bool { return k.Master == master })
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
