package web

import "testing"

// TestBars: nothing gets lost when seconds become bars, and there are never too many.
func TestBars(t *testing.T) {
	for _, n := range []int{0, 1, maxBars, maxBars + 1, 10 * maxBars, 86400} {
		seconds := make(Seconds, n)
		for i := range seconds {
			seconds[i] = i
		}
		each, sum := BarSeconds(n), 0
		bars := seconds.Bars(each)
		for _, b := range bars {
			sum += b
		}
		if len(bars) > maxBars || sum != n*(n-1)/2 || len(bars)*each < n {
			t.Errorf("%d seconds became %d bars of %d seconds with %d events", n, len(bars), each, sum)
		}
	}
}
