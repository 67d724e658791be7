package checker

import "lockpick/history"

// noCrash judges one part of AV: no call of the lock panics.
func (r *run) noCrash() *judgement {
	return r.callsThat(history.FPanicked, "panicked", "none of %s panicked")
}
