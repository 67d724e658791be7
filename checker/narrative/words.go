package narrative

import (
	"fmt"

	"lockpick/checker/facts"
	"lockpick/history"
)

// Part says what a lease has of a lock that several clients may hold: "for reading", "2 of the 3 permits", or "". shared says
// that others may hold the lock beside it.
func Part(h *history.Header, l *history.Lease) (part string, shared bool) {
	x := facts.LockOf(h)
	shared = x.WeightOf(l) < x.Capacity
	switch {
	case x.Kind == history.ReadWrite && shared:
		part = "for reading"
	case x.Kind == history.ReadWrite:
		part = "for writing"
	case x.Kind == history.Semaphore:
		part = Permits(x, x.WeightOf(l))
	}
	return part, shared
}

// LeaseOn names a key and what a lease has of it: "k0", "k0 for reading", "2 of the 3 permits of k0".
func (n *Narrative) LeaseOn(l *history.Lease) string {
	r := n.r
	part, _ := Part(&r.History.Header, l)
	switch {
	case part == "":
		return l.Key
	case r.Lock.Kind == history.Semaphore:
		return part + " of " + l.Key
	}
	return l.Key + " " + part
}

// Permits is a number of permits, of all that there are.
func Permits(x facts.Lock, n int64) string {
	switch {
	case n > x.Capacity:
		return fmt.Sprintf("%d of %d permits", n, x.Capacity)
	case x.Capacity == 1:
		return "the only permit"
	case n == x.Capacity:
		return fmt.Sprintf("all %d permits", n)
	}
	return fmt.Sprintf("%d of the %d permits", n, x.Capacity)
}

// owner describes a token by the client that used it.
func (n *Narrative) owner(key, token string) string {
	r := n.r
	for _, l := range r.Leases {
		if l.Key == key && l.Token == token {
			return "the token of " + l.Process
		}
	}
	if x := r.CommandLogs().First(key, token); x != nil {
		return "a token of " + x.Party.Client + " that was not granted"
	}
	return "a token that no recorded client used"
}
