package judge

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/history"
)

// WholeLines is the number of lines up to which a report shows the whole history: 2.1 million lines and their
// report took 2 GB, and memory grows with the lines. A longer history is also judged as a whole, in a fifth
// of the memory, but its report shows an excerpt of ExcerptLines.
const (
	WholeLines   = 2_500_000
	ExcerptLines = 600_000
)

// The least size of a line in bytes, in a plain and in a compressed history.
const (
	lineBytes           = 100
	compressedLineBytes = 8
)

// ForReport judges the history in a file as File does, and returns what its report shows: everything or, of a
// very long history, an excerpt around violations. In that case a note of the result says so.
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
	packed = nil // frees the memory for the history that is read next
	if lines <= whole {
		h, err := history.ReadFile(path)
		return h, r, err
	}
	defer CollectMoreFor(lines)()
	h, err := history.ReadExcerpt(path, excerptFor(r, lines, shown))
	if err != nil {
		return nil, nil, err
	}
	r.Notes = append(r.Notes, excerptNote+fmt.Sprintf("%d of the history's %d lines, around violations and at its beginning and end; all of them were judged", len(h.Ops), lines))
	return h, r, nil
}

// excerptNote begins the note about an excerpt.
const excerptNote = "the report shows "

// mostLines returns the greatest number of lines that a history of this size in bytes can have.
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

// excerptFor selects the lines of an excerpt: around the first violation of each property, then the second
// ones and so on, until they take three quarters of the lines; and the beginning and the end.
func excerptFor(r *Result, lines, most int) history.Excerpt {
	e := history.Excerpt{Around: linesAround, Most: most}
	room := time.Duration(float64(r.Duration) * float64(most) / float64(lines)) // the average time of most lines
	left := room * 3 / 4
	for i := range checker.MaxViolations {
		for _, result := range r.Verdicts {
			if i >= len(result.Violations) {
				continue
			}
			v := &result.Violations[i]
			e.Lines = append(e.Lines, v.Ops...)
			if s := explainedSpan(v, r.TTL); s.To-s.From <= left && !slices.ContainsFunc(e.Spans, func(o history.Span) bool { return o.From <= s.From && s.To <= o.To }) {
				e.Spans, left = append(e.Spans, s), left-(s.To-s.From)
			}
		}
	}
	left += room / 4
	e.Spans = append(e.Spans, history.Span{From: 0, To: left / 2}, history.Span{From: r.Duration - left/2, To: r.Duration + 1})
	return e
}

// linesAround is the number of lines before and after each line of evidence in an excerpt, the same as in the
// report.
const linesAround = 10

// explainedSpan returns the time span of a violation's explanation, and a quarter of a TTL on both sides.
func explainedSpan(v *narrative.Violation, ttl time.Duration) history.Span {
	s := history.Span{From: v.At, To: v.Until}
	for i := range v.Events {
		s.From = min(s.From, v.Events[i].At)
	}
	return history.Span{From: max(s.From, v.At-2*ttl) - ttl/4, To: min(s.To, v.At+2*ttl) + ttl/4}
}
