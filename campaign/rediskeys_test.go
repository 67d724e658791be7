package campaign

import (
	"slices"
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/history"
	"lockpick/workload"
)

// TestMastersAreAskedForTheirOwnNames: a lock may store its keys under other names, which votes
// show. A nemesis that asked for the locks' names alone would find that a master has lost them.
func TestMastersAreAskedForTheirOwnNames(t *testing.T) {
	c := &campaign{s: scenario.Defaults()}
	w, err := workload.New(workload.Config{Keys: 1}, nil, nil, time.Time{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.work.Store(w)
	ask := c.keysToInspect()
	if got := ask(); !slices.Equal(got, []string{"k0"}) {
		t.Errorf("before a vote: %q", got)
	}
	for range 2 {
		c.noteRedisKey(history.Op{F: history.FVote, Key: "k0", Value: &history.Value{RedisKey: "cache:k0"}})
	}
	if got := ask(); !slices.Equal(got, []string{"k0", "cache:k0"}) {
		t.Errorf("after a vote: %q", got)
	}
	c.s.Lock = "redisson-redlock" // stores hashes
	if c.keysToInspect() != nil {
		t.Error("what this lock stores are not tokens")
	}
}
