package workload

import (
	"sync"
	"testing"
	"time"

	"lockpick/history"
)

// TestVotesThatDoNotDescribeTheLock: they tell neither the token of a lease nor when its attempt began.
func TestVotesThatDoNotDescribeTheLock(t *testing.T) {
	var a Attempts
	began := time.Unix(1, 0)
	vote := func(token string) {
		a.Saw(history.Op{Type: history.OK, F: history.FVote, Process: "m1", Value: &history.Value{Command: history.CommandSet, Token: token, Yes: true}}, began.Add(time.Second))
	}
	vote("1")
	if _, seen := a.Began("1", began); !seen {
		t.Error("the vote was not seen")
	}
	a.Settle(&Env{Settle: func() bool { return false }}, &sync.Mutex{})
	vote("1")
	if _, seen := a.Began("1", began); seen || a.Token(began) != "" {
		t.Error("the vote was believed")
	}
}
