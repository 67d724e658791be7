package judge

import (
	"fmt"
	"time"

	"lockpick/checker"
	"lockpick/history"
)

// History checks a history by some properties or by all, and summarizes the result. It needs only the
// history, so it also judges the history of a harness that was killed. The error is a *HarnessError if the
// checker contradicts itself.
func History(h *history.History, by ...checker.Property) (*Result, error) {
	return judgePacked(history.Pack(h), Count(h), by...)
}

func judgePacked(p *history.Packed, counts Counts, by ...checker.Property) (*Result, error) {
	h := &p.History // what takes it needs only the lines of masters, faults and the harness
	head := h.Header
	if err := checkHeader(&head); err != nil {
		return nil, err
	}
	r := &Result{
		Name: head.Name, Started: head.Started, Driver: head.Driver, Seed: head.Seed, Lock: head.Lock,
		Masters: head.Masters, Persistence: head.Persistence, Clients: head.Clients, Keys: head.Keys, TTL: head.TTL,
		Client: head.Client, Faults: head.Faults, Nemesis: head.Nemesis, Versions: head.Versions, Counts: counts,
	}
	if n := len(h.Ops); n > 0 {
		r.Duration = h.Ops[n-1].Time
	}
	if h.Torn {
		r.Notes = append(r.Notes, "the history's last line is torn: the harness was killed while it wrote; what came before is judged")
	}
	for _, p := range h.Problems {
		r.Notes = append(r.Notes, "the history has a problem in "+p.String())
	}
	if r.CutShort = cutShort(h); r.CutShort != "" {
		r.Notes = append(r.Notes, r.CutShort)
	}
	if head.Driver == history.Imported {
		by = []checker.Property{checker.MutualExclusion}
	}
	report := checker.CheckPacked(p, by...)
	if err := report.Err(); err != nil {
		return nil, &HarnessError{err}
	}
	r.Verdicts, r.Untested, r.Unseen, r.TooFew = report.Results, untested(p, report), report.Unseen, report.TooFew
	if head.Driver == history.Imported {
		onlyCertain(&r.Verdicts[0])
	}
	r.Causes = causesOf(h, r.Verdicts)
	r.SetProperties(head.Properties)
	if report.DeadOnArrival > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d leases were over before their acquire returned", report.DeadOnArrival))
	}
	if n, total := stalls(h.Ops); total > r.Duration/100 {
		r.Notes = append(r.Notes, fmt.Sprintf("the harness's machine stalled %d times, for %v in all: commands may have timed out for that reason alone", n, total.Round(time.Millisecond)))
	}
	for _, f := range history.Faults(h.Ops) {
		if f.Problem != "" {
			r.Notes = append(r.Notes, fmt.Sprintf("fault %d (%s) could not be healed: %s", f.ID, f.Name, f.Problem))
		}
	}
	switch {
	case report.Unseen != "" && head.Service == "":
		r.Notes = append(r.Notes, "what rests on the masters' votes is not tested: "+report.Unseen)
	case report.TooFew != "":
		r.Notes = append(r.Notes, "how many masters a lease needs is not known: "+report.TooFew)
	}
	r.Notes = append(r.Notes, silences(h.Ops)...)
	r.Notes = append(r.Notes, ofClients(h)...)
	r.Notes = append(r.Notes, deaths(h.Ops)...)
	r.Notes = append(r.Notes, failures(h.Ops)...)
	r.Notes = append(r.Notes, foreignDeaths(h.Ops)...)
	r.Notes = append(r.Notes, foreignChanges(h.Ops)...)
	r.Notes = append(r.Notes, refusals(h.Ops)...)
	r.Notes = append(r.Notes, mostRefused(p)...)
	r.Hints, r.Waiting = hints(h.Ops), waitingOf(p)
	r.FirstViolationMS = firstViolation(r.Verdicts)
	return r, nil
}

// cutShort explains why the history is not that of a whole run. It returns "" if it is.
func cutShort(h *history.History) string {
	last := ""
	for i := range h.Ops {
		switch op := &h.Ops[i]; op.F {
		case history.FInterrupted:
			return fmt.Sprintf("interrupted: %s (at %.1fs): what was under way then is not evidence, and only a violation before it counts", op.Error, op.Time.Seconds())
		case history.FHealed, history.FEnd:
			last = op.F
		}
	}
	switch {
	case last == "":
		return "the run was cut short: faults had not healed, and no final acquisitions followed"
	case last == history.FHealed && h.Header.Format >= 2: // older histories have no end mark
		return "the run was cut short: the history has no end mark, so the harness was ended during the final acquisitions"
	}
	return ""
}

// checkHeader rejects a header that no run can have, because judging by it could take unlimited memory.
func checkHeader(h *history.Header) error {
	for _, n := range []struct {
		name  string
		n, to int
	}{{"masters", h.Masters, 1000}, {"quorum", h.Quorum, 1000}, {"clients", h.Clients, 1_000_000}, {"keys", h.Keys, 1_000_000}} {
		if n.n < 0 || n.n > n.to {
			return fmt.Errorf("the history's header says %s: %d, which is out of range: 0 to %d", n.name, n.n, n.to)
		}
	}
	return nil
}

// untested explains, for each property without a result, why there is none.
func untested(h *history.Packed, report checker.Report) map[string]string {
	why := map[string]string{}
	for _, p := range checker.Properties {
		if report.Result(p) == nil {
			why[p.Name] = report.WhyUntested(p, h)
		}
	}
	return why
}

// HarnessError is an error of Lockpick itself or of its environment. It is never a verdict.
type HarnessError struct{ Err error }

func (e *HarnessError) Error() string { return e.Err.Error() }
func (e *HarnessError) Unwrap() error { return e.Err }

// firstViolation returns when the earliest violation began, in ms, or nil if there is none.
func firstViolation(verdicts []checker.Result) *float64 {
	var first *float64
	for _, v := range verdicts {
		for _, x := range v.Violations {
			if ms := float64(x.At.Microseconds()) / 1000; first == nil || ms < *first {
				first = &ms
			}
		}
	}
	return first
}
