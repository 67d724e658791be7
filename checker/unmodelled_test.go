package checker

import (
	"strings"
	"testing"
	"time"

	"lockpick/history"
)

// TestWhatIsNotModelledProvesNothing: a command that simulated masters do not know takes the evidence from all that follows.
func TestWhatIsNotModelledProvesNothing(t *testing.T) {
	d := foreignDeath([]history.Op{
		{Time: time.Second, F: history.FVote, Process: "m1"},
		{Time: 2 * time.Second, F: history.FUnmodelled, Process: "m2", Error: "GEOADD"},
	})
	if d.from != 2*time.Second || d.how != "not modelled: GEOADD" {
		t.Errorf("%+v", d)
	}
}

// TestABrokenProtocolProvesNothing: it says nothing about the lock that its client's program is wrong.
func TestABrokenProtocolProvesNothing(t *testing.T) {
	d := foreignDeath([]history.Op{
		{Time: time.Second, F: history.FAcquire, Type: history.OK, Process: "c1"},
		{Time: 2 * time.Second, F: history.FBroke, Process: "c1", Error: `the client's process said "null"`},
	})
	if d.from != 2*time.Second || !strings.Contains(d.how, `c1 broke the protocol at 2.000s: the client's process said "null"`) {
		t.Errorf("%+v", d)
	}
}
