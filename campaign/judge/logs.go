package judge

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"time"

	"lockpick/checker"
	"lockpick/history"
	"lockpick/history/logs"
	"lockpick/internal/crew"
)

const (
	// partHolds is the number of holds of a log that are judged at once: the checker needs many times the
	// memory of a log, which may have ten million lines.
	partHolds = 4_000
	// partsAtOnce is the maximum number of parts that are judged at a time, each of which takes some 20 MB meanwhile, on machines with many processors.
	partsAtOnce = 8
	// wholeClients is the greatest number of clients in a log whose history stays whole: reports draw a lane
	// for each client.
	wholeClients = 200
	// listedPossible limits the possible overlaps in a result.
	listedPossible = 50
	// nearby is the number of holds that an excerpt shows before and after a hold in a violation.
	nearby = 3
)

// Logs judges a log of a lock that Lockpick did not run. Logs show mutual exclusion (L2) and, since a client is in its
// critical section until it releases, belief exclusion (L3). The history contains the holds that are certain. For a long log all of them are judged, but the history
// contains only those around violations. An error is a *HarnessError.
func Logs(l *logs.Log) (*history.History, *Result, error) {
	h, report, err := checkLogs(l)
	if err != nil {
		return nil, nil, err
	}
	head := h.Header
	r := &Result{
		Name: head.Name, Started: head.Started, Duration: l.Duration, Driver: head.Driver, Clients: l.Clients, Keys: l.Keys, TTL: head.TTL, Nemesis: head.Nemesis,
		Notes: slices.Clone(l.Notes), Verdicts: report.Results,
		Counts: Counts{Operations: l.Lines, Acquires: l.Holds + l.Refused, Granted: l.Holds, Refused: l.Refused, Extended: l.Extended},
	}
	for _, d := range l.Doubts() {
		r.Notes = append(r.Notes, d.String())
	}
	for _, p := range l.Problems {
		r.Notes = append(r.Notes, p.String())
	}
	if n := len(h.Ops); l.Judged > 0 && l.Judged > granted(h) {
		r.Notes = append(r.Notes, fmt.Sprintf("all %d holds that are certain were judged; the history and the timeline show %d of them, those around violations first", l.Judged, granted(h)))
	} else if n == 0 {
		r.Notes = append(r.Notes, "no hold is certain")
	}
	r.PossibleCount, r.Possible = l.Possible(listedPossible)
	concludeLogs(l, r)
	r.Untested = untested(history.Pack(h), checker.Report{Results: r.Verdicts})
	r.Causes = causesOf(h, r.Verdicts)
	r.SetProperties(nil)
	r.FirstViolationMS = firstViolation(r.Verdicts)
	return h, r, nil
}

func granted(h *history.History) (n int) {
	for i := range h.Ops {
		if h.Ops[i].F == history.FAcquire && h.Ops[i].Type == history.OK {
			n++
		}
	}
	return n
}

// checkLogs checks the holds of a log, in parts if there are many.
func checkLogs(l *logs.Log) (*history.History, checker.Report, error) {
	if l.Judged <= partHolds && l.Clients <= wholeClients {
		h := l.All().History
		report := checker.Check(h, checker.MutualExclusion, checker.BeliefExclusion)
		return h, report, harnessError(report.Err())
	}
	all, totals, err := checkParts(l, partHolds, min(runtime.GOMAXPROCS(0), partsAtOnce))
	if err != nil {
		return nil, checker.Report{}, harnessError(err)
	}
	slices.SortStableFunc(all, func(a, b foundHolds) int { return cmp.Compare(a.at, b.at) })
	about := []int{0}
	near := wholeClients / 2 // without violations: the beginning of the log
	if len(all) > 0 {
		about, near = nil, nearby
	}
	for _, f := range all[:min(len(all), checker.MaxViolations)] {
		about = append(about, f.holds[:]...)
	}
	h := l.Excerpt(about, near).History
	report := checker.CheckExcerpt(h, totals)
	return h, report, harnessError(report.Err())
}

