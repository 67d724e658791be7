package search

import (
	"fmt"
	"testing"
)

// TestRate: Wilson's interval, as in the tables of Brown, Cai and DasGupta.
func TestRate(t *testing.T) {
	for _, c := range []struct {
		attempts, reproduced int
		want                 string
	}{{0, 0, "0.00 0.00 1.00"}, {10, 0, "0.00 0.00 0.28"}, {10, 10, "1.00 0.72 1.00"}, {10, 5, "0.50 0.24 0.76"}, {1, 1, "1.00 0.21 1.00"}} {
		rate, low, high := (&ReplayResult{Attempts: c.attempts, Reproduced: c.reproduced}).Rate()
		if got := fmt.Sprintf("%.2f %.2f %.2f", rate, low, high); got != c.want {
			t.Errorf("%d of %d: %s, want %s", c.reproduced, c.attempts, got, c.want)
		}
	}
}
