package facts

import (
	"cmp"
	"slices"
	"time"

	"lockpick/history"
)

// KeyChange is a change of a key of a lock on a master.
type KeyChange struct {
	At                          time.Duration
	Kind, Master, Stored, Token string
	Client, Command             string // who changed it, and by which command; empty: nobody is known to
	TTL                         time.Duration
	Line                        int
}

// KeyChanges returns how the keys of a lock changed: what was recorded as a change, and, if the votes do not describe the
// lock, what they say all the same.
func (r *Run) KeyChanges(key string, from, to time.Duration) []KeyChange {
	var all []KeyChange
	for _, op := range r.changes.get(func() []*history.Op { return r.linesWith(history.FChange) }) {
		if op.Key == key && ChangedAt(op) >= from && ChangedAt(op) <= to {
			v := op.Value
			all = append(all, KeyChange{ChangedAt(op), v.Command, op.Process, cmp.Or(v.RedisKey, op.Key), v.Token, v.Client, cmp.Or(v.Evidence, v.Form), v.TTL, op.Index})
		}
	}
	if r.Unfiltered == nil {
		return all
	}
	for i := r.Unfiltered.Since(from); i < r.Unfiltered.Len(); i++ {
		v := r.Unfiltered.Vote(r.Unfiltered.InOrder(i))
		if v.At > to {
			break
		}
		if kind := changeOf[v.Command]; v.Key == key && v.Yes && v.Form != "" && kind != "" {
			all = append(all, KeyChange{v.At, kind, v.Master, v.Stored, v.Token, v.Client, v.Form, v.TTL, v.Index})
		}
	}
	slices.SortStableFunc(all, func(x, y KeyChange) int { return cmp.Compare(x.At, y.At) })
	return all
}

// changeOf says what a command that had an effect did to its key.
var changeOf = map[string]string{history.CommandSet: "created", history.CommandExtend: "ttl", history.CommandRelease: "deleted"}

// ChangedAt returns when a change happened.
func ChangedAt(op *history.Op) time.Duration { return op.Time - op.Value.Delay }
