package checker

import "slices"

// ghostKeys judges the same for keys whose SET was never answered and that a master set after the
// release: if the network delivers late, a client cannot prevent that, so the property is judged
// only if the scenario names it.
func (r *run) ghostKeys() *judgement {
	if !slices.Contains(r.h.Header.Properties, GhostKeys.Name) {
		return nil
	}
	return r.orphans(true)
}
