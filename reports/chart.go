package reports

import "time"

// Rate counts the leases granted, in bins of Seconds seconds each.
type Rate struct {
	Seconds int   `json:"seconds"`
	Bins    []int `json:"bins"`
}

// Seconds counts events in each second of a run.
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

// maxBins limits the bins that a page draws.
const maxBins = 240

// Bins sums the counts of seconds into at most maxBins bins.
func Bins(seconds Seconds) Rate {
	r := Rate{Seconds: max(1, (len(seconds)+maxBins-1)/maxBins), Bins: []int{}}
	for i, n := range seconds {
		if i%r.Seconds == 0 {
			r.Bins = append(r.Bins, 0)
		}
		r.Bins[len(r.Bins)-1] += n
	}
	return r
}
