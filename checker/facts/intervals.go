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

// Union returns the times that lie in any of the spans, in order. It joins spans with a gap of
// at most gap between them.
func Union(all []history.Span, gap time.Duration) []history.Span {
	sorted := slices.DeleteFunc(slices.Clone(all), history.Span.Empty)
	slices.SortFunc(sorted, func(a, b history.Span) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	var out []history.Span
	for _, s := range sorted {
		if n := len(out); n > 0 && s.From <= out[n-1].To+gap {
			out[n-1].To = max(out[n-1].To, s.To)
			continue
		}
		out = append(out, s)
	}
	return out
}

// Without returns the times that lie in a but not in b.
func Without(a, b []history.Span) []history.Span { return Cut(a, Union(b, 0)) }

// Cut is like without, for a b that is already in order and disjoint.
func Cut(a, b []history.Span) []history.Span {
	var out []history.Span
	for _, s := range Union(a, 0) {
		for _, x := range b[sort.Search(len(b), func(i int) bool { return b[i].To > s.From }):] {
			if x.From >= s.To {
				break
			}
			if x.From > s.From {
				out = append(out, history.Span{From: s.From, To: x.From})
			}
			s.From = x.To
		}
		if !s.Empty() {
			out = append(out, s)
		}
	}
	return out
}

// times returns the times at which at least n of several conditions hold, each given by its spans.
func times(things [][]history.Span, n int) []history.Span {
	type edge struct {
		at   time.Duration
		step int
	}
	var edges []edge
	for _, spans := range things {
		for _, s := range Union(spans, 0) {
			edges = append(edges, edge{s.From, 1}, edge{s.To, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.step, a.step)) })
	var out []history.Span
	now := 0
	for _, e := range edges {
		now += e.step
		switch {
		case e.step > 0 && now == n:
			out = append(out, history.Span{From: e.at, To: e.at})
		case e.step < 0 && now == n-1:
			out[len(out)-1].To = e.at
		}
	}
	return Union(out, 0)
}

// Touches reports whether [from, to] has a moment in common with any of the spans, which must be in
// order and disjoint.
func Touches(spans []history.Span, from, to time.Duration) bool {
	i, _ := slices.BinarySearchFunc(spans, from, func(s history.Span, at time.Duration) int { return cmp.Compare(s.To, at) })
	return i < len(spans) && Overlap(spans[i].From, spans[i].To, from, to)
}

// Overlap reports whether two closed intervals of time have a moment in common.
func Overlap(from, to, from2, to2 time.Duration) bool { return from <= to2 && from2 <= to }

// Contains reports whether a time lies in one of the spans, which must be in order and disjoint.
func Contains(spans []history.Span, t time.Duration) bool {
	i, _ := slices.BinarySearchFunc(spans, t, func(s history.Span, t time.Duration) int {
		if s.To <= t {
			return -1
		}
		return 1
	})
	return i < len(spans) && spans[i].From <= t
}
