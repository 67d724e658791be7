package risk

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Rate is the frequency of an event, as a number or a range of numbers: "2" or "0.5..4".
type Rate struct{ Low, High float64 }

// ParseRate parses a rate.
func ParseRate(text string) (Rate, error) {
	low, high, ranged := strings.Cut(text, "..")
	if !ranged {
		high = low
	}
	a, err := strconv.ParseFloat(strings.TrimSpace(low), 64)
	b, err2 := strconv.ParseFloat(strings.TrimSpace(high), 64)
	switch {
	case err != nil || err2 != nil || !(a >= 0 && b >= a && b <= 1e9): // NaN fails all comparisons
		return Rate{}, fmt.Errorf("%q is not a rate: a number of at least 0, or a range such as 0.5..4", text)
	case ranged && a == 0 && b > 0:
		return Rate{}, fmt.Errorf("%q begins at 0: a range is drawn on a logarithmic scale, so give the lowest rate that you believe in", text)
	}
	return Rate{a, b}, nil
}

func (r Rate) String() string {
	if r.Low == r.High {
		return strconv.FormatFloat(r.Low, 'g', -1, 64)
	}
	return strconv.FormatFloat(r.Low, 'g', -1, 64) + ".." + strconv.FormatFloat(r.High, 'g', -1, 64)
}

// Mid returns the middle of the range, on a logarithmic scale.
func (r Rate) Mid() float64 { return r.at(0.5) }

// at returns the rate at a position from 0 to 1 in the range, on a logarithmic scale.
func (r Rate) at(u float64) float64 {
	if r.Low == r.High {
		return r.Low
	}
	return r.Low * math.Pow(r.High/r.Low, u)
}

func (r Rate) times(factor float64) Rate { return Rate{r.Low * factor, r.High * factor} }

// MarshalYAML returns the rate in the format of ParseRate.
func (r Rate) MarshalYAML() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalYAML parses a rate in the format of ParseRate.
func (r *Rate) UnmarshalYAML(b []byte) (err error) {
	*r, err = ParseRate(unquoted(b))
	return err
}

// MarshalText returns the rate for JSON, in the format of ParseRate.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText parses a rate from JSON or a flag.
func (r *Rate) UnmarshalText(b []byte) (err error) {
	*r, err = ParseRate(string(b))
	return err
}

func unquoted(b []byte) string { return strings.Trim(strings.TrimSpace(string(b)), `"'`) }

// Times is a distribution of durations, given by quantiles, with linear interpolation between them.
// Its text is one duration, a range (uniform), quantiles (p50=20ms,p99=1s,max=5s) or a histogram of
// shares, each in the bin that ends at its duration (50ms:0.9,1s:0.1).
type Times struct {
	points []quantile // sorted, from share 0 to 1
	text   string
}

type quantile struct {
	share float64
	d     time.Duration
}

// ParseTimes parses a distribution.
func ParseTimes(text string) (Times, error) {
	t := Times{text: strings.Join(strings.Fields(text), " ")} // on one line, so that it needs no escapes
	var err error
	switch {
	case strings.Contains(text, "="):
		t.points, err = parseQuantiles(text)
	case strings.Contains(text, ":"):
		t.points, err = parseHistogram(text)
	default:
		low, high, ranged := strings.Cut(text, "..")
		if !ranged {
			high = low
		}
		a, err1 := duration(low)
		b, err2 := duration(high)
		t.points, err = []quantile{{0, a}, {1, b}}, cmp.Or(err1, err2)
	}
	if err != nil {
		return Times{}, fmt.Errorf("%q is not a distribution of times: %w; give 50ms, 10ms..2s, p50=20ms,p99=1s,max=5s, or 50ms:0.9,1s:0.1", text, err)
	}
	for i := range t.points[1:] {
		if t.points[i].d > t.points[i+1].d || t.points[i].share >= t.points[i+1].share {
			return Times{}, fmt.Errorf("%q is not a distribution of times: quantiles and durations must grow", text)
		}
	}
	return t, nil
}

