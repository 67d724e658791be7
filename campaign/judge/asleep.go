package judge

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"lockpick/history"
)

// asleep returns the longest time for which a client that waited for a key sent no command that acquires while no client
// held it: a wake-up that came late or was missed, or a pause between two tries. Clients whose commands were not seen are
// left out.
func asleep(h *history.Packed, leases []*history.Lease) (longest time.Duration) {
	type try struct{ sent, answered time.Duration }
	tries := map[string][]try{}
	for n := range h.Len() {
		if k := h.Kind(int32(n)); k.Command == history.CommandSet {
			tries[k.Client] = append(tries[k.Client], try{h.Sent(int32(n)), h.At(int32(n))})
		}
	}
	if len(tries) == 0 {
		return 0
	}
	for _, all := range tries {
		slices.SortFunc(all, func(a, b try) int { return cmp.Compare(a.sent, b.sent) })
	}
	free := freeSpans(h, leases)
	type waiter struct{ client, key string }
	called := map[waiter]time.Duration{}
	for _, op := range h.All() {
		if op.F == history.FCrash {
			for w := range called {
				if w.client == op.Process {
					delete(called, w)
				}
			}
		}
		if op.F != history.FAcquire {
			continue
		}
		w := waiter{op.Process, op.Key}
		from, waits := called[w]
		if op.Type == history.Invoke {
			called[w] = op.Time
			continue
		}
		delete(called, w)
		mine := tries[op.Process]
		if !waits || len(mine) == 0 {
			continue
		}
		spans := free[op.Key]
		for j := sort.Search(len(spans), func(j int) bool { return spans[j].To > from }); j < len(spans) && spans[j].From < op.Time; j++ {
			at, to := max(spans[j].From, from), min(spans[j].To, op.Time)
			first := sort.Search(len(mine), func(n int) bool { return mine[n].answered >= at })
			for _, t := range mine[first:] {
				if t.sent >= to {
					break
				}
				longest, at = max(longest, t.sent-at), max(at, t.answered)
			}
			longest = max(longest, to-at)
		}
	}
	return longest
}

// freeSpans returns, for each key, when no client held it between its first grant and its last. A lease that was not
// released for certain counts as held until its validity is over.
func freeSpans(h *history.Packed, leases []*history.Lease) map[string][]history.Span {
	type name struct{ process, key, token string }
	released := map[name]time.Duration{}
	for _, op := range h.All() {
		if op.F == history.FRelease && op.Type == history.OK && op.Value != nil {
			released[name{op.Process, op.Key, op.Value.Token}] = op.Time
		}
	}
	spans := map[string][]history.Span{}
	taken := map[string]time.Duration{} // by key: until when somebody may hold it
	for _, l := range leases {
		over, held := taken[l.Key]
		if g := l.Acquired(); held && over < g {
			spans[l.Key] = append(spans[l.Key], history.Span{From: over, To: g})
		}
		until, sure := released[name{l.Process, l.Key, l.Token}]
		last := l.Grants[len(l.Grants)-1]
		switch {
		case sure && until >= l.Acquired():
		case last.Endless():
			until = math.MaxInt64
		default:
			until = l.Until() + h.Header.TTL/20
		}
		taken[l.Key] = max(over, until)
	}
	return spans
}

// toldLate returns how late a lock reported the end of a lease at the latest: after the end of its validity, or after
// another client was granted its key.
func toldLate(leases []*history.Lease) (latest time.Duration) {
	byKey := map[string][]*history.Lease{}
	for _, l := range leases {
		byKey[l.Key] = append(byKey[l.Key], l)
	}
	for _, l := range leases {
		if l.LostIndex < 0 {
			continue
		}
		lost := time.Duration(math.MaxInt64) // when it was lost
		if last := l.Grants[len(l.Grants)-1]; !last.Endless() {
			lost = last.Until
		}
		all := byKey[l.Key]
		for i := sort.Search(len(all), func(i int) bool { return all[i].Acquired() > l.Acquired() }); i < len(all) && all[i].Acquired() < min(lost, l.Lost); i++ {
			if all[i].Process != l.Process {
				lost = all[i].Acquired()
			}
		}
		if l.Lost > lost {
			latest = max(latest, l.Lost-lost)
		}
	}
	return latest
}
