package checker

import (
	"fmt"
	"slices"

	"lockpick/history"
)

// explainUngranted explains that an attempt with a quorum of votes was not granted.
func (r *run) explainUngranted(v *Violation, x ungranted) {
	voters := masters(x.yes)
	v.Summary = fmt.Sprintf("%s had the votes of %s for %s by %s, and was not granted it", x.who.client, Enumerate(voters), v.Key, at(x.by))
	n := r.narrate(v)
	for _, a := range r.requests(x.key, x.who) {
		if a.command == history.CommandSet {
			n.request(a, !slices.ContainsFunc(a.votes, func(v history.Vote) bool { return v.Yes }))
		}
	}
	what := "failed"
	if x.ending.err != "" {
		what += ": " + x.ending.err
	}
	if x.again {
		what = "made another attempt instead of using this one"
	}
	n.ended(x.ending, x.ending.err)
	n.violated(fmt.Sprintf("by %s %s had said yes to %s, which is a quorum, and yet its acquire %s",
		at(x.by), Enumerate(voters), x.who.client, what))
}

// ended adds the call of an acquire and how it ended.
func (n *narrative) ended(a attempt, err string) {
	n.add(Event{At: a.invoked, Kind: EventCalled, Client: a.client, Key: a.key, Command: history.FAcquire, Until: a.ended, Word: "acquire", Ops: a.ops[:1],
		Text: fmt.Sprintf("%s asked for %s", a.client, a.key)})
	if a.open || len(a.ops) < 2 {
		return
	}
	if a.ok {
		n.add(Event{At: a.ended, Kind: EventGranted, Client: a.client, Key: a.key, Word: "granted", Ops: a.ops[1:2], Text: fmt.Sprintf("%s was granted %s", a.client, a.key)})
		return
	}
	text := fmt.Sprintf("%s was refused", a.client)
	if err != "" {
		text += ": " + err
	}
	n.add(Event{At: a.ended, Kind: EventRefused, Client: a.client, Key: a.key, Command: history.FAcquire, Word: "refused", Ops: a.ops[1:2], Text: text})
}
