package checker

import "fmt"

// explainOrphan explains that a master still stored a key that its owner no longer needed.
func (r *run) explainOrphan(v *Violation, o orphan) {
	x := &o.commandLog
	v.Summary = fmt.Sprintf("%s still stored a token of %s for %s at %s, %s after %s last needed it", x.master, x.who.client, v.Key, at(v.Until), at(v.Until-o.over), x.who.client)
	n := r.narrate(v)
	for _, a := range r.requests(x.key, x.who) {
		if a.of(x.master) && a.sent <= o.snapshot.Time {
			n.only(a, x.master)
		}
	}
	what := "attempt"
	if o.lease {
		what = "release of its lease"
	}
	n.addAt(afterLines, Event{At: o.over, Kind: EventOver, Client: x.who.client, Key: x.key, Token: x.who.token, Word: "over", Text: fmt.Sprintf("the %s of %s was over", what, x.who.client)})
	var why string
	switch o.kind {
	case "unsent":
		why = fmt.Sprintf("%s never sent %s a release", x.who.client, x.master)
	case "undone":
		why = fmt.Sprintf("%s had answered the release, and stored the key all the same", x.master)
	case "late":
		why = fmt.Sprintf("%s executed the SET after the release, so it stored a key that nobody needed any more", x.master)
	case "failed":
		why = fmt.Sprintf("%s answered the release with an error (%s), though no recorded fault was on it or on the way", x.master, x.frees.kind(x.frees.len()-1).Error)
	case "unheard":
		why = fmt.Sprintf("%s did not answer the release, though no recorded fault was on it or on the way", x.master)
		if e := x.frees.kind(x.frees.len() - 1).Error; e != "" {
			why += " (" + e + ")"
		}
	}
	n.add(Event{At: o.snapshot.Time, Kind: EventSnapshot, Masters: []string{x.master}, Client: x.who.client, Key: x.key, Token: x.who.token, Word: "stored", Ops: []int{o.snapshot.Index},
		Text: fmt.Sprintf("%s stored the token of %s", x.master, x.who.client)})
	n.violated(why)
}
