package world

import (
	"math"
	"math/bits"
)

// Clock is a clock that has a rate of its own and can jump. Its times are ns since Epoch. It
// computes with integers, so that every machine gets the same results.
type Clock struct {
	since int64 // true time of the last change
	shown int64 // its reading at that time
	gain  int64 // ns that it gains in a true second
}

const second = 1_000_000_000 // ns

// Read returns the reading of the clock at a true time.
func (c *Clock) Read(now int64) int64 {
	d := now - c.since
	if c.gain == 0 {
		return c.shown + d
	}
	return c.shown + d + scale(d, c.gain, second)
}

// When returns the first true time at which the clock shows t or more at its current rate, or
// the nanosecond after it; MaxInt64 if the clock never does.
func (c *Clock) When(t int64) int64 {
	d := t - c.shown
	if c.gain == 0 {
		return c.since + d
	}
	if c.gain <= -second {
		return math.MaxInt64
	}
	if d <= 0 {
		return c.since
	}
	after := scale(d, second, second+c.gain)
	if after >= math.MaxInt64-1-c.since {
		return math.MaxInt64
	}
	return c.since + after + 1 // rounded up
}

// Set sets the reading of the clock and the ns that it gains in a true second, from now on.
func (c *Clock) Set(now, shown, gain int64) { c.since, c.shown, c.gain = now, shown, gain }

// Gain returns the ns that the clock gains in a true second.
func (c *Clock) Gain() int64 { return c.gain }

// GainOf returns the gain, in ns per true second, of a clock that counts rate seconds in a true second.
func GainOf(rate float64) int64 {
	return int64(math.Round((rate - 1) * second))
}

// scale returns a·b/c without overflow, rounded towards zero. c is positive.
func scale(a, b, c int64) int64 {
	negative := (a < 0) != (b < 0)
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	if hi >= uint64(c) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	if q > math.MaxInt64 {
		return math.MaxInt64
	}
	if negative {
		return -int64(q)
	}
	return int64(q)
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}
