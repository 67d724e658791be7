package diff

import (
	"math"
	"path/filepath"
	"slices"
	"time"

	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/reports/term"
	"lockpick/reports/web"
)

// Course is the part of a run's history that a comparison uses.
type Course struct {
	Calls  map[string][]time.Duration // by kind of call (see callKinds), sorted
	Grants web.Seconds                // leases granted in each second
	Faults []*history.Fault
	First  *time.Duration // time of the first violation of mutual exclusion; nil: none
	End    time.Duration
}

// callKinds lists the kinds of calls whose latencies are compared.
var callKinds = []string{"acquire, granted", "acquire, refused", "extend", "release"}

// courseOf reads the history of a run. The error of a missing history is os.ErrNotExist.
func courseOf(dir string) (*Course, error) {
	path, err := history.Find(filepath.Join(dir, judge.HistoryFile))
	if err != nil {
		return nil, err
	}
	c := &Course{Calls: map[string][]time.Duration{}}
	var ops []history.Op // without votes, which are most of the lines
	watch := checker.Watch{Header: headerIn(path)}
	_, err = history.ScanFile(path, func(op *history.Op) error {
		c.End = op.Time
		if op.F == history.FVote {
			return nil
		}
		watch.Observe(*op)
		ops = append(ops, *op)
		return nil
	})
	if err != nil {
		return nil, err
	}
	calls := history.CallsOf(ops)
	for i := range ops {
		op := &ops[i]
		if op.F == history.FAcquire && op.Type == history.OK {
			c.Grants.Count(op.Time, 1)
		}
		began, known := calls.Began(i)
		if kind := callKind(op); kind != "" && known {
			c.Calls[kind] = append(c.Calls[kind], op.Time-began)
		}
	}
	for _, all := range c.Calls {
		slices.Sort(all)
	}
	c.Faults = history.Faults(ops)
	if at, ok := watch.First(); ok {
		c.First = &at
	}
	return c, nil
}

// headerIn returns the header of a history, or the zero value: what reads the history returns the errors.
func headerIn(path string) (h history.Header) {
	in, err := history.Open(path)
	if err != nil {
		return h
	}
	defer in.Close()
	if r, err := history.NewReader(in); err == nil {
		h = r.Header()
	}
	return h
}

// callKind returns the kind of call that op completes; empty: none of callKinds.
func callKind(op *history.Op) string {
	switch {
	case op.F == history.FAcquire && op.Type == history.OK:
		return "acquire, granted"
	case op.F == history.FAcquire && op.Type == history.Fail:
		return "acquire, refused"
	case op.F == history.FExtend && op.Type == history.OK:
		return "extend"
	case op.F == history.FRelease && op.Type == history.OK:
		return "release"
	}
	return ""
}

// Latency summarizes the durations of the calls of one kind, in ns.
type Latency struct {
	Calls  int           `json:"calls"`
	Median time.Duration `json:"median_ns"`
	P99    time.Duration `json:"p99_ns"` // 0: fewer than 100 calls
	Max    time.Duration `json:"max_ns"`
}

// LatencyChange has the latencies of one kind of call in two runs; null: the run has no such calls.
type LatencyChange struct {
	Name   string   `json:"name"`
	Before *Latency `json:"before"`
	After  *Latency `json:"after"`
}

// latencies compares the latencies of two runs. A run without a history has none.
func latencies(a, b *Course) []LatencyChange {
	changes := []LatencyChange{}
	for _, kind := range callKinds {
		if x, y := latencyOf(a, kind), latencyOf(b, kind); x != nil || y != nil {
			changes = append(changes, LatencyChange{kind, x, y})
		}
	}
	return changes
}

func latencyOf(c *Course, kind string) *Latency {
	if c == nil || len(c.Calls[kind]) == 0 {
		return nil
	}
	all := c.Calls[kind]
	l := &Latency{Calls: len(all), Median: all[len(all)/2], Max: all[len(all)-1]}
	if len(all) >= 100 {
		l.P99 = all[len(all)*99/100]
	}
	return l
}

// String returns the number of calls, the median, the 99th percentile and the maximum.
func (l *Latency) String() string {
	if l == nil {
		return "none"
	}
	text := term.Plural(l.Calls, "call") + ", median " + term.Span(l.Median)
	if l.P99 > 0 {
		text += ", 99 % within " + term.Span(l.P99)
	}
	return text + ", slowest " + term.Span(l.Max)
}

// rateInterval returns the exact 95 % interval of a rate per minute, for n events within d
// (Garwood, "Fiducial limits for the Poisson distribution", 1936): outside of it, n events or fewer, or n events or more, have
// a probability below 2.5 %. Events that come in groups are less certain than that. It returns nil if d is not positive.
func rateInterval(n int, d time.Duration) *[2]float64 {
	if d <= 0 {
		return nil
	}
	low, high := 0.0, meanOf(n, 0.025)
	if n > 0 {
		low = meanOf(n-1, 0.975)
	}
	return &[2]float64{low / d.Minutes(), high / d.Minutes()}
}

// meanOf returns the mean of the Poisson distribution whose values are at most n with probability p, by bisection.
func meanOf(n int, p float64) float64 {
	atMost := func(mean float64) float64 {
		log := -mean // of the probability of k
		sum := math.Exp(log)
		for k := 1; k <= n; k++ {
			log += math.Log(mean / float64(k))
			sum += math.Exp(log)
		}
		return sum
	}
	low, high := 0.0, float64(n)+10*math.Sqrt(float64(n+1))+10
	for range 60 {
		if middle := (low + high) / 2; atMost(middle) > p {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// Lane draws the course of one run, on the same scales as the other run's.
type Lane struct {
	Name  string
	Bars  []Bar
	Bands []Bar
	First *Bar
	Says  string
}

// Bar is a rectangle of the drawing.
type Bar struct{ X, Width, Y, Height float64 }

// The size of the drawing of a course.
const LaneWidth, laneHeight = 960.0, 90.0

// lanes draws the courses of two runs one above the other. It returns nil if a run has no history.
func lanes(d *Comparison, a, b *Course) (lanes []Lane) {
	if a == nil || b == nil {
		return nil
	}
	end := max(a.End, b.End, time.Second)
	x := func(at time.Duration) float64 { return LaneWidth * float64(min(at, end)) / float64(end) }
	seconds := web.BarSeconds(int(end / time.Second))
	var all [2][]int
	most := 1
	for i, c := range []*Course{a, b} {
		all[i] = c.Grants.Bars(seconds)
		most = slices.Max(append(all[i], most))
	}
	for i, c := range []*Course{a, b} {
		lane := Lane{Name: []string{d.Before, d.After}[i]}
		for n, granted := range all[i] {
			from, to := x(time.Duration(n*seconds)*time.Second), x(time.Duration((n+1)*seconds)*time.Second)
			h := laneHeight * float64(granted) / float64(most)
			lane.Bars = append(lane.Bars, Bar{from, max(to-from-1, 0.5), laneHeight - h, h})
		}
		for _, f := range c.Faults {
			if f.Installed {
				lane.Bands = append(lane.Bands, Bar{x(f.From), max(x(f.To)-x(f.From), 1), 0, laneHeight})
			}
		}
		lane.Says = "no violation of mutual exclusion"
		if c.First != nil {
			lane.First = &Bar{x(*c.First) - 1, 2, 0, laneHeight}
			lane.Says = "the first violation of mutual exclusion at " + term.Instant(*c.First)
		}
		lanes = append(lanes, lane)
	}
	return lanes
}
