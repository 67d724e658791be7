package facts

import (
	"cmp"
	"iter"
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

// Attempts yields the attempts of one client after the other, each client's in the order of their first votes. A lock may
// make several with one token: in an attempt it sends no master two SETs, and no SET after a release.
func (r *Run) Attempts() iter.Seq[*Attempt] {
	return func(yield func(*Attempt) bool) {
		var clients []string
		sent := map[string][]int32{} // by client: its SETs and releases
		sets := func(yield func(client string, id int32) bool) {
			for i := range r.History.Len() {
				id := r.History.InOrder(i)
				if k := r.History.Kind(id); (k.Command == history.CommandSet || k.Command == history.CommandRelease) && !yield(k.Client, id) {
					return
				}
			}
		}
		room := map[string]int{}
		for client := range sets {
			room[client]++
		}
		for client, id := range sets {
			if sent[client] == nil {
				clients = append(clients, client)
				sent[client] = make([]int32, 0, room[client])
			}
			sent[client] = append(sent[client], id)
		}
		for _, client := range clients {
			for _, a := range r.attemptsOf(sent[client]) {
				if !yield(a) {
					return
				}
			}
			delete(sent, client)
		}
	}
}

// attemptsOf returns the attempts of a client that sent these SETs and releases.
func (r *Run) attemptsOf(sent []int32) (all []*Attempt) {
	h := r.History
	slices.SortStableFunc(sent, func(a, b int32) int { return cmp.Compare(h.Sent(a), h.Sent(b)) })
	type request struct {
		key   string
		token int32
	}
	open := map[request]*Attempt{}
	for _, id := range sent {
		k := h.Kind(id)
		lease := request{k.Key, h.TokenNumber(id)}
		if k.Command == history.CommandRelease {
			delete(open, lease)
			continue
		}
		a := open[lease]
		if a == nil || a.asked(k.Master) {
			a = &Attempt{Began: h.Sent(id), Votes: Votes{h, make([]int32, 0, r.History.Header.Masters)}}
			open[lease] = a
			if len(all) > 0 {
				all[len(all)-1].Next = a.Began
			}
			all = append(all, a)
		}
		a.Votes.IDs = append(a.Votes.IDs, id)
	}
	return all
}

// asked reports whether an attempt sent a SET to a master.
func (a *Attempt) asked(master string) bool {
	return a.Votes.AnyOf(func(k *history.VoteKind) bool { return k.Master == master })
}
