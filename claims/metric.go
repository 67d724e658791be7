package claims

import (
	"iter"
	"math"
	"slices"

	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/search"
)

// Metric is a value that a case measures, with a 95 % confidence interval. Cases measure where a
// verdict would be a matter of judgement.
type Metric struct {
	Name  string  `json:"name"`
	Says  string  `json:"says"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"` // the median over the schedules; for a share, the percentage of all schedules
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	N     int     `json:"n"` // how many schedules it was measured in
}

// metric is a kind of value that can be measured in a schedule.
type metric struct {
	says string
	unit string // "share": 0 or 1 in each schedule
	of   func(h *history.History, r *judge.Result) (x float64, ok bool)
}

var metrics = map[string]metric{
	"acquire-p50": {"median time of an acquire that was granted", "ms", func(h *history.History, _ *judge.Result) (float64, bool) { return quantile(acquireTimes(h), 0.50) }},
	"acquire-p99": {"99th percentile of the time of an acquire that was granted", "ms", func(h *history.History, _ *judge.Result) (float64, bool) { return quantile(acquireTimes(h), 0.99) }},
	"grants": {"leases granted in a second", "1/s", func(_ *history.History, r *judge.Result) (float64, bool) {
		return float64(r.Counts.Granted) / r.Duration.Seconds(), r.Duration > 0
	}},
	"refused": {"share of acquires that were refused", "%", func(_ *history.History, r *judge.Result) (float64, bool) {
		return 100 * float64(r.Counts.Refused) / float64(max(1, r.Counts.Acquires)), r.Counts.Acquires > 0
	}},
	"L2-violated":  violatedShare("L2"),
	"L3-violated":  violatedShare("L3"),
	"L4-violated":  violatedShare("L4"),
	"L5-violated":  violatedShare("L5"),
	"longest-wait": {"longest time of an acquire, granted or not", "ms", func(h *history.History, _ *judge.Result) (float64, bool) { return longestWait(h) }},
	"split-votes": {"moments at which clients share all masters, and none has a quorum", "", func(h *history.History, _ *judge.Result) (float64, bool) {
		return float64(len(checker.SplitVotes(h))), true
	}},
	"out-of-order": {"share of grants that went to a client which had asked after one that was still waiting", "%", func(h *history.History, _ *judge.Result) (float64, bool) { return outOfOrder(h) }},
}

// violatedShare returns the metric of the share of schedules that violate a property of a level. It
// counts only conclusive schedules: they violate a property of the level, or all judged properties
// of the level hold.
func violatedShare(level string) metric {
	return metric{"share of conclusive schedules that violate " + level, "share", func(_ *history.History, r *judge.Result) (float64, bool) {
		judged, hold := 0, 0
		for _, v := range r.Verdicts {
			switch {
			case v.Level != level:
				continue
			case v.Verdict == checker.Violated:
				return 1, true
			case v.Verdict == checker.Holds:
				hold++
			}
			judged++
		}
		return 0, judged > 0 && hold == judged
	}}
}

// acquires yields the return of each acquire, and how long it took, in ms.
func acquires(h *history.History) iter.Seq2[*history.Op, float64] {
	return func(yield func(*history.Op, float64) bool) {
		began := map[string]*history.Op{}
		for i := range h.Ops {
			op := &h.Ops[i]
			switch start := began[op.Process]; {
			case op.F != history.FAcquire:
			case op.Type == history.Invoke:
				began[op.Process] = op
			case start != nil && !yield(op, float64((op.Time-start.Time).Microseconds())/1000):
				return
			}
		}
	}
}

// acquireTimes returns how long each granted acquire took, in ms.
func acquireTimes(h *history.History) []float64 {
	var all []float64
	for op, took := range acquires(h) {
		if op.Type == history.OK {
			all = append(all, took)
		}
	}
	return all
}

// longestWait returns how long the longest acquire took, in ms, whether or not it was granted.
func longestWait(h *history.History) (float64, bool) {
	longest := -1.0
	for _, took := range acquires(h) {
		longest = max(longest, took)
	}
	return longest, longest >= 0
}

func quantile(x []float64, q float64) (float64, bool) {
	if len(x) == 0 {
		return 0, false
	}
	slices.Sort(x)
	return x[min(len(x)-1, int(q*float64(len(x))))], true
}

// outOfOrder returns the share of grants, in %, that overtook another client's earlier request.
func outOfOrder(h *history.History) (float64, bool) {
	waiting := map[string]*history.Op{}
	grants, over := 0, 0
	for i := range h.Ops {
		op := &h.Ops[i]
		if op.F != history.FAcquire {
			continue
		}
		if op.Type == history.Invoke {
			waiting[op.Process] = op
			continue
		}
		mine := waiting[op.Process]
		delete(waiting, op.Process)
		if op.Type != history.OK || mine == nil {
			continue
		}
		grants++
		for _, other := range waiting {
			if other.Key == op.Key && other.Time < mine.Time {
				over++
				break
			}
		}
	}
	return 100 * float64(over) / float64(max(1, grants)), grants > 0
}

// measured summarizes the values that the schedules of a series measured.
func (s *series) measured() []Metric {
	var all []Metric
	if s.twin {
		return nil
	}
	for _, name := range s.of.Measure {
		var xs []float64
		for _, t := range s.trials {
			if t == nil {
				continue
			}
			if x, ok := t.figures[name]; ok {
				xs = append(xs, x)
			}
		}
		f := Metric{Name: name, Says: metrics[name].says, Unit: metrics[name].unit, N: len(xs)}
		if len(xs) > 0 {
			if f.Unit == "share" {
				f.Unit = "%"
				violated := 0
				for _, x := range xs {
					violated += int(x)
				}
				w := search.Wilson(violated, len(xs), 1)
				f.Value, f.Low, f.High = 100*w.Share, 100*w.Low, 100*w.High
			} else {
				f.Value, f.Low, f.High = medianOf(xs)
			}
		}
		all = append(all, f)
	}
	return all
}

// medianOf returns the median and its 95 % confidence interval by order statistics. Fewer than six
// values allow no such interval; then low and high are the smallest and the largest value.
func medianOf(xs []float64) (median, low, high float64) {
	slices.Sort(xs)
	n := len(xs)
	median = xs[n/2]
	if n%2 == 0 {
		median = (xs[n/2-1] + xs[n/2]) / 2
	}
	half := 0.98 * math.Sqrt(float64(n))
	lo, hi := int(math.Floor(float64(n)/2-half)), int(math.Ceil(float64(n)/2+half))
	return median, xs[max(0, lo)], xs[min(n-1, hi)]
}
