package virtual_test

import (
	"testing"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/internal/processor"
)

// TestPace logs how much virtual time one second of processor time covers: three clients with
// redlock's own transport on five masters, with faults, and everything recorded and judged.
func TestPace(t *testing.T) {
	s := scenario.Defaults()
	s.Driver, s.Persistence, s.TimeLimit, s.Clients, s.Faults = scenario.Virtual, "always", time.Minute, 3, []string{"kill", "partition"}
	before := processor.Time()
	h, r := enact(t, s)
	used := processor.Time() - before
	simulated := h.Ops[len(h.Ops)-1].Time
	if simulated < s.TimeLimit || r.Counts.Granted == 0 {
		t.Errorf("%v of virtual time, %d leases", simulated, r.Counts.Granted)
	}
	t.Logf("%v of virtual time in %v of processor time: %.0f times real time; %d leases", simulated.Round(time.Second), used, simulated.Seconds()/used.Seconds(), r.Counts.Granted)
}
