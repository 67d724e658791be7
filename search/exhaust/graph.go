package exhaust

// graph stores the visited states, and where each choice in them leads. It names states and choices by
// numbers: a state by its index in the order of the visits, a choice by its slot in targets. Slot 0 is the
// start of every run.
type graph struct {
	index   map[state]uint32
	first   []uint32 // slot of the state's first choice, by state; the other choices follow
	targets []target // where the choice leads, by slot
}

// target says where a choice leads: 0 to the end of the run, or not tried; i+1 to the state i; toViolation to a
// violation, which ends the run.
type target uint32

const toViolation = 1<<32 - 1

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
