package watch

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// sample keeps a uniform random sample of the durations of one key (reservoir sampling).
type sample struct {
	n      int
	values []time.Duration
}

// Limits of the values that are kept: of one sample, and of all.
const (
	maxSample  = 2000
	maxSamples = 1_000_000
)

// keep adds a duration to a sample.
func (l *Lint) keep(s *sample, d time.Duration) {
	s.n++
	if len(s.values) < maxSample && l.kept < maxSamples {
		s.values = append(s.values, d)
		l.kept++
	} else if i := rand.IntN(s.n); i < len(s.values) {
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

// quantiles describes the durations of several keys. Each value that was kept stands for as many as its sample has seen for one.
func quantiles(samples []*sample) Quantiles {
	type weighted struct {
		d time.Duration
		w float64
	}
	var q Quantiles
	var v []weighted
	for _, s := range samples {
		q.Count += s.n
		for _, d := range s.values {
			v = append(v, weighted{d, float64(s.n) / float64(len(s.values))})
		}
	}
	if len(v) == 0 {
		return q
	}
	slices.SortFunc(v, func(a, b weighted) int { return cmp.Compare(a.d, b.d) })
	all := 0.0
	for _, x := range v {
		all += x.w
	}
	quantile := func(p float64) time.Duration {
		below := 0.0
		for _, x := range v {
			if below += x.w; below > p*all {
				return x.d
			}
		}
		return v[len(v)-1].d
	}
	q.P50, q.P90, q.P99, q.Max = quantile(0.5), quantile(0.9), quantile(0.99), v[len(v)-1].d
	return q
}

// Figures describes the observed workload in the form that other commands need.
type Figures struct {
	Masters               int           `json:"masters" yaml:"masters"`
	TTL                   time.Duration `json:"ttl" yaml:"ttl"` // the median
	Hold                  Quantiles     `json:"hold" yaml:"hold"`
	AcquisitionsPerSecond float64       `json:"acquisitions_per_second" yaml:"acquisitions_per_second"`
	Keys                  int           `json:"keys" yaml:"keys"`
	ContendedShare        float64       `json:"contended_share" yaml:"contended_share"`       // fraction of the acquisitions that were refused at first or never granted
	Latency               Quantiles     `json:"latency" yaml:"latency"`                       // time until the replies to acquiring commands
	Replicas              *int          `json:"replicas,omitempty" yaml:"replicas,omitempty"` // the most that a master of a lock says it has; nil: not known
}

// figures returns the figures of the workload of locks, and of no other keys.
func (l *Lint) figures(elapsed time.Duration) Figures {
	var f Figures
	var latencies, holds, ttls []*sample
	granted, contended, waiting := 0, 0, 0
	for _, a := range l.attempts {
		if l.isLock(a.cell) && len(a.yes) >= l.quorum(a.cell) {
			granted++
			if a.cell.refused > 0 && a.waited {
				contended++
			}
		}
	}
	for _, c := range l.cells {
		if !l.isLock(c) {
			continue
		}
		f.Keys++
		latencies, holds, ttls = append(latencies, &c.latencies), append(holds, &c.holds), append(ttls, &c.ttls)
		for m := range c.masters {
			if role := l.roles[m]; role.Known && (f.Replicas == nil || role.Replicas > *f.Replicas) {
				f.Replicas = &role.Replicas
			}
		}
		f.Masters = max(f.Masters, len(c.masters))
		for _, w := range c.waiters {
			if w.since {
				waiting++
			}
		}
	}
	f.Hold, f.Latency, f.TTL = quantiles(holds), quantiles(latencies), quantiles(ttls).P50
	if s := elapsed.Seconds(); s > 0 {
		f.AcquisitionsPerSecond = float64(granted) / s
	}
	if all := granted + waiting; all > 0 {
		f.ContendedShare = float64(contended+waiting) / float64(all)
	}
	return f
}

// isLock reports whether a key is used as a lock: a client tried to create it only if it does not exist, and a client
// extended or released it, or was refused a key without a TTL. A key that expires and that nobody releases or
// extends keeps an event from being handled twice. If the user named the keys, or a test has no others, creation is enough.
func (l *Lint) isLock(c *cell) bool {
	switch {
	case c.tries == 0:
		return false
	case l.opt.Keys != "" || l.opt.Plain:
		return true
	}
	return c.released+c.extended+c.scripted+len(c.noscript) > 0 || c.endless && c.refused > 0
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
	if f.Replicas != nil {
		const most = 2 // that risk estimates
		text += fmt.Sprintf("replicas: %d", min(*f.Replicas, most))
		if *f.Replicas > most {
			text += fmt.Sprintf(" # of %d", *f.Replicas)
		}
		text += "\n"
	}
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
