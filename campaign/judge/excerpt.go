package judge

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"lockpick/checker"
	"lockpick/history"
)

// wholeLines is how many lines a history may have for its report to show all of them: 2.1 million lines and
// their report took 2 GB, and it grows with the lines. A longer one is judged as a whole all the same,
// in a fifth of the memory; its report shows an excerpt of excerptLines.
const (
	WholeLines   = 2_500_000
	ExcerptLines = 600_000
)

// lineBytes is the least that a line takes, in a plain and in a compressed history.
const (
	lineBytes           = 100
	compressedLineBytes = 8
)

// ForReport judges the history in a file as File does, and returns what its report shows of it: everything,
// or of a very long one an excerpt around violations, which the result's notes then say.
func ForReport(path string) (*history.History, *Result, error) {
	return forReport(path, WholeLines, ExcerptLines)
}

func forReport(path string, whole, shown int) (*history.History, *Result, error) {
	if mostLines(path) <= int64(whole) {
		return File(path)
	}
	packed, r, err := PackedFile(path)
	if err != nil {
		return nil, nil, err
	}
	lines := packed.Lines()
	packed = nil // the history that is read now needs the memory
	if lines <= whole {
		h, err := history.ReadFile(path)
		return h, r, err
	}
	defer CollectMore(reportHeap)()
	h, err := history.ReadExcerpt(path, excerptFor(r, lines, shown))
	if err != nil {
		return nil, nil, err
	}
	r.Notes = append(r.Notes, excerptNote+fmt.Sprintf("%d of the history's %d lines, around violations and at its beginning and end; all of them were judged", len(h.Ops), lines))
	return h, r, nil
}

// excerptNote begins the note that says what a report shows.
const excerptNote = "the report shows "

// mostLines is how many lines a history can have, by its size.
func mostLines(path string) int64 {
	found, err := history.Find(path)
	if err != nil {
		return 0
	}
	info, err := os.Stat(found)
	switch {
	case err != nil:
		return 0
	case strings.HasSuffix(found, history.ZstdSuffix), strings.HasSuffix(found, history.GzipSuffix):
		return info.Size() / compressedLineBytes
	}
	return info.Size() / lineBytes
}

// excerptFor chooses what to show of a history: of each property the first violation, then the second
// one and so on, until they take three quarters of the lines; and the beginning and the end.
func excerptFor(r *Result, lines, most int) history.Excerpt {
	e := history.Excerpt{Around: linesAround, Most: most}
	room := time.Duration(float64(r.Duration) * float64(most) / float64(lines)) // as long as so many lines take, on average
	left := room * 3 / 4
	for i := range checker.MaxViolations {
		for _, result := range r.Verdicts {
			if i >= len(result.Violations) {
				continue
			}
			v := &result.Violations[i]
			e.Lines = append(e.Lines, v.Ops...)
			if s := around(v, r.TTL); s.To-s.From <= left && !slices.ContainsFunc(e.Spans, func(o history.Span) bool { return o.From <= s.From && s.To <= o.To }) {
				e.Spans, left = append(e.Spans, s), left-(s.To-s.From)
			}
		}
	}
	left += room / 4
	e.Spans = append(e.Spans, history.Span{From: 0, To: left / 2}, history.Span{From: r.Duration - left/2, To: r.Duration + 1})
	return e
}

// linesAround is how many lines before and after each that proves a violation an excerpt has: as many as
// the report shows.
const linesAround = 10

// around is the time that the story of a violation tells of, and a little more.
func around(v *checker.Violation, ttl time.Duration) history.Span {
	s := history.Span{From: v.At, To: v.Until}
	for i := range v.Events {
		s.From = min(s.From, v.Events[i].At)
	}
	return history.Span{From: max(s.From, v.At-2*ttl) - ttl/4, To: min(s.To, v.At+2*ttl) + ttl/4}
}