func duration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration", strings.TrimSpace(text))
	case d < 0 || d > 24*time.Hour:
		return 0, fmt.Errorf("%v is out of range: 0s to 24h", d)
	}
	return d, nil
}

// parseQuantiles parses p50=20ms,p99=1s,max=5s.
func parseQuantiles(text string) ([]quantile, error) {
	points := []quantile{{0, 0}}
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		d, err := duration(value)
		if err != nil {
			return nil, err
		}
		switch name = strings.TrimSpace(name); name {
		case "min":
			points[0].d = d
			continue
		case "max":
			name = "p100"
		}
		p, err := strconv.ParseFloat(strings.TrimPrefix(name, "p"), 64)
		if err != nil || !strings.HasPrefix(name, "p") || !(p > 0 && p <= 100) {
			return nil, fmt.Errorf("%q is not a quantile: min, p50, p99.9, max", name)
		}
		points = append(points, quantile{p / 100, d})
	}
	if points[len(points)-1].share != 1 {
		return nil, errors.New("the longest time is missing (max=...): violations depend on it most")
	}
	return points, nil
}

// parseHistogram parses 50ms:0.9,1s:0.1.
func parseHistogram(text string) ([]quantile, error) {
	points := []quantile{{0, 0}}
	total := 0.0
	for part := range strings.SplitSeq(text, ",") {
		below, value, _ := strings.Cut(part, ":")
		d, err := duration(below)
		if err != nil {
			return nil, err
		}
		share, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || !(share > 0 && share < 1e12) {
			return nil, fmt.Errorf("%q is not a share of the histogram", value)
		}
		total += share
		points = append(points, quantile{total, d})
	}
	for i := range points {
		points[i].share /= total
	}
	return points, nil
}

// at returns the u-quantile: a share of u of the durations is below it.
func (t Times) at(u float64) time.Duration {
	if len(t.points) == 0 {
		return 0
	}
	i, _ := slices.BinarySearchFunc(t.points, u, func(p quantile, u float64) int { return cmp.Compare(p.share, u) })
	if i == 0 {
		return t.points[0].d
	}
	a, b := t.points[i-1], t.points[min(i, len(t.points)-1)]
	if b.share == a.share {
		return b.d
	}
	return a.d + time.Duration(float64(b.d-a.d)*(u-a.share)/(b.share-a.share))
}

// Mean returns the mean duration.
func (t Times) Mean() time.Duration {
	var mean float64
	for i := range max(len(t.points)-1, 0) {
		a, b := t.points[i], t.points[i+1]
		mean += (b.share - a.share) * float64(a.d+b.d) / 2
	}
	return time.Duration(mean)
}

// meanSquare returns the mean of the squared durations, in s².
func (t Times) meanSquare() (mean float64) {
	for i := range max(len(t.points)-1, 0) {
		a, b := t.points[i].d.Seconds(), t.points[i+1].d.Seconds()
		mean += (t.points[i+1].share - t.points[i].share) * (a*a + a*b + b*b) / 3
	}
	return mean
}

// Most returns the longest duration.
func (t Times) Most() time.Duration {
	if len(t.points) == 0 {
		return 0
	}
	return t.points[len(t.points)-1].d
}

func (t Times) String() string { return t.text }

// MarshalYAML returns the distribution in the format of ParseTimes.
func (t Times) MarshalYAML() ([]byte, error) { return []byte(strconv.Quote(t.text)), nil }

// UnmarshalYAML parses a distribution in the format of ParseTimes.
func (t *Times) UnmarshalYAML(b []byte) (err error) {
	*t, err = ParseTimes(unquoted(b))
	return err
}

// MarshalText returns the distribution for JSON, in the format of ParseTimes.
func (t Times) MarshalText() ([]byte, error) { return []byte(t.text), nil }

// UnmarshalText parses a distribution from JSON or a flag.
func (t *Times) UnmarshalText(b []byte) (err error) {
	*t, err = ParseTimes(string(b))
	return err
}
