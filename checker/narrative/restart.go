package narrative

import (
	"fmt"
	"slices"
	"time"

	"lockpick/checker/facts"
	"lockpick/history"
	"lockpick/history/fault"
)

func (n *Narrative) restartedBetween(m string, a *history.Lease, from, to time.Duration) (Loss, bool) {
	back := func(after time.Duration) (facts.State, bool) {
		for _, s := range n.r.StatesOf(m, after, to) {
			if s.Status == "up" {
				return s, true
			}
		}
		return facts.State{}, false
	}
	survived := func(s facts.State, seen bool) bool {
		return seen && s.Keys != nil && a.Token != "" && s.Keys[a.Key] == a.Token
	}
	what := "key"
	if a.Token == "" {
		what = "counter"
	}
	// gone adds that masters no longer stored the key when they were up again.
	gone := func(ms []string, after time.Duration) {
		for _, m := range ms {
			for _, s := range n.r.StatesOf(m, after, to) {
				if s.Status == "up" {
					n.up(m, s, false)
					ms = slices.DeleteFunc(slices.Clone(ms), func(x string) bool { return x == m })
					break
				}
			}
		}
		if len(ms) > 0 {
			n.LostBy(ms, a, Event{At: to, Cause: CauseRestart}, fmt.Sprintf("had come back without the %s of %s", what, a.Key))
		}
	}
	for _, f := range slices.Backward(n.r.FaultsWithin(from, to)) {
		if !facts.EndsMaster(f.Name) || !f.Installed || !slices.Contains(f.Masters, m) {
			continue
		}
		struck, _ := n.r.StruckAt(f, m)
		if struck <= from || struck >= to {
			continue
		}
		up, seen := back(struck)
		if survived(up, seen) {
			continue
		}
		return Loss{Name: fmt.Sprintf("fault %d", f.ID), Explain: func(ms []string) {
			n.Fault(f, false, ms)
			gone(ms, struck)
		}}, true
	}
	for _, s := range slices.Backward(n.r.StatesOf(m, from, to)) {
		if s.Status != "down" {
			continue
		}
		up, seen := back(s.At)
		if !seen || survived(up, seen) {
			continue
		}
		return Loss{Name: "down " + At(s.At), Explain: func(ms []string) {
			n.Add(Event{At: s.At, Kind: EventDown, Masters: ms, Word: "down", Ops: []int{s.Line},
				Text: fmt.Sprintf("%s went down, %s, which no recorded fault explains", fault.Enumerate(ms), fault.Persistence(n.r.History.Header.Persistence))})
			gone(ms, s.At)
		}}, true
	}
	return Loss{}, false
}

// CountersLost adds the restarts, between two grants, of masters that had voted for the earlier
// lease, since a restart may lose the counter. It reports whether there were any.
func (n *Narrative) CountersLost(a, b *history.Lease) bool {
	found := false
	counter := &history.Lease{Key: a.Key, Process: a.Process}
	EachLoss(n.r.Voters(a), func(m string) Loss {
		c, ok := n.restartedBetween(m, counter, a.Invoked, b.Acquired())
		found = found || ok
		return c
	})
	return found
}
