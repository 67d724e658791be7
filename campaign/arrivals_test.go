package campaign

import (
	"strings"
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/history"
	"lockpick/workload"
)

// With arrivals, clients use the lock at these times, for as long as they say, and no more.
func TestArrivals(t *testing.T) {
	s := scenario.Defaults()
	s.Driver, s.Faults, s.Clients, s.Keys, s.Extend, s.TTL, s.TimeLimit = scenario.Sim, nil, 3, 2, 0, 10*time.Second, 20*time.Second
	s.Arrivals = []workload.Arrival{
		{Client: "c2", At: 3 * time.Second, Hold: time.Second, Key: "k1"},
		{Client: "c1", At: time.Second, Hold: 4 * time.Second},
		{Client: "c2", At: 2 * time.Second, Hold: 500 * time.Millisecond},
	}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	h, err := Record(t.Context(), s.WithRequirements(), Simulation{}.Driver(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, op := range h.Ops {
		if op.Time < s.TimeLimit && (op.F == history.FAcquire && op.Type == history.Invoke || op.F == history.FLeave) {
			got = append(got, op.Process+" "+op.F+" "+op.Key+" at "+op.Time.Round(100*time.Millisecond).String())
		}
	}
	want := "c1 acquire k0 at 1s, c2 acquire k0 at 2s, c1 leave k0 at 5s, c2 leave k0 at 5.6s, c2 acquire k1 at 5.6s, c2 leave k1 at 6.6s"
	got = got[:min(len(got), 6)] // then every client acquires every key once more, as after every run
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("%s, want %s", text, want)
	}
	for _, wrong := range []workload.Arrival{{Client: "c4"}, {Client: "c1", Key: "k2"}, {Client: "c1", Hold: -1}} {
		s.Arrivals[0] = wrong
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), "arrivals[0]") {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}
