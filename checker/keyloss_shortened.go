package checker

import (
	"fmt"
	"time"

	"lockpick/history"
)

// replies returns the votes of a master on a command, in order.
func (r *run) replies(command, master string) votes {
	return r.answered.get(command, func(command string) map[string]votes {
		ids := map[string][]int32{}
		for i := range r.h.Len() {
			id := r.h.InOrder(i)
			if k := r.h.Kind(id); k.Command == command {
				ids[k.Master] = append(ids[k.Master], id)
			}
		}
		byMaster := map[string]votes{}
		for master, mine := range ids {
			byMaster[master] = votes{r.h, mine}
		}
		return byMaster
	})[master]
}

// shortened looks for an extension by another client that changed the key's expiry: a wrong lock
// may extend a key without comparing its token first.
func (n *narrative) shortened(m string, a *history.Lease, yes, next history.Vote) (cause, bool) {
	var by history.Vote
	for v := range n.r.replies(history.CommandExtend, m).asked(yes.At, next.At) {
		if v.Yes && v.Token != a.Token && v.Token != next.Token && within(v, yes, next) && mayDelete(v, yes) {
			by = v
		}
	}
	if by.Master == "" {
		return cause{}, false
	}
	end := by.At + n.r.lifetime(by)
	if next.At < sent(by)+n.r.lifetime(by) {
		return cause{}, false
	}
	return cause{name: "shortened by " + by.Token, explain: func(ms []string) {
		n.lost(ms, a, Event{At: min(end, max(sent(next), yes.At)), Cause: CauseExpired, Word: "expired", Text: n.shortenedText(ms, a, by)}, "")
	}}, true
}

func (n *narrative) shortenedText(ms []string, a *history.Lease, by history.Vote) string {
	return fmt.Sprintf("the key of %s expired on %s: by %s %s had extended it for %s, although it was not its own",
		a.Process, Enumerate(ms), at(by.At), other(by.Client, a.Process), at(n.r.lifetime(by).Round(time.Millisecond)))
}
