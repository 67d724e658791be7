package checker

import (
	"fmt"

	"lockpick/history"
)

func contention(h *history.History, p Property, found []Violation, says string) Result {
	votes := 0
	for i := range h.Ops {
		if h.Ops[i].F == history.FVote {
			votes++
		}
	}
	needed := Evidence{What: "recorded votes", Got: votes, Need: MinEvidence, Help: "try a longer --time-limit"}
	r := Result{
		Property: p, Verdict: Holds, Checked: votes, Evidence: []Evidence{needed}, Count: len(found), Why: fmt.Sprintf("in %d votes it did not happen", votes),
	}
	if needed.Got < needed.Need {
		r.Verdict, r.Short, r.Why = Invalid, &needed, needed.Needs()
	}
	if len(found) > 0 {
		r.Verdict, r.Short, r.Key = Violated, nil, found[0].Key
		r.take(found)
		r.Why = fmt.Sprintf(says, len(found)) + fmt.Sprintf(": the first at %.3fs on %s", found[0].At.Seconds(), found[0].Key)
	}
	return r
}
