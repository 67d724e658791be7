package checker

import (
	"slices"
	"time"

	"lockpick/history"
)

// trouble returns the times in which a master, or a client's link to it, was known to be impaired:
// by a fault, or by the master's recorded state.
func (r *run) trouble(client, master string) []history.Span {
	var spans []history.Span
	for _, f := range r.faults {
		if disrupts(f) && slices.Contains(f.Masters, master) && (len(f.Clients) == 0 || slices.Contains(f.Clients, client)) {
			spans = append(spans, history.Span{From: f.Began, To: f.To})
		}
	}
	var since time.Duration
	broken := false
	for _, s := range r.lookup().states[master] {
		switch {
		case s.is != "up" && !broken:
			broken, since = true, s.at
		case s.is == "up" && broken:
			broken = false
			spans = append(spans, history.Span{From: since, To: s.at})
		}
	}
	if broken {
		spans = append(spans, history.Span{From: since, To: r.end + 1})
	}
	return union(spans, 0)
}

// link is a client's link to a master.
type link struct{ client, master string }

// reachable reports whether a master and a client's link to it were not known to be impaired
// between two times.
func (r *run) reachable(client, master string, from, to time.Duration) bool {
	way := link{client, master}
	return !r.troubles.get(way, func(link) intervals { return intervalsOf(r.trouble(client, master)) }).touch(from, to)
}

// reach holds the times in which a client could not reach all masters.
type reach struct {
	weak  []history.Span // it could reach no quorum of masters
	minor []history.Span // it could reach a quorum, but not all masters
}

// mastersUsed returns the masters that the lock uses: all of them, or, for a lock with a quorum of
// one, the masters that it sent commands to.
func (r *run) mastersUsed() []string {
	return r.used.get(func() (used []string) {
		seen := map[string]bool{}
		for i := range r.h.Len() {
			seen[r.h.Kind(int32(i)).Master] = true
		}
		for _, m := range r.masterNames() {
			if len(seen) == 0 || seen[m] || r.quorum() > 1 {
				used = append(used, m)
			}
		}
		return used
	})
}

// uses reports whether the lock uses a master.
func (r *run) uses(master string) bool { return slices.Contains(r.mastersUsed(), master) }

func (r *run) reaches(client string) reach {
	return r.reached.get(client, r.findReach)
}

func (r *run) findReach(client string) reach {
	used := r.mastersUsed()
	spare := len(used) - r.quorum() // how many masters may fail without preventing a quorum
	var all [][]history.Span
	for _, m := range used {
		all = append(all, r.trouble(client, m))
	}
	weak := times(all, spare+1)
	return reach{weak: weak, minor: without(times(all, 1), weak)}
}
