package checker

import "lockpick/history"

var NoCrash = Property{
	Name: "no-crash", Level: "AV", Says: "no call of the lock panics",
	rules: &rules{judge: (*run).noCrash},
}

// noCrash judges one part of AV: no call of the lock panics.
func (r *run) noCrash() *judgement {
	return r.callsThat(history.FPanicked, "panicked", "none of %s panicked", func(*history.Op) bool { return false })
}
