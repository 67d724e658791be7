package diff

import (
	"math"
	"testing"
	"time"
)

// The limits are those of Garwood's table.
func TestRateInterval(t *testing.T) {
	for n, want := range map[int][2]float64{0: {0, 3.6889}, 1: {0.0253, 5.5716}, 2: {0.2422, 7.2247}, 10: {4.7954, 18.3904}, 100: {81.364, 121.627}} {
		got := rateInterval(n, time.Minute)
		if math.Abs(got[0]-want[0]) > 0.001 || math.Abs(got[1]-want[1]) > 0.001 {
			t.Errorf("%d events: %v, want %v", n, *got, want)
		}
	}
	if got := rateInterval(10, 0); got != nil {
		t.Errorf("10 events in no time: %v", *got)
	}
}
