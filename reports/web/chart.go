package web

import "time"

// Seconds counts events in each second of a run, for a chart.
type Seconds []int

// maxSeconds limits the length of Seconds, because a line of a history may have any time.
const maxSeconds = 7 * 24 * 3600

// Count adds n events at a time, and extends s up to that second, even if n is 0.
func (s *Seconds) Count(at time.Duration, n int) {
	second := int(min(at, maxSeconds*time.Second) / time.Second)
	for len(*s) <= second {
		*s = append(*s, 0)
	}
	(*s)[second] += n
}

// maxBars limits the bars of a chart.
const maxBars = 240

// BarSeconds returns how many seconds a bar has in a chart of a run that takes so many.
func BarSeconds(run int) int { return max(1, (run+maxBars-1)/maxBars) }

// Bars sums the counts of so many seconds each.
func (s Seconds) Bars(each int) []int {
	bars := []int{}
	for i, n := range s {
		if i%each == 0 {
			bars = append(bars, 0)
		}
		bars[len(bars)-1] += n
	}
	return bars
}