// foundHolds is a violation in a part of a log: when it began, and the first and the last hold in it.
type foundHolds struct {
	at    time.Duration
	holds [2]int
}

// checkParts judges a log in parts, so many at a time. The order of what it returns is that of the parts.
func checkParts(l *logs.Log, size, atOnce int) (all []foundHolds, totals checker.Totals, err error) {
	type judgedPart struct {
		found  []foundHolds
		totals checker.Totals
		err    error
	}
	var parts []*judgedPart
	tasks := func(yield func(func()) bool) {
		for makePart := range l.Parts(size) {
			p := &judgedPart{}
			parts = append(parts, p)
			if !yield(func() {
				part := makePart()
				report := p.totals.Add(part.History, part.Repeated, part.IsRepeated)
				p.err = report.Err()
				for _, r := range report.Results {
					for _, v := range r.Violations {
						p.found = append(p.found, foundHolds{v.At, [2]int{part.Hold(v.Ops[0]), part.Hold(v.Ops[len(v.Ops)-1])}})
					}
				}
			}) {
				return
			}
		}
	}
	crew.Each(crew.Of(atOnce), tasks, func(judge func()) { judge() })
	for _, p := range parts {
		if p.err != nil {
			return nil, totals, p.err
		}
		totals.Merge(p.totals)
		all = append(all, p.found...)
	}
	return all, totals, nil
}

func harnessError(err error) error {
	if err == nil {
		return nil
	}
	return &HarnessError{err}
}

// concludeLogs limits the verdicts to what a log can prove: mutual exclusion is not holds if overlaps are possible,
// and nothing is if most holds prove nothing.
func concludeLogs(l *logs.Log, r *Result) {
	doubts := l.Doubts()
	slices.SortStableFunc(doubts, func(a, b logs.Doubt) int { return cmp.Compare(b.Count, a.Count) })
	help := ""
	if len(doubts) > 0 {
		help = "; " + doubts[0].String()
	}
	possible := fmt.Sprintf("%d holds began while another still held the lock if all times are right, which is not certain", r.PossibleCount)
	if r.PossibleCount == 1 {
		possible = "1 hold began while another still held the lock if all times are right, which is not certain"
	}
	exclusion, sections := r.ResultOf(checker.MutualExclusion), r.ResultOf(checker.BeliefExclusion)
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		overlaps := r.PossibleCount > 0 && v == exclusion
		switch {
		case v.Verdict == checker.Violated && overlaps:
			v.Why += "; beside these, " + possible
		case v.Verdict == checker.Violated, v.Verdict == checker.Unknown:
		case overlaps:
			v.Verdict, v.Short, v.Why, v.Finding, v.Faults = checker.Unknown, nil, possible+help, "", ""
		case v.Verdict == checker.Invalid:
			v.Why += help
		case 2*l.Judged < l.Holds:
			v.Evidence = append(v.Evidence, checker.Evidence{What: "holds that are certain", Got: l.Judged, Need: (l.Holds + 1) / 2})
			v.Finding, v.Faults = "", ""
			v.Verdict, v.Why = checker.Invalid, fmt.Sprintf("only %d of %d holds are certain%s", l.Judged, l.Holds, help)
		}
		if n := l.Outlasted; n > 0 && v == sections {
			says := fmt.Sprintf("; %d holds outlasted their leases", n)
			if n == 1 {
				says = "; 1 hold outlasted its lease"
			}
			v.Why += says
			if v.Finding != "" {
				v.Finding += says
			}
		}
	}
}

// onlyCertain limits the verdict on a history that was made from logs. Such a history lacks the uncertain
// holds, and for long logs most of the certain ones, so it can only prove violations.
func onlyCertain(v *checker.Result) {
	if v.Verdict != checker.Violated {
		v.Finding, v.Faults = "", ""
		v.Verdict, v.Why = checker.Unknown, "the history has only leases that are certain, of logs or of watched traffic: it can show a violation, and not that there is none"
	}
}
