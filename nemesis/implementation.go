package nemesis

import "lockpick/history/fault"

// implementation contains the functions that carry out a kind of fault.
type implementation struct {
	// new makes the effect of one fault.
	new func(n *Nemesis, f *injection) effect
	// shape draws the parameters of a step that only this kind has; nil: it has none.
	shape func(n *Nemesis, plan Plan, s *Step)
}

// implementations holds the kinds by name. Each file adds the kinds that it implements.
var implementations = map[string]implementation{}

// implement adds a kind, which must be in the registry.
func implement(name string, i implementation) {
	if _, known := fault.Named(name); !known {
		panic("the registry does not know the fault " + name)
	}
	implementations[name] = i
}
