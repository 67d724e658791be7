package checker

import "lockpick/history"

// law says which stretches on a key may overlap: those whose weights are no more than the capacity together.
type law struct {
	kind     history.LockKind
	capacity int64
	weight   func(mode string, permits int) int64
}

func lawOf(h *history.Header) law { return law{h.LockKind(), h.Capacity(), h.Weight} }

// of returns the weight of a lease. One that is not known weighs as little as any.
func (x law) of(l *history.Lease) int64 {
	if l == nil {
		return x.weight(history.ModeRead, 1)
	}
	return x.weight(l.Mode, l.Permits)
}

// nests reports whether overlapping stretches of one owner count as one.
func (x law) nests() bool { return x.kind == history.Reentrant }

// opposes reports whether an earlier stretch is named where a later one with a weight exceeded the capacity.
// Permits add up, so each stretch that has any is named.
func (x law) opposes(s *stretch, weight int64) bool {
	return x.kind == history.Semaphore || s.weight+weight > x.capacity
}

// alone reports whether a holder has the lock for itself, so that each overlap is one of two of them.
func (x law) alone() bool { return x.kind == history.Mutex || x.kind == history.Reentrant }
