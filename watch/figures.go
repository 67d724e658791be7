package watch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// sample keeps a uniform random sample of durations (reservoir sampling).
type sample struct {
	n      int
	values []time.Duration
}

// maxSample is the maximum number of values that a sample keeps.
const maxSample = 20_000

func (s *sample) add(d time.Duration) {
	s.n++
	if len(s.values) < maxSample {
		s.values = append(s.values, d)
	} else if i := rand.IntN(s.n); i < maxSample {
		s.values[i] = d
	}
}

// Quantiles describes a distribution of durations.
type Quantiles struct {
	Count int           `json:"count" yaml:"count"`
	P50   time.Duration `json:"p50" yaml:"p50"`
	P90   time.Duration `json:"p90" yaml:"p90"`
	P99   time.Duration `json:"p99" yaml:"p99"`
	Max   time.Duration `json:"max" yaml:"max"`
}

func (s *sample) quantiles() Quantiles {
	q := Quantiles{Count: s.n}
	if len(s.values) == 0 {
		return q
	}
	v := slices.Sorted(slices.Values(s.values))
	of := func(p float64) time.Duration { return v[min(len(v)-1, int(p*float64(len(v))))] }
	q.P50, q.P90, q.P99, q.Max = of(0.5), of(0.9), of(0.99), v[len(v)-1]
	return q
}

// Figures describes the observed workload in the form that other commands need.
type Figures struct {
	Masters               int           `json:"masters" yaml:"masters"`
	TTL                   time.Duration `json:"ttl" yaml:"ttl"` // the median
	Hold                  Quantiles     `json:"hold" yaml:"hold"`
	AcquisitionsPerSecond float64       `json:"acquisitions_per_second" yaml:"acquisitions_per_second"`
	Keys                  int           `json:"keys" yaml:"keys"`
	ContendedShare        float64       `json:"contended_share" yaml:"contended_share"` // fraction of the acquisitions that were refused at first or never granted
	Latency               Quantiles     `json:"latency" yaml:"latency"`                 // time until the replies to acquiring commands
}

// figures returns the workload's figures.
func (l *Lint) figures(elapsed time.Duration) Figures {
	f := Figures{Hold: l.holds.quantiles(), Latency: l.latencies.quantiles(), TTL: l.ttls.quantiles().P50}
	granted, contended, waiting := 0, 0, 0
	for _, a := range l.attempts {
		if a.cell.isLock(l.opt.Keys != "") && len(a.yes) >= l.quorum(a.cell) {
			granted++
			if a.cell.refused > 0 && a.waited {
				contended++
			}
		}
	}
	for _, c := range l.cells {
		if !c.isLock(l.opt.Keys != "") {
			continue
		}
		f.Keys++
		f.Masters = max(f.Masters, len(c.masters))
		for _, w := range c.waiters {
			if w.since {
				waiting++
			}
		}
	}
	if s := elapsed.Seconds(); s > 0 {
		f.AcquisitionsPerSecond = float64(granted) / s
	}
	if all := granted + waiting; all > 0 {
		f.ContendedShare = float64(contended+waiting) / float64(all)
	}
	return f
}

// isLock reports whether a key is used as a lock: a client tried to create it only if it does not
// exist, and a client was refused, extended it or released it. named means that the user named the
// keys, so that creation is enough.
func (c *cell) isLock(named bool) bool {
	return c.tries > 0 && (named || c.refused+c.released+c.extended+len(c.noscript) > 0)
}

// quorum returns how many masters must grant a key for a lease.
func (l *Lint) quorum(c *cell) int {
	if l.opt.Quorum > 0 {
		return l.opt.Quorum
	}
	if len(c.masters) <= 1 {
		return 1
	}
	return l.opt.Masters/2 + 1
}

// Progress holds the values of a progress line.
type Progress struct {
	Elapsed         time.Duration
	Commands        int64
	Grants, Refused int
	Broken          int
}

// Progress returns the progress so far, at little cost.
func (l *Lint) Progress() Progress {
	return Progress{Elapsed: time.Since(l.start), Commands: l.commands, Grants: len(l.attempts), Refused: l.refusals, Broken: len(l.broken)}
}

// lock returns the name of Lockpick's lock with that number of masters.
func (f Figures) lock() string {
	if f.Masters == 1 {
		return "single"
	}
	return "redlock"
}

// lease returns the TTL in the form that other commands accept.
func (f Figures) lease() time.Duration {
	return max(f.TTL, 100*time.Millisecond).Round(time.Millisecond)
}

// Scenario returns a scenario with this workload, for lockpick run.
func (f Figures) Scenario() string {
	low, high := f.Hold.P50/2, max(f.Hold.P90, time.Millisecond)
	return fmt.Sprintf(`# The workload that lockpick watch has seen: %.1f leases per second, %.0f %% of the acquisitions contended.
name: watched
lock: %s
masters: %d
keys: %d
ttl: %v
hold: %v..%v
`, f.AcquisitionsPerSecond, 100*f.ContendedShare, f.lock(), max(1, f.Masters), min(max(1, f.Keys), 100), f.lease(), low.Round(time.Millisecond), high.Round(time.Millisecond))
}

// Risk returns a setup with this workload, for lockpick risk. It leaves the failures of machines,
// which a watch does not see, to the defaults.
func (f Figures) Risk() string {
	text := fmt.Sprintf(`# The workload that lockpick watch has seen. What happens to masters and clients, how masters keep
# their data, and whether the resource is fenced, it cannot see: lockpick risk --help lists the fields
# and what they are without you.
lock: %s
masters: %d
ttl: %v
acquisitions: %.4g
keys: %d
contended: %.4g
`, f.lock(), max(1, f.Masters), f.lease(), f.AcquisitionsPerSecond, max(1, f.Keys), f.ContendedShare)
	if f.Hold.Count > 0 {
		at := time.Microsecond
		text += "hold: "
		for _, q := range []struct {
			name string
			d    time.Duration
		}{{"p50", f.Hold.P50}, {"p90", f.Hold.P90}, {"p99", f.Hold.P99}, {"max", f.Hold.Max}} {
			at = max(at, q.d.Round(time.Microsecond))
			text += fmt.Sprintf("%s=%v,", q.name, at)
		}
		text = strings.TrimSuffix(text, ",") + "\n"
	}
	return text
}
