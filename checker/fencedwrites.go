package checker

// fencedWrites judges L5, at the second resource, which refuses a write whose fencing
// token is lower than the highest one that it has seen.
func (r *run) fencedWrites() *judgement {
	if !r.h.Header.Fencing {
		return nil
	}
	return r.staleWrites(r.writes(true), true)
}
