package reports

import (
	"testing"
)

// TestBins: nothing gets lost when seconds become bins, and there are never too many.
func TestBins(t *testing.T) {
	for _, n := range []int{0, 1, maxBins, maxBins + 1, 10 * maxBins, 86400} {
		seconds := make(Seconds, n)
		for i := range seconds {
			seconds[i] = i
		}
		r, sum := Bins(seconds), 0
		for _, b := range r.Bins {
			sum += b
		}
		if len(r.Bins) > maxBins || sum != n*(n-1)/2 || n > 0 && len(r.Bins)*r.Seconds < n {
			t.Errorf("%d seconds: %d bins of %d s with %d in all", n, len(r.Bins), r.Seconds, sum)
		}
	}
}
