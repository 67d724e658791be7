package facts

import (
	"cmp"
	"slices"
	"time"

	"lockpick/history"
)

// Hold is a time in which a client relies on a lock: a hold (L2) or a
// critical section (L3). It is half-open, [from, to), so a hold that begins at
// the instant at which another ends does not overlap it.
type Hold struct {
	Key, Client, Token string
	From, To           time.Duration
	Ops                []int          // the operations that begin it and say how long it lasts
	Lease              *history.Lease // the lease of the hold or section; nil if unknown
	LastLease          *history.Lease // of holds that count as one: the lease of the one that ends last, if that is not lease
	Weight             int64
	Continues          bool // it goes on where an earlier hold of the lease, which was downgraded, ends
	Upgraded           bool // it begins with an upgrade of the lease
	Unfinished         bool // a section that was never left
	crashed            bool // its client crashed in it
}

// Empty reports whether it contains no time.
func (s *Hold) Empty() bool { return s.To <= s.From }

// Compare compares holds by when they begin. Those that go on were there before all others.
func (s *Hold) Compare(b *Hold) int {
	if s.From == b.From && s.Continues != b.Continues {
		if s.Continues {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(s.From, b.From), cmp.Compare(s.Ops[0], b.Ops[0]))
}

// HoldsOf returns the holds in which each lease's client may rely on it. Two
// acquisitions are two leases even if a weak lock gives them the same token. A change of the mode ends a hold and begins
// another.
func HoldsOf(leases []*history.Lease, by Lock) []Hold {
	all := make([]Hold, 0, len(leases))
	for _, l := range leases {
		for _, span := range l.Holds() {
			s := Hold{Key: l.Key, Client: l.Process, Token: l.Token, From: span.From, To: span.To, Lease: l}
			for _, g := range l.Grants {
				if g.At == span.From || g.At > span.From && g.At <= span.To {
					s.Ops = append(s.Ops, g.Index)
				}
			}
			if l.ReleaseIndex >= 0 && span.To == l.Released {
				s.Ops = append(s.Ops, l.ReleaseIndex)
			}
			if l.LostIndex >= 0 && span.To == l.Lost {
				s.Ops = append(s.Ops, l.LostIndex)
			}
			all = by.appendParts(all, s)
		}
	}
	return all
}

// Parts cuts holds where the modes of their leases change, and weighs them.
func (x Lock) Parts(all []Hold) []Hold {
	parts := make([]Hold, 0, len(all))
	for _, s := range all {
		parts = x.appendParts(parts, s)
	}
	return parts
}

func (x Lock) appendParts(parts []Hold, s Hold) []Hold {
	if s.Weight = x.WeightOf(s.Lease); s.Lease == nil || len(s.Lease.Changes) == 0 {
		return append(parts, s)
	}
	cut := false
	for _, c := range s.Lease.Changes {
		weight := x.Weight(c.Mode, s.Lease.Permits)
		if weight == s.Weight || c.At >= s.To {
			continue
		}
		if c.At > s.From {
			before := s
			before.To, before.Ops = c.At, append(slices.Clip(s.Ops), c.Index)
			parts, cut, s.From = append(parts, before), true, c.At
		}
		s.Weight = weight
		if cut {
			s.Upgraded = c.Mode == history.ModeWrite
			s.Continues = !s.Upgraded
		}
		if s.Upgraded {
			s.Ops = slices.DeleteFunc(slices.Clone(s.Ops), func(i int) bool { return i <= c.Index })
			s.Ops = append([]int{c.Index}, s.Ops...)
		}
	}
	return append(parts, s)
}

// SectionsOf returns the critical sections as their clients ran them, regardless of
// their leases.
//
// A section that was never left ends where its client released the lease or crashed,
// or else at the client's last line that shows it in the section: a line with the
// token (a write, an extension) or a pause. The section does not last to the end of
// the history, since the harness may have been killed right after that line: no lock
// is convicted because a client recorded nothing.
func SectionsOf(h *history.Packed, leaseAt func(position int) *history.Lease) []Hold {
	var all []Hold
	inside := map[string][]int{} // by client: its open sections
	for i, op := range h.All() {
		if op.F == history.FCrash { // the crash ends all sections of its client
			for _, s := range inside[op.Process] {
				all[s].lastSeen(op)
				all[s].crashed = true
			}
			delete(inside, op.Process)
			continue
		}
		if op.Value == nil || op.F != history.FEnter && len(inside[op.Process]) == 0 {
			continue
		}
		token := op.Value.Token
		open := inside[op.Process]
		at := slices.IndexFunc(open, func(s int) bool { return all[s].Token == token && all[s].Key == op.Key })
		switch {
		case op.F == history.FEnter && at < 0:
			inside[op.Process] = append(open, len(all))
			all = append(all, Hold{Key: op.Key, Client: op.Process, Token: token, From: op.Time, To: op.Time,
				Ops: []int{op.Index}, Lease: leaseAt(i), Unfinished: true})
		case op.F == history.FPaused:
			for _, s := range open {
				all[s].lastSeen(op)
			}
		case at < 0:
		case op.F == history.FLost: // no sign of life: the lock may report the loss late
		case op.F == history.FLeave || op.F == history.FRelease && op.Type == history.Invoke:
			s := &all[open[at]]
			before := s.To
			s.lastSeen(op)
			s.To = max(s.To-op.Value.Delay, before)
			s.Unfinished = false
			inside[op.Process] = slices.Delete(open, at, at+1)
		default:
			all[open[at]].lastSeen(op)
		}
	}
	return all
}

// lastSeen sets the end of a section to a line that shows its client in it.
func (s *Hold) lastSeen(op *history.Op) {
	s.To = op.Time
	s.Ops = append(s.Ops[:1], op.Index)
}

// LeaseEnd returns the latest end of the holds of a lease that began by a time. The last of them
// need not end last: an extension that was over when it returned may end before the hold before it.
func LeaseEnd(l *history.Lease, before time.Duration) time.Duration {
	var end time.Duration
	any := false
	for _, s := range l.Holds() {
		if s.From <= before {
			end, any = max(end, s.To), true
		}
	}
	if !any {
		return l.Grants[0].Until
	}
	return end
}

// KeysUntil returns until when the keys of a grant may be there: a lock ends the validity before that, by a margin for
// the drift of clocks (distlock, "the remaining validity"). Locks leave up to a fiftieth of the TTL.
func (r *Run) KeysUntil(g history.Grant) time.Duration {
	if g.Skewed {
		return g.Until
	}
	return g.Until + r.History.Header.TTL/50
}

// InTime reports whether an event recorded at time at may have happened by end: the recorder
// records nothing while it or the machine stands still.
func (r *Run) InTime(end, at time.Duration) bool {
	if at <= end {
		return true
	}
	stalled := r.stalledTime(end, at)
	return stalled > 0 && at-end <= stalled+r.Slack
}

// ExcusedLate reports whether an action under a lease may seem late only because the machine stood
// still: a stall after the end of the lease may have delayed the recording of an action that the
// client began in time. It also returns when the lease was over.
func (r *Run) ExcusedLate(l *history.Lease, at time.Duration) (over time.Duration, late bool) {
	if len(r.Stalls()) == 0 {
		return 0, false
	}
	over = l.Acquired()
	for _, s := range l.Holds() {
		if !s.Empty() && s.From < at {
			over = max(over, s.To)
		}
	}
	return over, over < at && r.InTime(over, at)
}

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

// WeightAt returns the weight of a lease at a time.
func (x Lock) WeightAt(l *history.Lease, at time.Duration) int64 {
	return x.Weight(l.ModeAt(at), l.Permits)
}

// Reentrant reports whether overlapping holds of one owner count as one.
func (x Lock) Reentrant() bool { return x.Kind == history.Reentrant }

// Conflicts reports whether an earlier hold is named where a later one with a weight exceeded the capacity.
// Permits add up, so each hold that has any is named.
func (x Lock) Conflicts(s *Hold, weight int64) bool {
	return x.Kind == history.Semaphore || s.Weight+weight > x.Capacity
}

// Exclusive reports whether a holder has the lock for itself, so that each overlap is one of two of them.
func (x Lock) Exclusive() bool { return x.Capacity == 1 && x.Kind != history.Semaphore }

// waitsFor names what a client that waits for a key waits for: the key, or, of a multi-lock, all keys ("").
// Its acquire may need others of them, or another client may have the key while it waits for them.
func (x Lock) waitsFor(key string) string {
	if x.Kind == history.Multi {
		return ""
	}
	return key
}
