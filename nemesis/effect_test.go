package nemesis

import (
	"strings"
	"testing"

	"lockpick/history"
)

// TestAnErrorOfAMasterIsAnAnswer: the evidence of a fault says so, and does not count it as a command without a reply.
func TestAnErrorOfAMasterIsAnAnswer(t *testing.T) {
	x := &clientEvidence{masters: []string{"m1"}}
	w := &watch{shownByClients: []*clientEvidence{x}}
	for _, kind := range []history.Type{history.OK, history.OK, history.Info} {
		w.hear(history.Op{Process: "m1", Type: kind, Error: "OOM", Value: &history.Value{Client: "c1"}})
	}
	if got := x.String(); !x.tookEffect() || !strings.Contains(got, "1 lock command got no reply") || !strings.Contains(got, "2 lock commands were answered with an error") {
		t.Errorf("%q", got)
	}
}
