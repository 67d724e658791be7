package checker

import (
	"fmt"
	"slices"

	"lockpick/history"
)

// explainFence explains that the later of two leases does not have the higher fencing token: which
// masters issued the tokens, and which of these were restarted in between.
func (r *run) explainFence(v *Violation, p fencePair) {
	a, b := p.earlier, p.later
	v.Summary = fmt.Sprintf("%s was granted %s at %s with the fencing token %d, after %s had been with %d",
		other(b.Process, a.Process), v.Key, at(v.At), b.Fence, a.Process, a.Fence)
	n := r.narrate(v)
	n.lease(a, 0)
	n.lease(b, 0)
	both := slices.DeleteFunc(slices.Clone(r.voters(a)), func(m string) bool { return !slices.Contains(r.voters(b), m) })
	restarted := n.countersLost(a, b)
	counted := r.counted(a, both)
	switch {
	case len(both) == 0 && r.lookup().voted(a) && r.lookup().voted(b):
		n.note(b.Acquired(), "no master voted for both leases, so no counter links their fencing tokens")
	case len(both) > 0 && len(counted) == 0 && len(r.counted(a, r.voters(a))) > 0:
		restarted = true
		n.note(b.Acquired(), fmt.Sprintf("the earlier token is the counter of %s, and of the masters that counted for the earlier lease only %s voted for the later one",
			Enumerate(r.counted(a, r.voters(a))), Enumerate(both)))
	case len(both) > 0:
		n.note(b.Acquired(), fmt.Sprintf("of the masters that gave out the earlier token only %s voted for the later lease", Enumerate(both)))
	}
	if !restarted && len(both) > 0 {
		n.unexplained(Event{At: b.Acquired(), Masters: both, Text: fmt.Sprintf("no recorded restart explains why the counters of %s did not grow", Enumerate(both))})
	}
	n.violated(fmt.Sprintf("the later lease has the fencing token %d, the earlier one has %d", b.Fence, a.Fence))
}

// counted returns the masters among the given ones whose vote for a lease carried its fencing token.
func (r *run) counted(l *history.Lease, masters []string) []string {
	var found []string
	for v := range r.lookup().of(l) {
		if v.Yes && v.Command == history.CommandSet && r.h.FenceOf(v.Index) == l.Fence && slices.Contains(masters, v.Master) {
			found = append(found, v.Master)
		}
	}
	return set(found)
}

// countersLost adds the restarts, between two grants, of masters that had voted for the earlier
// lease, since a restart may lose the counter. It reports whether there were any.
func (n *narrative) countersLost(a, b *history.Lease) bool {
	found := false
	counter := &history.Lease{Key: a.Key, Process: a.Process}
	group(n.r.voters(a), func(m string) cause {
		c, ok := n.restartedBetween(m, counter, a.Invoked, b.Acquired())
		found = found || ok
		return c
	})
	return found
}
