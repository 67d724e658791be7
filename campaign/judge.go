package campaign

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"lockpick/checker"
	"lockpick/history"
)

// Judge checks a history by some properties or by all, and summarizes the result. It needs only
// the history, so it also judges the history of a harness that was killed. The error is a
// *HarnessError if the checker contradicts itself.
func Judge(h *history.History, by ...checker.Property) (*Result, error) {
	return judgePacked(history.Pack(h), Count(h), by...)
}

func judgePacked(p *history.Packed, counts Counts, by ...checker.Property) (*Result, error) {
	h := &p.History // no question below needs votes
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
	r.Verdicts, r.Untested = report.Results, untested(h, report.Results)
	if head.Driver == history.Imported {
		onlyCertain(&r.Verdicts[0])
	}
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
	r.Notes = append(r.Notes, ofClients(h)...)
	r.Notes = append(r.Notes, deaths(h.Ops)...)
	r.Notes = append(r.Notes, failures(h.Ops)...)
	r.Notes = append(r.Notes, foreignDeaths(h.Ops)...)
	r.FirstViolationMS = firstViolation(r.Verdicts)
	return r, nil
}

// cutShort says why the history is not that of a whole run, or "" if it is.
func cutShort(h *history.History) string {
	last := ""
	for i := range h.Ops {
		switch op := &h.Ops[i]; op.F {
		case history.FInterrupted:
			return fmt.Sprintf("interrupted: %s (at %.1fs): what was under way then is no evidence, and only a violation before it counts", op.Error, op.Time.Seconds())
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

// checkHeader refuses a header that no run can have, because judging by it could take unlimited
// memory.
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

// untested says for each property without a result why there is none.
func untested(h *history.History, results []checker.Result) map[string]string {
	why := map[string]string{}
	for _, p := range checker.Properties {
		if !slices.ContainsFunc(results, func(r checker.Result) bool { return r.Name == p.Name }) {
			why[p.Name] = WhyNotTested(p, h)
		}
	}
	return why
}

// HarnessError is a fault of Lockpick itself or of its environment. It is never a verdict.
type HarnessError struct{ Err error }

func (e *HarnessError) Error() string { return e.Err.Error() }
func (e *HarnessError) Unwrap() error { return e.Err }

// CheckFile judges a history in a file, or in a run's folder, with as little memory as
// possible. While it runs, the garbage collector of the whole process runs more often.
func CheckFile(path string) (*history.Packed, *Result, error) {
	defer CollectMore(tightHeap)()
	h, err := history.ReadPackedFile(path)
	if err != nil {
		return nil, nil, err
	}
	r, err := judgePacked(h, countPacked(h))
	if err != nil {
		return h, nil, err
	}
	r.setPaths(path)
	return h, r, nil
}

// JudgeFile does the same as CheckFile for callers that need the whole history in memory, such
// as reports.
func JudgeFile(path string) (*history.History, *Result, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > longBytes {
		defer CollectMore(reportHeap)()
	}
	h, err := history.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	r, err := Judge(h)
	if err != nil {
		return h, nil, err
	}
	r.setPaths(path)
	return h, r, nil
}

// setPaths says where the history is, and what belongs to it.
func (r *Result) setPaths(path string) {
	dir := filepath.Dir(path)
	r.Run, r.History, r.Report = filepath.Base(dir), path, filepath.Join(dir, ReportFile)
	if scenario := filepath.Join(dir, ScenarioFile); fileExists(scenario) { // a history without a run has none
		r.Command = "lockpick run " + scenario
	}
}

// ofClients adds what a reader must know about clients that run a command of the user.
func ofClients(h *history.History) []string {
	var notes []string
	switch h.Header.Until {
	case history.UntilTTL:
		notes = append(notes, "where the clients do not say until when a lease is valid, it counts as valid for the TTL from when the command that was granted was sent")
	case history.UntilReleased:
		notes = append(notes, "the lock promises no time: its leases count as valid until they are released")
	}
	for i := range h.Ops {
		if op := &h.Ops[i]; op.F == history.FUnguided {
			notes = append(notes, op.Error)
			break
		}
	}
	return notes
}

// deaths reports clients whose processes ended by themselves.
func deaths(ops []history.Op) []string {
	times, last := map[string]int{}, map[string]string{}
	for i := range ops {
		if op := &ops[i]; op.F == history.FCrash && op.Error != "" {
			times[op.Process], last[op.Process] = times[op.Process]+1, op.Error
		}
	}
	var notes []string
	for _, client := range slices.Sorted(maps.Keys(times)) {
		notes = append(notes, fmt.Sprintf("client %s ended %d times without a fault of the nemesis, the last time since %s", client, times[client], last[client]))
	}
	return notes
}

// failures reports calls of the lock that did not return or panicked, each kind once.
func failures(ops []history.Op) []string {
	type kind struct{ f, command, error string }
	times, first := map[kind]int{}, map[kind]*history.Op{}
	var order []kind
	for i := range ops {
		op := &ops[i]
		if op.Value == nil || op.F != history.FHung && op.F != history.FPanicked {
			continue
		}
		k := kind{op.F, op.Value.Command, op.Error}
		if times[k]++; times[k] == 1 {
			first[k], order = op, append(order, k)
		}
	}
	var notes []string
	for _, k := range order {
		op := first[k]
		what := fmt.Sprintf("panicked in %s: %s", k.command, k.error)
		if k.f == history.FHung {
			what = fmt.Sprintf("did not return from %s within %v", k.command, op.Value.Took.Round(time.Millisecond))
		}
		notes = append(notes, fmt.Sprintf("the lock of client %s %s (first at %.1fs, %d times in all)", op.Process, what, op.Time.Seconds(), times[k]))
	}
	return notes
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// stalls summarizes the times at which the harness did not run in time.
func stalls(ops []history.Op) (n int, total time.Duration) {
	for i := range ops {
		if ops[i].F == history.FStall && ops[i].Value != nil {
			n, total = n+1, total+ops[i].Value.Took
		}
	}
	return n, total
}

// firstViolation returns when the first of all violations began, in ms.
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

// Count counts the operations of a history.
func Count(h *history.History) Counts {
	var c Counts
	for i := range h.Ops {
		c.Observe(&h.Ops[i])
	}
	c.Strike(history.Faults(h.Ops))
	return c
}

func countPacked(h *history.Packed) Counts {
	var c Counts
	for i := range h.Ops {
		if op := &h.Ops[i]; op.F != history.FVote { // its last line may be a vote, which is among the packed ones, too
			c.Observe(op)
		}
	}
	c.Strike(history.Faults(h.Ops))
	c.Operations = h.Lines()
	for n := range h.Len() {
		c.vote(h.Kind(int32(n)).Unknown)
	}
	return c
}

// vote counts a vote.
func (c *Counts) vote(unanswered bool) {
	if unanswered {
		c.NoReply++
	} else {
		c.Votes++
	}
}

// Observe counts one operation: all but faults, of which each has several.
func (c *Counts) Observe(op *history.Op) {
	c.Operations++
	switch {
	case op.F == history.FVote:
		c.vote(op.Type == history.Info)
	case op.F == history.FAcquire && op.Type == history.Invoke:
		c.Acquires++
	case op.F == history.FAcquire && op.Type == history.OK:
		c.Granted++
	case op.F == history.FAcquire:
		c.Refused++
	case op.F == history.FExtend && op.Type == history.OK:
		c.Extended++
	case op.F == history.FApply && op.Type == history.OK && op.Value != nil && !op.Value.Fenced:
		c.Writes++
	case op.F == history.FPaused && op.Type == history.Invoke:
		c.Pauses++
	}
}

// Strike counts faults.
func (c *Counts) Strike(all []*history.Fault) {
	for _, f := range all {
		switch {
		case !f.Installed:
			c.Skipped++
		case f.Bit:
			c.Faults, c.Bit = c.Faults+1, c.Bit+1
		default:
			c.Faults++
		}
	}
}
