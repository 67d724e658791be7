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

// changes adds what masters did to the keys of a lock while one lease was held and another one was
// granted, if the votes do not say it: how its key was deleted, replaced or shortened, and by whom.
// Changes that free the key come first if there are too many.
func (n *narrative) changes(a, b *history.Lease) {
	from, to := a.Invoked, b.Acquired()+n.r.slack
	var all []*history.Op
	for i := range n.r.h.Ops {
		op := &n.r.h.Ops[i]
		if op.F == history.FChange && op.Key == a.Key && changed(op) >= from && changed(op) <= to {
			all = append(all, op)
		}
	}
	if len(all) > maxChanges {
		slices.SortStableFunc(all, func(x, y *history.Op) int { return cmp.Compare(severity(x), severity(y)) })
		all = all[:maxChanges]
	}
	for _, op := range all {
		v := op.Value
		e := Event{At: changed(op), Kind: EventChanged, Client: v.Client, Masters: []string{op.Process}, Key: op.Key, Token: v.Token, Cause: v.Command, TTL: v.TTL, Word: v.Command, Ops: []int{op.Index}}
		stored := cmp.Or(v.RedisKey, op.Key)
		what := fmt.Sprintf(changeWords[v.Command], stored)
		if v.Command == "ttl" && v.TTL > 0 {
			what += " to " + at(v.TTL)
		}
		switch {
		case v.Form != "" && v.Client != "":
			e.Text = fmt.Sprintf("%s's command %s %s on %s", v.Client, cmp.Or(v.Evidence, v.Form), what, op.Process)
		case v.Form != "":
			e.Text = fmt.Sprintf("a command that no client sent, %s, %s on %s", cmp.Or(v.Evidence, v.Form), what, op.Process)
		default:
			e.Text = fmt.Sprintf("%s %s", op.Process, what)
		}
		n.add(e)
	}
}

// changed returns when a change happened.
func changed(op *history.Op) time.Duration { return op.Time - op.Value.Delay }

// severity orders changes: those that free a key come first.
func severity(op *history.Op) int {
	return slices.Index([]string{"deleted", "expired", "evicted", "lost", "ttl", "restored", "created", "changed"}, op.Value.Command)
}

// changeWords says what happened to a key.
var changeWords = map[string]string{
	"created": "created %s", "changed": "changed %s", "ttl": "set the time to live of %s", "deleted": "deleted %s",
	"expired": "let %s expire", "evicted": "evicted %s", "lost": "lost %s", "restored": "brought an older %s back",
}
