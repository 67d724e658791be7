package risk

import (
	"bytes"
	"strings"
	"testing"

	"lockpick/reports/term"
)

// estimated is a result with all that a report can show.
func estimated() *Result {
	r := &Result{
		Setup: Defaults(), Exclusion: Interval{High: 2.5}, Effects: Interval{Expected: 31.7, Low: 10.2, High: 101}, Contended: 0.01, LeftOut: 2.6e-4,
		Causes: []Cause{
			{Name: "pause of the holder", Faults: 1, PerYear: 387, Samples: 1000, Exclusion: Interval{High: 2.2}, Effects: Interval{Expected: 31.7, Low: 10.2, High: 101}, Example: "name: <script>alert(1)</script>\n"},
			{Name: "restart of a master", Faults: 1, PerYear: 40, Samples: 1000, Exclusion: Interval{Expected: 0.00087, Low: 1.8e-5, High: 0.0086}, Effects: Interval{High: 0.14}},
			{Name: "twice: restart of a master", Faults: 2, PerYear: 0.1, Samples: 200, Exclusion: Interval{High: 0.001}, Effects: Interval{High: 0.001}},
		},
		WhatIf: []Alternative{
			{Name: "fencing: true", Exclusion: Interval{High: 4}, Effects: Interval{High: 4}},
			{Name: "masters: 7", Exclusion: Interval{High: 4}, Effects: Interval{Expected: 32, Low: 11, High: 100}},
			{Name: "ttl: 5s", Exclusion: Interval{High: 40}, Effects: Interval{Expected: 49, Low: 16, High: 820}},
		},
		Not: []string{"Bursts."}, Samples: 35250, Seed: 1, Elapsed: 26e9,
	}
	return r
}

func TestRiskInTheTerminal(t *testing.T) {
	for width, want := range map[int][]string{
		100: {
			"Two clients hold a valid lease at once (L2): fewer than 2.5 a year; none was seen.",
			"Double effects, a late write over a newer one (L4): 32 a year (10–100).",
			"1 further pair of faults violated nothing, which leaves at most 1 in 500 years.", "- Bursts.", "35,250 samples in 26 s, seed 1",
		},
		40: {"pause of the holder", "32 (10–100)"},
	} {
		var out bytes.Buffer
		if err := Terminal(&out, estimated(), term.Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		for _, s := range want {
			if !strings.Contains(out.String(), s) {
				t.Errorf("at %d columns %q is missing in\n%s", width, s, out.String())
			}
		}
		for line := range strings.Lines(out.String()) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > width {
				t.Errorf("at %d columns a line has %d: %s", width, n, line)
			}
		}
	}
}
