package facts

import (
	"slices"
	"time"

	"lockpick/history"
)

// Backing holds the yes answers that a grant or an extension rests on.
type Backing struct {
	Lease *history.Lease
	Grant history.Grant
	first bool          // it is the grant of an acquire, not of an extension
	Since time.Duration // the earliest time at which its commands can have been sent
	Yes   []string      // masters whose yes had arrived when it returned

	// Extensions of one lease that were in flight at once share the answers.
	Sharing int // how many of them had returned, this one included
	Answers int // yes answers, at most one of each master for each of these
	Needs   int // how many they need together
}

// grantBefore returns the grant that the i-th grant of a lease extends. It skips clock changes,
// which grant nothing.
func grantBefore(l *history.Lease, i int) history.Grant {
	for i--; i > 0 && l.Grants[i].Skewed; i-- {
	}
	return l.Grants[i]
}

// AutoExtended reports whether a lease was ever extended, or a command to extend it sent, without
// a call.
func (r *Run) AutoExtended(l *history.Lease) bool {
	return r.selfExtending.get(l, func(l *history.Lease) bool {
		return slices.ContainsFunc(l.Grants[1:], func(g history.Grant) bool {
			_, called := r.CallOf(g.Index)
			return !g.Skewed && !called
		}) || r.askedUncalled(l)
	})
}

// askedUncalled reports whether a command to extend a lease was sent while no call to extend it was
// pending.
func (r *Run) askedUncalled(l *history.Lease) bool {
	calls := r.extendCalls()[leaseName{l.Process, l.Key, l.Token}]
	for v := range r.VoteIndex().OnLease(l) {
		if v.Command != history.CommandExtend {
			continue
		}
		at := Sent(v)
		if !slices.ContainsFunc(calls, func(c history.Span) bool { return c.From <= at && at <= c.To }) {
			return true
		}
	}
	return false
}

// leaseName identifies a lease in calls to extend it.
type leaseName struct{ client, key, token string }

// extendCalls returns the calls to extend each lease. A call is pending until the next line about
// extending that lease.
func (r *Run) extendCalls() map[leaseName][]history.Span {
	return r.extends.get(func() map[leaseName][]history.Span {
		extends := map[leaseName][]history.Span{}
		open := map[leaseName]bool{}
		for _, op := range r.History.All() {
			if op.F != history.FExtend || op.Value == nil {
				continue
			}
			name := leaseName{op.Process, op.Key, op.Value.Token}
			if calls := extends[name]; open[name] {
				calls[len(calls)-1].To = op.Time
			}
			if open[name] = op.Type == history.Invoke; open[name] {
				extends[name] = append(extends[name], history.Span{From: op.Time, To: 1 << 62})
			}
		}
		return extends
	})
}

// BackingOf finds the answers that the i-th grant of a lease rests on. It returns false if they are
// unknown: no vote on the lease was recorded, as with a lock that nobody observed, one that is missing may have been a yes, or the
// harness stood still, so that votes may have been recorded late.
func (r *Run) BackingOf(l *history.Lease, i int) (Backing, bool) {
	g := l.Grants[i]
	b := Backing{Lease: l, Grant: g, first: i == 0, Since: l.Invoked, Needs: r.Quorum(), Sharing: 1}
	from := b.Since // only answers to commands sent at this time or later count
	if i > 0 {
		b.Since = grantBefore(l, i).At
		from = b.Since
		// If a lock also extends by itself, such an extension may return while a call is pending,
		// and looks like the return of that call.
		if r.AutoExtended(l) {
			b.Since = r.extendingSince(l, r.mayHaveBegun(l, i))
			from = b.Since
			for j := 1; j < i; j++ {
				if other := l.Grants[j]; !other.Skewed && other.At > b.Since+r.Slack {
					if x, known := r.BackingOf(l, j); !known || x.Enough() {
						b.Sharing++
						from = min(from, x.Since) // the other extension may rest on earlier answers
					}
				}
			}
			b.Needs *= b.Sharing
		} else if asked, ok := r.CalledAt(g.Index); ok {
			b.Since = max(b.Since, asked)
			from = b.Since
		}
	}
	if g.Skewed || !r.VoteIndex().Voted(l) || r.StalledIn(from, g.At+r.Slack) {
		return b, false
	}
	said, maybe := map[string]int{}, false
	for v := range r.VoteIndex().InFlight(l, from-r.Slack, g.At+r.Slack) {
		// An extension may create a key anew that a master has lost.
		counts := v.Command == history.CommandSet && (b.first || Sent(v) > grantBefore(l, i).At) || !b.first && v.Command == history.CommandExtend
		if counts && v.Yes && Sent(v) >= from-r.Slack && v.At <= g.At+r.Slack {
			said[v.Master]++
		}
		maybe = maybe || counts && v.Maybe && v.At <= g.At+r.Slack
	}
	for m, n := range said {
		b.Yes = append(b.Yes, m)
		b.Answers += min(n, b.Sharing)
	}
	b.Yes = Distinct(b.Yes)
	return b, !maybe || b.Enough()
}

// mayHaveBegun returns the time from which on commands may count for an extension, for a lease that
// is also extended without a call. The previous call may still have been pending then, if the
// extension that returned was the lock's own. And a client may notice its answers a twentieth of
// the TTL late, which is the margin that clients keep at the end of a lease.
func (r *Run) mayHaveBegun(l *history.Lease, i int) time.Duration {
	since := grantBefore(l, i).At
	for j := i - 1; j > 0; j-- {
		if asked, called := r.CalledAt(l.Grants[j].Index); called && !l.Grants[j].Skewed {
			since = min(since, asked)
			break
		}
	}
	return since - r.History.Header.TTL/20
}

// Enough reports whether the yes answers suffice for the grant.
func (b *Backing) Enough() bool {
	return b.Answers >= b.Needs
}

// extendingSince returns the beginning of the period up to a time in which some command to extend a
// lease was always in flight: in such a period several extensions may share the answers.
func (r *Run) extendingSince(l *history.Lease, to time.Duration) time.Duration {
	for {
		from := to
		for v := range r.VoteIndex().InFlight(l, to, to) {
			if v.Command == history.CommandExtend && v.At > to {
				from = min(from, r.waitingSince(l, v))
			}
		}
		if from >= to {
			return to
		}
		to = from
	}
}

// waitingSince returns the earliest time at which a command to extend a lease may have begun to wait
// to be sent: a client may send a master only one command at a time.
func (r *Run) waitingSince(l *history.Lease, v history.Vote) time.Duration {
	since := Sent(v)
	for {
		from := since
		for u := range r.VoteIndex().InFlight(l, since-r.Slack, since) {
			if u.Command == history.CommandExtend && u.Master == v.Master && u.At <= since {
				from = min(from, Sent(u))
			}
		}
		if from >= since {
			return since
		}
		since = from
	}
}
