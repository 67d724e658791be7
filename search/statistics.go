package search

import (
	"fmt"
	"math"
	"strconv"
)

// Confidence is the confidence level of every statistical statement: of all statements together if their
// number is given, otherwise of each one by itself.
const Confidence = 0.95

// Interval is a share of schedules with its confidence interval, all from 0 to 1.
type Interval struct {
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Bound returns the exact upper bound for the share of schedules that violate a property, if none of n
// conclusive schedules does: the largest share p with which n schedules in a row stay without a violation
// with a probability of at least 1-Confidence, so (1-p)^n = 0.05. It is the bound of Clopper and Pearson
// ("The use of confidence or fiducial limits illustrated in the case of the binomial", 1934) for no
// violation. statements is the number of statements that hold together: each is made with the confidence
// 1-0.05/statements (Bonferroni), which is valid however the properties depend on each other.
//
// The bound stays valid if a search ends early. It is too low only after a run of schedules without a
// violation that is so long that its probability is below 0.05, whatever ends the run.
//
// The closed form needs no library. Only a bound for several violations would need the inverse of the
// incomplete beta function; Wilson covers those.
func Bound(n, statements int) float64 {
	if n <= 0 {
		return 1
	}
	return -math.Expm1(math.Log((1-Confidence)/float64(max(statements, 1))) / float64(n))
}

// Wilson returns the share k/n with its score interval (Wilson, "Probable inference, the law of succession,
// and statistical inference", 1927). n must be fixed in advance: a search that ends at the first violation
// measures no share. statements is as in Bound.
func Wilson(k, n, statements int) Interval {
	if n <= 0 {
		return Interval{0, 0, 1}
	}
	z := math.Sqrt2 * math.Erfinv(1-(1-Confidence)/float64(max(statements, 1)))
	m, p := float64(n), float64(k)/float64(n)
	mid := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	low, high := max(0, mid-half), min(1, mid+half)
	if k == 0 { // avoids rounding errors
		low = 0
	}
	if k == n {
		high = 1
	}
	return Interval{p, low, high}
}

// Percent renders a share with two significant digits, and from 99 % on with two significant digits of its
// distance to 100 %: 0.15 %, 14 %, 99.97 %.
func Percent(share float64) string { return percentDigits(share) + " %" }

func percentDigits(share float64) string {
	x := 100 * share
	switch {
	case x > 99 && x < 100:
		return strconv.FormatFloat(100-roundTo(100-x, 2), 'f', -1, 64)
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(roundTo(x, 2), 'f', -1, 64)
}

// roundTo rounds to a number of significant digits.
func roundTo(x float64, digits int) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	if err != nil {
		return x // never: ParseFloat parses what FormatFloat writes
	}
	return y
}

// String renders the interval in percent, as in 2.3-6.9 %.
func (i Interval) String() string {
	return fmt.Sprintf("%s-%s", percentDigits(i.Low), Percent(i.High))
}
