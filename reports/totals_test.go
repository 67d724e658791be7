package reports

import (
	"testing"

	"lockpick/history"
)

// TestErrorsOfMastersAreNoRefusals: of each master the page counts them apart.
func TestErrorsOfMastersAreNoRefusals(t *testing.T) {
	line := timeline{clients: []string{"c1"}, masters: []string{"m1"}, attempts: []attempt{{votes: []history.Vote{
		{Master: "m1", Yes: true}, {Master: "m1"}, {Master: "m1", Error: "OOM"}, {Master: "m1", Error: "NOPERM"}, {Master: "m1", Unknown: true, Error: "i/o timeout"},
	}}}}
	_, masters := line.totals()
	if m := masters[0]; m.Yes != 1 || m.No != 1 || m.Errors != 2 || m.NoReply != 1 {
		t.Errorf("%+v", m)
	}
}
