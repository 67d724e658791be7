package exhaust

import (
	"bytes"
	"slices"
	"time"
)

// graph is what a search has visited: states, and where each choice in them leads. It names
// states and choices by numbers: a state by its index in the order of the visits, a choice by
// its slot in targets. Slot 0 is the start of every run.
type graph struct {
	index      map[state]uint32
	first      []uint32 // by state: the slot of its first choice; the others follow
	targets    []target // by slot
	violations []violation
}

// target is where a choice leads: to a state, to a violation, or to the end of the run. 0 is
// the end, or a choice that has not been tried.
type target uint32

// isViolation marks targets that are indices of violations.
const isViolation = 1 << 31

// violation is a violation that ends a run.
type violation struct {
	Faults int
	At     time.Duration
}

func newGraph() graph { return graph{index: map[state]uint32{}, targets: make([]target, 1)} }

// add adds a state with n choices, and returns the slot of the first.
func (g *graph) add(s state, n uint8) (slot uint32) {
	slot = uint32(len(g.targets))
	g.index[s] = uint32(len(g.first))
	g.first = append(g.first, slot)
	g.targets = append(g.targets, make([]target, n)...)
	return slot
}

// end returns the slot after the last choice of a state.
func (g *graph) end(i int) uint32 {
	if i+1 < len(g.first) {
		return g.first[i+1]
	}
	return uint32(len(g.targets))
}

// leads records that the choice of a slot leads to a known state.
func (g *graph) leads(slot uint32, s state) {
	if i, known := g.index[s]; known {
		g.targets[slot] = target(i + 1)
	}
}

// violates records that the choice of a slot leads to a violation.
func (g *graph) violates(slot uint32, v violation) {
	g.targets[slot] = isViolation | target(len(g.violations))
	g.violations = append(g.violations, v)
}

// prefix is a path whose last choice is that of a slot.
type prefix struct {
	Path []uint8
	Slot uint32
}

// least returns the least path in lexicographic order that begins with one of the prefixes,
// comes to no state below from after it, and ends in the violation. None of the prefixes begins
// with another one. It returns nil if there is no such path.
func (g *graph) least(prefixes []prefix, from int, want violation) []uint8 {
	prefixes = slices.Clone(prefixes)
	slices.SortFunc(prefixes, func(a, b prefix) int { return bytes.Compare(a.Path, b.Path) })
	tried := make([]bool, len(g.first)) // without success, or on the path: no run comes to a state twice
	var rest []uint8
	var search func(slot uint32) bool
	search = func(slot uint32) bool {
		t := g.targets[slot]
		if t&isViolation != 0 {
			return g.violations[t&^isViolation] == want
		}
		i := int(t) - 1
		if i < from || tried[i] {
			return false
		}
		tried[i] = true
		for slot := g.first[i]; slot < g.end(i); slot++ {
			rest = append(rest, uint8(slot-g.first[i]))
			if search(slot) {
				return true
			}
			rest = rest[:len(rest)-1]
		}
		return false
	}
	for _, p := range prefixes {
		if search(p.Slot) {
			return append(slices.Clone(p.Path), rest...)
		}
	}
	return nil
}
