package facts

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"lockpick/history"
)

// intervals finds in logarithmic time whether any of its closed intervals touches a given one.
type intervals struct {
	spans []history.Span  // ordered by From
	upTo  []time.Duration // the latest To of the intervals up to this one
}

func intervalsOf(spans []history.Span) intervals {
	slices.SortStableFunc(spans, func(a, b history.Span) int { return cmp.Compare(a.From, b.From) })
	x := intervals{spans: spans, upTo: make([]time.Duration, len(spans))}
	for i, s := range spans {
		x.upTo[i] = s.To
		if i > 0 {
			x.upTo[i] = max(s.To, x.upTo[i-1])
		}
	}
	return x
}

// touch reports whether any of the intervals has a moment in common with [from, to].
func (x intervals) touch(from, to time.Duration) bool {
	n := sort.Search(len(x.spans), func(i int) bool { return x.spans[i].From > to })
	return n > 0 && x.upTo[n-1] >= from
}

// each yields the indexes of the intervals that touch [from, to], the last first.
func (x intervals) each(from, to time.Duration, yield func(i int) bool) {
	n := sort.Search(len(x.spans), func(i int) bool { return x.spans[i].From > to })
	for i := n - 1; i >= 0 && x.upTo[i] >= from; i-- {
		if x.spans[i].To >= from && !yield(i) {
			return
		}
	}
}

// moments is a sorted list of times.
type moments []time.Duration

// in reports whether any of the times lies in [from, to].
func (m moments) in(from, to time.Duration) bool {
	i, _ := slices.BinarySearch(m, from)
	return i < len(m) && m[i] <= to
}
