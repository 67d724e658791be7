package search

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// binomial is the probability of k successes in n attempts.
func binomial(k, n int, p float64) float64 {
	switch {
	case p == 0 && k == 0 || p == 1 && k == n:
		return 1
	case p == 0 || p == 1:
		return 0
	}
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return math.Exp(a - b - c + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

// The bound is a share, it is 95 % for one schedule, and close to 3/n for many.
func TestBoundIsAShare(t *testing.T) {
	for _, x := range []struct {
		n, statements int
		want          string
	}{
		{0, 1, "100 %"}, {1, 1, "95 %"}, {2, 1, "78 %"}, {10, 1, "26 %"}, {20, 1, "14 %"}, {300, 1, "0.99 %"}, {10_000, 1, "0.03 %"},
		{1, 5, "99 %"}, {300, 5, "1.5 %"}, {100_000, 21, "0.006 %"},
	} {
		if got := Percent(Bound(x.n, x.statements)); got != x.want {
			t.Errorf("of %d schedules and %d statements: %s, want %s", x.n, x.statements, got, x.want)
		}
	}
}

// A bound solves (1-p)^n = 0.05/statements: exactly as many schedules without a violation
// are as improbable as that.
func TestBoundIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, statements := rapid.IntRange(1, 1_000_000).Draw(t, "n"), rapid.IntRange(1, 21).Draw(t, "statements")
		p := Bound(n, statements)
		if p < 0 || p >= 1 {
			t.Fatalf("%v is not a share", p)
		}
		if none := math.Exp(float64(n) * math.Log1p(-p)); math.Abs(none-0.05/float64(statements)) > 1e-9 {
			t.Fatalf("no violation in %d schedules has the probability %v", n, none)
		}
		if Bound(n+1, statements) >= p || Bound(n, statements+1) <= p {
			t.Fatal("more schedules do not lower it, or more statements do not raise it")
		}
	})
}

// However a search ends, the bound is too low with a probability of at most 5 %: for that it
// needs at least the first n schedules without a violation for which it is below the truth.
func TestBoundHoldsWhereverASearchEnds(t *testing.T) {
	for _, p := range []float64{0.0005, 0.003, 0.02, 0.2, 0.9, 0.96} {
		n := 1
		for Bound(n, 1) >= p {
			n++
		}
		if none := math.Pow(1-p, float64(n)); none > 1-Confidence {
			t.Errorf("a share of %v is missed with the probability %v", p, none)
		}
	}
}

// Wilson's interval is what tables have, and covers the truth in about 95 of 100 searches.
func TestWilson(t *testing.T) {
	for _, x := range []struct {
		k, n int
		want string
	}{{12, 300, "2.3-6.9 %"}, {0, 10, "0-28 %"}, {10, 10, "72-100 %"}, {1, 1, "21-100 %"}, {50, 100, "40-60 %"}, {0, 0, "0-100 %"}} {
		if got := Wilson(x.k, x.n, 1).String(); got != x.want {
			t.Errorf("%d of %d: %s, want %s", x.k, x.n, got, x.want)
		}
	}
	for _, n := range []int{50, 300, 2000} {
		for _, p := range []float64{0.05, 0.3, 0.5} {
			covered := 0.0
			for k := range n + 1 {
				if w := Wilson(k, n, 1); w.Low <= p && p <= w.High {
					covered += binomial(k, n, p)
				}
			}
			if covered < 0.92 || covered > 0.98 {
				t.Errorf("with %d schedules the share %v is covered with the probability %.3f", n, p, covered)
			}
		}
	}
	if one, five := Wilson(12, 300, 1), Wilson(12, 300, 5); five.Low >= one.Low || five.High <= one.High {
		t.Errorf("one of five statements is as narrow as one: %v and %v", five, one)
	}
}

func ExamplePercent() {
	fmt.Println(Percent(0.001517), Percent(0.139), Percent(0.95), Percent(0.9998), Percent(1))
	// Output: 0.15 % 14 % 95 % 99.98 % 100 %
}
