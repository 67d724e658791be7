package checker

import (
	"cmp"
	"slices"
	"strings"
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
	cut                bool           // a section that was never left
	crashed            bool           // its client crashed in it
}

func (s *stretch) empty() bool { return s.to <= s.from }

// overlap is two stretches on one key that share some time.
type overlap struct {
	earlier, later *stretch
}

// from and to return the bounds of the time that both share.
func (o overlap) from() time.Duration { return o.later.from }
func (o overlap) to() time.Duration   { return min(o.earlier.to, o.later.to) }

// sweep returns an overlap for each stretch that begins before an earlier one on
// its key ends; of several earlier ones, it names the one that lasts longest.
// Stretches are pairwise disjoint if and only if there is no overlap. Empty
// stretches contain no time and so overlap nothing. It takes O(n log n) time.
//
//	a  |-----------------|
//	b     |---|                 overlaps a
//	c             |---------|   overlaps a
//	d                       |--|
func sweep(all []stretch) []overlap {
	order := make([]*stretch, 0, len(all))
	for i := range all {
		if !all[i].empty() {
			order = append(order, &all[i])
		}
	}
	slices.SortStableFunc(order, func(a, b *stretch) int {
		if c := strings.Compare(a.key, b.key); c != 0 {
			return c
		}
		if c := cmp.Compare(a.from, b.from); c != 0 {
			return c
		}
		return cmp.Compare(a.ops[0], b.ops[0])
	})
	var found []overlap
	var longest *stretch
	for _, s := range order {
		if longest == nil || longest.key != s.key {
			longest = s
			continue
		}
		if s.from < longest.to {
			found = append(found, overlap{longest, s})
		}
		if s.to > longest.to {
			longest = s
		}
	}
	return found
}

// holds returns the stretches in which each lease's client may rely on it. Two
// acquisitions are two leases even if a weak lock gives them the same token, since
// only one of them may hold at a time.
func holds(leases []*history.Lease) []stretch {
	all := make([]stretch, 0, len(leases))
	for _, l := range leases {
		for _, span := range l.Holds() {
			s := stretch{key: l.Key, client: l.Process, token: l.Token, from: span.From, to: span.To, lease: l}
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
