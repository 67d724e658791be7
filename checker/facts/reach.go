package facts

import (
	"slices"
	"time"

	"lockpick/history"
)

// trouble returns the times in which a master, or a client's link to it, was known to be impaired:
// by a fault, or by the master's recorded state.
func (r *Run) trouble(client, master string) []history.Span {
	var spans []history.Span
	for _, f := range r.Faults {
		if Disrupts(f) && slices.Contains(f.Masters, master) && (len(f.Clients) == 0 || slices.Contains(f.Clients, client)) {
			spans = append(spans, history.Span{From: f.Began, To: f.To})
		}
	}
	var since time.Duration
	broken := false
	for _, s := range r.VoteIndex().states[master] {
		switch {
		case s.Status != "up" && !broken:
			broken, since = true, s.At
		case s.Status == "up" && broken:
			broken = false
			spans = append(spans, history.Span{From: since, To: s.At})
		}
	}
	if broken {
		spans = append(spans, history.Span{From: since, To: r.End + 1})
	}
	return Union(spans, 0)
}

// link is a client's link to a master.
type link struct{ client, master string }

// Reachable reports whether a master and a client's link to it were not known to be impaired
// between two times.
func (r *Run) Reachable(client, master string, from, to time.Duration) bool {
	way := link{client, master}
	return !r.troubles.get(way, func(link) intervals { return intervalsOf(r.trouble(client, master)) }).touch(from, to)
}

// Reach holds the times in which a client could not Reach all masters.
type Reach struct {
	weak     []history.Span // it could Reach no quorum of masters
	Minority []history.Span // it could Reach a quorum, but not all masters
}

// Weakened reports whether the client could reach no quorum at some time between two.
func (r Reach) Weakened(from, to time.Duration) bool { return Touches(r.weak, from, to) }

// mastersUsed returns the masters that the lock uses: all of them, or, for a lock with a quorum of
// one, the masters that it sent commands to.
func (r *Run) mastersUsed() []string {
	if r.Asked != nil {
		return r.Asked
	}
	return r.used.get(func() (used []string) {
		seen := map[string]bool{}
		for i := range r.History.Len() {
			seen[r.History.Kind(int32(i)).Master] = true
		}
		for _, m := range r.Masters() {
			if len(seen) == 0 || seen[m] || r.Quorum() > 1 {
				used = append(used, m)
			}
		}
		return used
	})
}

// uses reports whether the lock uses a master.
func (r *Run) uses(master string) bool { return slices.Contains(r.mastersUsed(), master) }

// ReachOf returns when a client could not reach all masters.
func (r *Run) ReachOf(client string) Reach {
	return r.reached.get(client, r.findReach)
}

func (r *Run) findReach(client string) Reach {
	used := r.mastersUsed()
	var all [][]history.Span
	for _, m := range used {
		all = append(all, r.trouble(client, m))
	}
	weak := r.unsettled(times(all, r.canSpare(len(used))+1), all)
	return Reach{weak: weak, Minority: Without(times(all, 1), weak)}
}

// unsettled returns the times in which a service may not serve a client: those in which no majority is connected, and
// those after a fault of a server began or ended, in which the servers elect a leader. all are the faults, by server.
// Masters that do not know each other have nothing to settle.
func (r *Run) unsettled(weak []history.Span, all [][]history.Span) []history.Span {
	settle := r.History.Header.Settle
	if settle == 0 {
		return weak
	}
	out := slices.Clone(weak)
	for _, s := range slices.Concat(append(slices.Clone(all), weak)...) {
		out = append(out, history.Span{From: s.From, To: s.From + settle}, history.Span{From: s.To, To: s.To + settle})
	}
	return Union(out, 0)
}
