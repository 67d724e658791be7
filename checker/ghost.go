package checker

var GhostKeys = Property{
	Name: "ghost-keys", Level: "AV", Says: "no master stores a key because it executed the SET after the release", Votes: true, OnlyNamed: true, NotOfLock: true,
	rules: &rules{judge: (*run).ghostKeys, gaps: []gap{nobodyLooked, {nil, "no attempt was over"}}},
}

// ghostKeys judges the same for keys whose SET was never answered and that a master set after the
// release: if the network delivers late, a client cannot prevent that, so the property is judged
// only if the scenario names it.
func (r *run) ghostKeys() *judgement {
	return r.orphans(true)
}
