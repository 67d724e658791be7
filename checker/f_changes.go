package checker

import (
	"cmp"
	"slices"
	"time"

	"lockpick/history"
)

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
