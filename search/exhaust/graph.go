package exhaust

import (
	"bytes"
	"slices"
	"time"
)

// graph stores the visited states, and where each choice in them leads. It names states and choices by
// numbers: a state by its index in the order of the visits, a choice by its slot in targets. Slot 0 is the
// start of every run.
type graph struct {
	index      map[state]uint32
	first      []uint32 // slot of the state's first choice, by state; the other choices follow
	targets    []target // where the choice leads, by slot
	violations []violation
}

// target encodes where a choice leads: 0 to the end of the run, or not tried; i+1 to the state i; with
// isViolation to a violation.
type target uint32

// isViolation marks a target whose other bits are an index of graph.violations.
const isViolation = 1 << 31

// violation describes a violation that ends a run.
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

// prefix is a path, and the slot of its last choice.
type prefix struct {
	Path []uint8
	Slot uint32
}

// least returns the least path in lexicographic order that begins with one of the prefixes, reaches no state
// below from after it, and ends in the violation. No prefix may begin with another one. It returns nil if
// there is no such path.
func (g *graph) least(prefixes []prefix, from int, want violation) []uint8 {
	prefixes = slices.Clone(prefixes)
	slices.SortFunc(prefixes, func(a, b prefix) int { return bytes.Compare(a.Path, b.Path) })
	tried := make([]bool, len(g.first)) // without success, or on the current path: no run reaches a state twice
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
