package search

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/datadriven"

	"lockpick/campaign/scenario"
)

// TestSchedules: what becomes of a schedule when something is left out of it.
func TestSchedules(t *testing.T) {
	datadriven.RunTest(t, "testdata/schedules.txt", func(t *testing.T, d *datadriven.TestData) string {
		s, err := scenario.Parse([]byte("name: x\n" + d.Input))
		if err != nil {
			return fmt.Sprintf("error: %v\n", err)
		}
		switch d.Cmd {
		case "without":
			var i int
			d.ScanArgs(t, "step", &i)
			s = WithoutStep(s, i-1)
		case "only":
			var kept [3][]string
			for i, arg := range []string{"clients", "masters", "keys"} {
				for _, a := range d.CmdArgs {
					if a.Key == arg {
						kept[i] = a.Vals
					}
				}
			}
			s = RestrictTo(s, kept[0], kept[1], kept[2])
		}
		out := fmt.Sprintf("%d clients, %d masters, %d keys\n", s.Clients, s.Masters, s.Keys)
		for i, step := range s.Schedule {
			out += fmt.Sprintf("step %d: %v\n", i+1, step)
		}
		if err := s.Check(); err != nil {
			out += fmt.Sprintf("error: %v\n", err)
		}
		return out
	})
}
