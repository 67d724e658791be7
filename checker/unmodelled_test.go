package checker

import (
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
