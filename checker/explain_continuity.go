package checker

import "fmt"

// explainRevival explains that an extension revived a key that had been gone.
func (r *run) explainRevival(v *Violation, x revival) {
	l := x.lease
	v.Summary = fmt.Sprintf("%s's lease on %s was extended at %s though its key was gone from a quorum's masters meanwhile", l.Process, v.Key, at(v.At))
	n := r.narrate(v)
	n.extended(l, x.before, x.grant)
	var gone []string
	group(r.masterNames(), func(m string) cause {
		if u, ok := x.taken[m]; ok {
			gone = append(gone, m)
			return cause{name: "taken by " + u.Token, explain: func(ms []string) {
				n.lost(ms, l, Event{At: u.At, Cause: CauseTaken, Word: "taken", Ops: []int{u.Index}},
					fmt.Sprintf("set the key for %s: that of %s was gone", other(u.Client, l.Process), l.Process))
			}}
		}
		if snapshot := x.missed[m]; snapshot != nil {
			gone = append(gone, m)
			return cause{name: "missed at " + at(snapshot.Time), explain: func(ms []string) {
				n.lost(ms, l, Event{At: snapshot.Time, Cause: CauseSeen, Word: "gone", Ops: []int{snapshot.Index}}, fmt.Sprintf("did not store the key of %s", l.Process))
			}}
		}
		if u, ok := x.lapsed[m]; ok {
			gone = append(gone, m)
			end := u.At + r.lifetime(u)
			return cause{name: "lapsed at " + at(end), explain: func(ms []string) {
				n.lost(ms, l, Event{At: end, Cause: CauseExpired, Word: "expired", Text: fmt.Sprintf("the key of %s expired on %s", l.Process, Enumerate(ms))}, "")
			}}
		}
		return cause{}
	})
	n.violated(fmt.Sprintf("the extension created the key of %s anew on %s", l.Process, Enumerate(gone)))
}
