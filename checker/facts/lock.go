package facts

import "lockpick/history"

// Lock says which holds on a key may overlap: those whose weights are no more than the capacity together.
type Lock struct {
	Kind     history.LockKind
	Capacity int64
	Weight   func(mode string, permits int) int64
}

// LockOf returns the lock that a header describes.
func LockOf(h *history.Header) Lock { return Lock{h.LockKind(), h.Capacity(), h.Weight} }

// WeightOf returns the weight of a lease. One that is not known weighs as little as any.
func (x Lock) WeightOf(l *history.Lease) int64 {
	if l == nil {
		return x.Weight(history.ModeRead, 1)
	}
	return x.Weight(l.Mode, l.Permits)
}

// Reentrant reports whether overlapping holds of one owner count as one.
func (x Lock) Reentrant() bool { return x.Kind == history.Reentrant }

// Conflicts reports whether an earlier hold is named where a later one with a weight exceeded the capacity.
// Permits add up, so each hold that has any is named.
func (x Lock) Conflicts(s *Hold, weight int64) bool {
	return x.Kind == history.Semaphore || s.Weight+weight > x.Capacity
}

// Exclusive reports whether a holder has the lock for itself, so that each overlap is one of two of them.
func (x Lock) Exclusive() bool { return x.Kind == history.Mutex || x.Kind == history.Reentrant }
