package exhaust

import (
	"container/heap"
	"slices"
)

// DefaultPrefixes is the least number of open choices at which a search is divided among shards.
const DefaultPrefixes = 1024

// division is the point of a search at which the shards separate. Until then every shard makes the same runs.
// Then the open choices, in the order of the frontier, are distributed: the i-th, from 0, belongs to shard i
// mod n + 1.
type division struct {
	Counts   counts   // before the division
	Prefixes []prefix // the shard's own choices
}

// divide keeps only the shard's own choices open.
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

// shortest returns the shortest violation. Of equally short ones it returns the one with the least path among
// those that the division allows: see the package comment.
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
