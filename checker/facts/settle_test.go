package facts

import (
	"slices"
	"testing"
	"time"

	"lockpick/history"
)

// TestAServiceHasTimeToSettle: after each fault of a server began or ended, its servers elect a leader. Masters that know
// nothing of each other have nothing to settle.
func TestAServiceHasTimeToSettle(t *testing.T) {
	span := func(from, to int) history.Span {
		return history.Span{From: time.Duration(from) * time.Second, To: time.Duration(to) * time.Second}
	}
	r := &Run{History: &history.Packed{}}
	weak := []history.Span{span(10, 12)}
	servers := [][]history.Span{{span(10, 20)}, {span(8, 12)}, nil}
	if got := r.unsettled(weak, servers); !slices.Equal(got, weak) {
		t.Errorf("masters: %v", got)
	}
	r.History.Header.Settle = 2 * time.Second
	if got, want := r.unsettled(weak, servers), []history.Span{span(8, 14), span(20, 22)}; !slices.Equal(got, want) {
		t.Errorf("servers: %v, want %v", got, want)
	}
}
