package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockpick/history"
)

// maxChanges is the number of changes of keys that a narrative names.
const maxChanges = 6

// changes adds what masters did to the keys of a lock while a lease was held, until another one was
// granted or extended, if the votes do not say it: how its key was deleted, replaced or shortened, and by whom.
// Changes that free the key come first if there are too many, and of these the last ones.
func (n *narrative) changes(a *history.Lease, until time.Duration) {
	all := sinceCreated(n.r.changes(a.Key, a.Invoked, until+n.r.slack), a.Acquired()+n.r.slack)
	if len(all) > maxChanges {
		slices.SortStableFunc(all, func(x, y keyChange) int {
			return cmp.Or(cmp.Compare(severity(x.kind), severity(y.kind)), cmp.Compare(y.at, x.at))
		})
		all = all[:maxChanges]
	}
	for _, c := range all {
		e := Event{At: c.at, Kind: EventChanged, Client: c.client, Masters: []string{c.master}, Key: a.Key, Token: c.token, Cause: c.kind, TTL: c.ttl, Word: c.kind, Ops: []int{c.index}}
		what := fmt.Sprintf(changeWords[c.kind], c.stored)
		if c.kind == "ttl" && c.ttl > 0 {
			what += " to " + at(c.ttl)
		}
		switch {
		case c.command != "" && c.client != "":
			e.Text = fmt.Sprintf("%s's command %s %s on %s", c.client, c.command, what, c.master)
		case c.command != "":
			e.Text = fmt.Sprintf("a command that no client sent, %s, %s on %s", c.command, what, c.master)
		default:
			e.Text = fmt.Sprintf("%s %s", c.master, what)
		}
		n.add(e)
	}
}

// sinceCreated leaves out what happened to the key of a master before it was created for a grant: while a client waits
// for the lock, others have it and give it back.
func sinceCreated(all []keyChange, granted time.Duration) []keyChange {
	last := map[place]int{}
	for i, c := range all {
		if c.kind == "created" && c.at <= granted {
			last[place{c.master, c.stored}] = i
		}
	}
	var kept []keyChange
	for i, c := range all {
		if i >= last[place{c.master, c.stored}] {
			kept = append(kept, c)
		}
	}
	return kept
}

// severity orders changes: those that free a key come first.
func severity(kind string) int {
	return slices.Index([]string{"deleted", "expired", "evicted", "lost", "ttl", "restored", "created", "changed"}, kind)
}

// changeWords says what happened to a key.
var changeWords = map[string]string{
	"created": "created %s", "changed": "changed %s", "ttl": "set the time to live of %s", "deleted": "deleted %s",
	"expired": "let %s expire", "evicted": "evicted %s", "lost": "lost %s", "restored": "brought an older %s back",
}
