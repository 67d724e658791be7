package checker

import (
	"fmt"

	"lockpick/history"
)

// Part says what a lease has of a lock that several clients may hold: "for reading", "2 of the 3 permits", or "". shared says
// that others may hold the lock beside it.
func Part(h *history.Header, l *history.Lease) (part string, shared bool) {
	x := lawOf(h)
	shared = x.of(l) < x.capacity
	switch {
	case x.kind == history.ReadWrite && shared:
		part = "for reading"
	case x.kind == history.ReadWrite:
		part = "for writing"
	case x.kind == history.Semaphore:
		part = x.permits(x.of(l))
	}
	return part, shared
}

// what names a key and what a lease has of it: "k0", "k0 for reading", "2 of the 3 permits of k0".
func (r *run) what(l *history.Lease) string {
	part, _ := Part(&r.h.Header, l)
	switch {
	case part == "":
		return l.Key
	case r.law.kind == history.Semaphore:
		return part + " of " + l.Key
	}
	return l.Key + " " + part
}

// permits is a number of permits, of all that there are.
func (x law) permits(n int64) string {
	switch {
	case n > x.capacity:
		return fmt.Sprintf("%d of %d permits", n, x.capacity)
	case x.capacity == 1:
		return "the only permit"
	case n == x.capacity:
		return fmt.Sprintf("all %d permits", n)
	}
	return fmt.Sprintf("%d of the %d permits", n, x.capacity)
}

// owner describes a token by the client that used it.
func (r *run) owner(key, token string) string {
	for _, l := range r.leases {
		if l.Key == key && l.Token == token {
			return "the token of " + l.Process
		}
	}
	if x := r.commandLogs().first(key, token); x != nil {
		return "a token of " + x.who.client + " that was not granted"
	}
	return "a token that no recorded client used"
}
