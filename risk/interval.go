package risk

import (
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
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
	source := rand.NewPCG(r.Uint64(), r.Uint64())
	u := rand.New(source)
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
				lows[i] += x * distuv.Beta{Alpha: float64(p.hits), Beta: float64(p.n - p.hits + 1), Src: source}.Rand()
			}
			high := 1.0
			if p.hits < p.n {
				high = distuv.Beta{Alpha: float64(p.hits + 1), Beta: float64(p.n - p.hits), Src: source}.Rand()
			}
			highs[i] += x * high
		}
	}
	slices.Sort(lows)
	slices.Sort(highs)
	out.Low, out.High = min(lows[draws*25/1000], out.Expected), max(highs[draws*975/1000-1], out.Expected)
	return out
}
