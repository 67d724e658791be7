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

// Rate is how often something happens, as a number or a range of numbers: "2" or "0.5..4".
type Rate struct{ Low, High float64 }

// ParseRate reads a rate.
func ParseRate(text string) (Rate, error) {
	low, high, ranged := strings.Cut(text, "..")
	if !ranged {
		high = low
	}
	a, err := strconv.ParseFloat(strings.TrimSpace(low), 64)
	b, err2 := strconv.ParseFloat(strings.TrimSpace(high), 64)
	switch {
	case err != nil || err2 != nil || !(a >= 0 && b >= a && b <= 1e9): // NaN is neither
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

// Mid is the middle of the range, on a logarithmic scale.
func (r Rate) Mid() float64 { return r.at(0.5) }

// at is the rate at a place from 0 to 1 of the range, on a logarithmic scale.
func (r Rate) at(u float64) float64 {
	if r.Low == r.High {
		return r.Low
	}
	return r.Low * math.Pow(r.High/r.Low, u)
}

func (r Rate) times(factor float64) Rate { return Rate{r.Low * factor, r.High * factor} }

// MarshalYAML writes the rate as ParseRate reads it.
func (r Rate) MarshalYAML() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalYAML reads it.
func (r *Rate) UnmarshalYAML(b []byte) (err error) {
	*r, err = ParseRate(unquoted(b))
	return err
}

// MarshalText is for JSON.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText is for JSON and flags.
func (r *Rate) UnmarshalText(b []byte) (err error) {
	*r, err = ParseRate(string(b))
	return err
}

func unquoted(b []byte) string { return strings.Trim(strings.TrimSpace(string(b)), `"'`) }

// Times is a distribution of durations, by its quantiles: linear between them. It is written as one
// duration, as a range (uniform), as quantiles (p50=20ms,p99=1s,max=5s) or as a histogram, whose shares
// lie below each duration (50ms:0.9,1s:0.1).
type Times struct {
	points []quantile // in order, from the share 0 to 1
	text   string
}

type quantile struct {
	share float64
	d     time.Duration
}

// ParseTimes reads a distribution.
func ParseTimes(text string) (Times, error) {
	t := Times{text: strings.Join(strings.Fields(text), " ")} // so that it needs no escapes
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
		return Times{}, fmt.Errorf("%q is no distribution of times: %w; give 50ms, 10ms..2s, p50=20ms,p99=1s,max=5s, or 50ms:0.9,1s:0.1", text, err)
	}
	for i := range t.points[1:] {
		if t.points[i].d > t.points[i+1].d || t.points[i].share >= t.points[i+1].share {
			return Times{}, fmt.Errorf("%q is no distribution of times: quantiles and durations must grow", text)
		}
	}
	return t, nil
}

func duration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is no duration", strings.TrimSpace(text))
	case d < 0 || d > 24*time.Hour:
		return 0, fmt.Errorf("%v is out of range: 0s to 24h", d)
	}
	return d, nil
}

// parseQuantiles reads p50=20ms,p99=1s,max=5s.
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
			return nil, fmt.Errorf("%q is no quantile: min, p50, p99.9, max", name)
		}
		points = append(points, quantile{p / 100, d})
	}
	if points[len(points)-1].share != 1 {
		return nil, errors.New("the longest time is missing (max=...): violations depend on it most")
	}
	return points, nil
}

// parseHistogram reads 50ms:0.9,1s:0.1.
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

// at is the duration below which a share of them lies.
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

// Mean is the mean.
func (t Times) Mean() time.Duration {
	var mean float64
	for i := range max(len(t.points)-1, 0) {
		a, b := t.points[i], t.points[i+1]
		mean += (b.share - a.share) * float64(a.d+b.d) / 2
	}
	return time.Duration(mean)
}

// meanSquare is the mean of the squares, in s².
func (t Times) meanSquare() (mean float64) {
	for i := range max(len(t.points)-1, 0) {
		a, b := t.points[i].d.Seconds(), t.points[i+1].d.Seconds()
		mean += (t.points[i+1].share - t.points[i].share) * (a*a + a*b + b*b) / 3
	}
	return mean
}

// Most is the longest.
func (t Times) Most() time.Duration {
	if len(t.points) == 0 {
		return 0
	}
	return t.points[len(t.points)-1].d
}

func (t Times) String() string { return t.text }

// MarshalYAML writes the distribution as ParseTimes reads it.
func (t Times) MarshalYAML() ([]byte, error) { return []byte(strconv.Quote(t.text)), nil }

// UnmarshalYAML reads it.
func (t *Times) UnmarshalYAML(b []byte) (err error) {
	*t, err = ParseTimes(unquoted(b))
	return err
}

// MarshalText is for JSON.
func (t Times) MarshalText() ([]byte, error) { return []byte(t.text), nil }

// UnmarshalText is for JSON and flags.
func (t *Times) UnmarshalText(b []byte) (err error) {
	*t, err = ParseTimes(string(b))
	return err
}
