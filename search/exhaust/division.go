package exhaust

import (
	"container/heap"
	"slices"
)

// DefaultPrefixes is the least number of choices into which a search is divided.
const DefaultPrefixes = 1024

// division is the point at which shards part. Until then each makes the same runs. The choices
// that remain then, in the order of the frontier, are dealt out: the i-th, from 0, belongs to
// shard i mod n + 1.
type division struct {
	Counts   counts   // until then
	Prefixes []prefix // of the shard
}

// divide leaves only the choices of the shard open.
func (s *searcher) divide() {
	s.shared = &division{Counts: counts{len(s.first), s.runs, s.steps}}
	slices.SortFunc(s.open, func(a, b pendingPath) int { return a.compare(&b) })
	var mine frontier
	for i, p := range s.open {
		if s.Shard.Whole() || i%s.Shard.Count == s.Shard.Index-1 {
			mine = append(mine, p)
			s.shared.Prefixes = append(s.shared.Prefixes, prefix{p.choices(), p.slot})
		}
	}
	s.open = mine
	heap.Init(&s.open)
}

// shortest returns the shortest violation. Of those that are as short it is the one with the
// least path among those that the division allows: see the package comment.
func (s *searcher) shortest() *Found {
	if s.best == nil {
		return nil
	}
	found := s.early
	if s.shared == nil {
		return found
	}
	path := s.least(s.shared.Prefixes, s.shared.Counts.States, violation{s.best.Faults, s.best.At})
	if path == nil {
		return found
	}
	if late := (&Found{At: s.best.At, Faults: s.best.Faults, Path: path}); late.shorter(found) {
		return late
	}
	return found
}
