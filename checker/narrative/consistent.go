package narrative

import (
	"fmt"

	"lockpick/checker/facts"
	"lockpick/history"
)

// maxLosses is the maximum number of losses that a narrative explains besides those behind its
// violation.
const maxLosses = 30

// explainLosses goes through each master's answers in the narrative. Where a master said yes to
// one token although, by the events so far, it still stored another, it adds an explanation. That
// makes a narrative complete: each key in it stays stored until an event removes it, or the
// narrative says that no recorded event did.
func (n *Narrative) explainLosses() {
	aside := n.aside
	n.aside = true
	defer func() { n.aside = aside }()
	done := map[string]bool{}
	for range maxLosses {
		n.sort()
		master, yes, next, found := n.contradiction(done)
		if !found {
			return
		}
		done[fmt.Sprint(master, yes.Index, next.Index)] = true
		if c := n.lossBefore(master, n.LeaseOfVote(yes), yes, next); c.Explain != nil {
			c.Explain([]string{master})
		}
	}
}

// contradiction finds a master that, by the events, said yes to a token while it stored another.
// It skips the contradictions in done.
func (n *Narrative) contradiction(done map[string]bool) (master string, yes, next history.Vote, found bool) {
	stored := map[string]history.Vote{}
	for i := range n.events {
		e := &n.events[i]
		switch e.Kind {
		case EventLost, EventUnexplained, EventUp:
			if e.Kind == EventUp && e.Cause == "" {
				continue
			}
			for _, m := range e.Masters {
				if e.Kind != EventLost || stored[m].Token == e.Token {
					delete(stored, m)
				}
			}
		case EventAnswered:
			for _, m := range e.Yes {
				v := e.vote(m)
				if v.Command == history.CommandRelease {
					delete(stored, m)
				}
				if !facts.StoresKey(v) {
					continue
				}
				x, has := stored[m]
				executed, _ := n.r.ExecutedBy(x)
				if has && x.Token != v.Token && e.At < executed+n.r.Lifetime(x) && !done[fmt.Sprint(m, x.Index, v.Index)] {
					return m, x, v, true
				}
				stored[m] = v
			}
		}
	}
	return "", yes, next, false
}

// vote returns the answer of a master in an event.
func (e *placed) vote(master string) history.Vote {
	for _, v := range e.ask.Votes {
		if v.Master == master {
			return v
		}
	}
	return history.Vote{}
}
