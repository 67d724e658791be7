package workload

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/history"
)

// prefixed is a lock whose keys on the masters are not its locks' names.
type prefixed struct{ Lock }

func (l prefixed) Acquire(ctx context.Context, key string) (Lease, error) {
	return l.Lock.Acquire(ctx, "lock:"+key)
}

// TestVotesNameTheLock: a vote has the lock's name, and the key on the master beside it.
func TestVotesNameTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		right, _ := LockNamed("redlock")
		kind := Implementation{Name: "prefixed", New: func(s Env) (Lock, error) {
			l, err := right.New(s)
			return prefixed{l}, err
		}}
		s := on(t, two(kind), share(newMasters(5)))
		s.Run(s.ending(3 * time.Second))
		votes := history.Votes(s.ops)
		for _, v := range votes {
			if v.Stored != "lock:"+v.Key {
				t.Fatalf("a vote on %q is stored as %q", v.Key, v.Stored)
			}
		}
		if len(votes) < 20 {
			t.Errorf("%d votes", len(votes))
		}
	})
}
