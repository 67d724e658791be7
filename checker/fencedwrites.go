package checker

var FencedWrites = Property{
	Name: "fenced-writes", Level: "L5", Says: "a resource that rejects lower fencing tokens applies no write of a lease after one of a later lease",
	Helps: GiveFences, Leads: true, Writes: true, Needs: FencingTokens, ToleratesStalls: true,
	rules: &rules{judge: (*run).fencedWrites, gaps: []gap{noFencing, {nil, "no write had a fencing token"}}, exempt: []exemption{ordersNoWrites}},
}

// fencedWrites judges L5, at the second resource, which refuses a write whose fencing
// token is lower than the highest one that it has seen.
func (r *run) fencedWrites() *judgement {
	if !r.History.Header.Fencing {
		return nil
	}
	return r.staleWrites(r.Writes(true), true)
}
