package risk

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Interval is a number of violations per year with its 95 % confidence interval.
type Interval struct {
	Expected float64 `json:"expected"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// part is one term of an expected number: hits of n samples, each of which counts weight × the
// rates.
type part struct {
	hits, n int
	weight  float64
	rates   []int // indexes of the rates; one may occur twice
}

// draws is the number of random sums from which an interval is computed.
const draws = 4000

// sum adds parts up. For one part with fixed rates, the interval is the exact one of Clopper and
// Pearson ("The use of confidence or fiducial limits illustrated in the case of the binomial",
// 1934), up to the error of drawing: its limits are quantiles of beta distributions. For more, sum
// draws from those distributions, and rates from their ranges on a logarithmic scale. The lower
// limit comes from the lower distributions and the upper one from the upper ones, so the interval
// is too wide rather than too narrow.
func sum(parts []part, rates []Rate, r *rand.Rand) Interval {
	var out Interval
	for _, p := range parts {
		if p.n > 0 {
			x := p.weight * float64(p.hits) / float64(p.n)
			for _, i := range p.rates {
				x *= rates[i].Mid()
			}
			out.Expected += x
		}
	}
	u := rand.New(rand.NewPCG(r.Uint64(), r.Uint64()))
	lows, highs := make([]float64, draws), make([]float64, draws)
	now := make([]float64, len(rates))
	for i := range draws {
		for j := range rates {
			now[j] = rates[j].at(u.Float64())
		}
		for _, p := range parts {
			if p.n == 0 {
				continue
			}
			x := p.weight
			for _, j := range p.rates {
				x *= now[j]
			}
			if p.hits > 0 {
				lows[i] += x * beta(u, p.hits, p.n-p.hits+1)
			}
			high := 1.0
			if p.hits < p.n {
				high = beta(u, p.hits+1, p.n-p.hits)
			}
			highs[i] += x * high
		}
	}
	slices.Sort(lows)
	slices.Sort(highs)
	out.Low, out.High = min(lows[draws*25/1000], out.Expected), max(highs[draws*975/1000-1], out.Expected)
	return out
}

// beta draws from the beta distribution with the shapes a and b, of at least 1 each. (gonum, which has it too, is 24 packages.)
func beta(r *rand.Rand, a, b int) float64 {
	x := gamma(r, a)
	return x / (x + gamma(r, b))
}

// gamma draws from the gamma distribution with a shape of at least 1 and scale 1, by the method of Marsaglia and Tsang
// ("A simple method for generating gamma variables", 2000).
func gamma(r *rand.Rand, shape int) float64 {
	d := float64(shape) - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v *= v * v
		if math.Log(1-r.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}
