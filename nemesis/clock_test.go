package nemesis

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestClockFaultsSayWhatIsWrong: whoever words a fault of a clock finds the rate, the offset or
// the strobe by itself, however the step was written.
func TestClockFaultsSayWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		step Step
		want string
	}{
		{Step{Fault: "client-clock", Clock: "x0.3"}, "clock=x0.3 rate=0.3"},
		{Step{Fault: "client-clock", Rate: 0.3}, "clock=x0.3 rate=0.3"},
		{Step{Fault: "client-clock", Clock: "-60s"}, "clock=-60s offset=-1m0s"},
		{Step{Fault: "client-clock", Clock: "~5s"}, "clock=~5s strobe=5s"},
		{Step{Fault: "clock", Clock: "+60s"}, "clock=+60s offset=+1m0s"},
		{Step{Fault: "clock", Clock: "x1.5"}, "clock=x1.5 rate=1.5"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := on(t, 3, 2, 1)
			c.step.For = time.Second
			s.Schedule(s.ending(2*time.Second), []Step{c.step})
			params := s.faults(t)[0].Params
			var got []string
			for _, name := range slices.Sorted(maps.Keys(params)) {
				if slices.Contains([]string{"clock", "rate", "offset", "strobe"}, name) {
					got = append(got, name+"="+params[name])
				}
			}
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("%+v has the parameters %s, want %s", c.step, text, c.want)
			}
		})
	}
}
