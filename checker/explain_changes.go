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

// keyChange is a change of a key of a lock on a master.
type keyChange struct {
	at                          time.Duration
	kind, master, stored, token string
	client, command             string // who changed it, and by which command; empty: nobody is known to
	ttl                         time.Duration
	index                       int
}

// changes returns how the keys of a lock changed: what was recorded as a change, and, if the votes do not describe the
// lock, what they say all the same.
func (r *run) changes(key string, from, to time.Duration) []keyChange {
	var all []keyChange
	for i := range r.h.Ops {
		op := &r.h.Ops[i]
		if op.F == history.FChange && op.Key == key && changed(op) >= from && changed(op) <= to {
			v := op.Value
			all = append(all, keyChange{changed(op), v.Command, op.Process, cmp.Or(v.RedisKey, op.Key), v.Token, v.Client, cmp.Or(v.Evidence, v.Form), v.TTL, op.Index})
		}
	}
	if r.seen == nil {
		return all
	}
	for i := r.seen.Since(from); i < r.seen.Len(); i++ {
		v := r.seen.Vote(r.seen.InOrder(i))
		if v.At > to {
			break
		}
		if kind := changeOf[v.Command]; v.Key == key && v.Yes && v.Form != "" && kind != "" {
			all = append(all, keyChange{v.At, kind, v.Master, v.Stored, v.Token, v.Client, v.Form, v.TTL, v.Index})
		}
	}
	slices.SortStableFunc(all, func(x, y keyChange) int { return cmp.Compare(x.at, y.at) })
	return all
}

// changeOf says what a command that had an effect did to its key.
var changeOf = map[string]string{history.CommandSet: "created", history.CommandExtend: "ttl", history.CommandRelease: "deleted"}

// changed returns when a change happened.
func changed(op *history.Op) time.Duration { return op.Time - op.Value.Delay }

// severity orders changes: those that free a key come first.
func severity(kind string) int {
	return slices.Index([]string{"deleted", "expired", "evicted", "lost", "ttl", "restored", "created", "changed"}, kind)
}

// changeWords says what happened to a key.
var changeWords = map[string]string{
	"created": "created %s", "changed": "changed %s", "ttl": "set the time to live of %s", "deleted": "deleted %s",
	"expired": "let %s expire", "evicted": "evicted %s", "lost": "lost %s", "restored": "brought an older %s back",
}
