package checker

import (
	"cmp"
	"slices"
	"time"

	"lockpick/history"
)

// stretch is a time in which a client relies on a lock: a hold (L2) or a
// critical section (L3). It is half-open, [from, to), so a stretch that begins at
// the instant at which another ends does not overlap it.
type stretch struct {
	key, client, token string
	from, to           time.Duration
	ops                []int          // the operations that begin it and say how long it lasts
	lease              *history.Lease // the lease of the hold or section; nil if unknown
	last               *history.Lease // of stretches that count as one: the lease of the one that ends last, if that is not lease
	weight             int64
	cut                bool // a section that was never left
	crashed            bool // its client crashed in it
}

func (s *stretch) empty() bool { return s.to <= s.from }

// before compares stretches by when they begin.
func (s *stretch) before(b *stretch) int {
	return cmp.Or(cmp.Compare(s.from, b.from), cmp.Compare(s.ops[0], b.ops[0]))
}

// holds returns the stretches in which each lease's client may rely on it. Two
// acquisitions are two leases even if a weak lock gives them the same token.
func holds(leases []*history.Lease, by law) []stretch {
	all := make([]stretch, 0, len(leases))
	for _, l := range leases {
		for _, span := range l.Holds() {
			s := stretch{key: l.Key, client: l.Process, token: l.Token, from: span.From, to: span.To, lease: l, weight: by.of(l)}
			for _, g := range l.Grants {
				if g.At == span.From || g.At > span.From && g.At <= span.To {
					s.ops = append(s.ops, g.Index)
				}
			}
			if l.ReleaseIndex >= 0 && span.To == l.Released {
				s.ops = append(s.ops, l.ReleaseIndex)
			}
			if l.LostIndex >= 0 && span.To == l.Lost {
				s.ops = append(s.ops, l.LostIndex)
			}
			all = append(all, s)
		}
	}
	return all
}

// sections returns the critical sections as their clients ran them, regardless of
// their leases.
//
// A section that was never left ends where its client released the lease or crashed,
// or else at the client's last line that shows it in the section: a line with the
// token (a write, an extension) or a pause. The section does not last to the end of
// the history, since the harness may have been killed right after that line: no lock
// is convicted because a client recorded nothing.
func sections(ops []history.Op, leaseAt func(line int) *history.Lease) []stretch {
	var all []stretch
	inside := map[string][]int{} // by client: its open sections
	for i := range ops {
		op := &ops[i]
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
		at := slices.IndexFunc(open, func(s int) bool { return all[s].token == token })
		switch {
		case op.F == history.FEnter && at < 0:
			inside[op.Process] = append(open, len(all))
			all = append(all, stretch{key: op.Key, client: op.Process, token: token, from: op.Time, to: op.Time,
				ops: []int{op.Index}, lease: leaseAt(i), cut: true})
		case op.F == history.FPaused:
			for _, s := range open {
				all[s].lastSeen(op)
			}
		case at < 0:
		case op.F == history.FLost: // no sign of life: the lock may report the loss late
		case op.F == history.FLeave || op.F == history.FRelease && op.Type == history.Invoke:
			s := &all[open[at]]
			before := s.to
			s.lastSeen(op)
			s.to = max(s.to-op.Value.Delay, before)
			s.cut = false
			inside[op.Process] = slices.Delete(open, at, at+1)
		default:
			all[open[at]].lastSeen(op)
		}
	}
	return all
}

// lastSeen sets the end of a section to a line that shows its client in it.
func (s *stretch) lastSeen(op *history.Op) {
	s.to = op.Time
	s.ops = append(s.ops[:1], op.Index)
}

// endBefore returns the latest end of the holds of a lease that began by a time. The last of them
// need not end last: an extension that was over when it returned may end before the hold before it.
func endBefore(l *history.Lease, before time.Duration) time.Duration {
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

// keysUntil returns until when the keys of a grant may be there: a lock ends the validity before that, by a margin for
// the drift of clocks (distlock, "the remaining validity"). Locks leave up to a fiftieth of the TTL.
func (r *run) keysUntil(g history.Grant) time.Duration {
	if g.Bent {
		return g.Until
	}
	return g.Until + r.h.Header.TTL/50
}

// inTime reports whether an event recorded at time at may have happened by end: the recorder
// records nothing while it or the machine stands still.
func (r *run) inTime(end, at time.Duration) bool {
	if at <= end {
		return true
	}
	stalled := r.stalledTime(end, at)
	return stalled > 0 && at-end <= stalled+r.slack
}

// excusedLate reports whether an action under a lease may seem late only because the machine stood
// still: a stall after the end of the lease may have delayed the recording of an action that the
// client began in time. It also returns when the lease was over.
func (r *run) excusedLate(l *history.Lease, at time.Duration) (over time.Duration, late bool) {
	if len(r.stalls().spans) == 0 {
		return 0, false
	}
	over = l.Acquired()
	for _, s := range l.Holds() {
		if !s.Empty() && s.From < at {
			over = max(over, s.To)
		}
	}
	return over, over < at && r.inTime(over, at)
}
