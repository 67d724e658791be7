package reports

import (
	"fmt"
	"strings"
	"time"

	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/reports/term"
)

// naiveResult gives a history the verdicts that it deserves at L2, L3 and L4, by the
// most naive means, and enough of a reason to look at.
func naiveResult(h *history.History) *judge.Result {
	head := h.Header
	r := &judge.Result{
		Run: "20250314T092653-" + head.Name, Name: head.Name, Started: head.Started, Driver: head.Driver, Seed: head.Seed, Lock: head.Lock,
		Masters: head.Masters, Persistence: head.Persistence, Clients: head.Clients, Keys: head.Keys, TTL: head.TTL, Faults: head.Faults,
		Nemesis: head.Nemesis, Versions: head.Versions, Command: fmt.Sprintf("lockpick run scenario.yaml --driver process --seed %d", head.Seed),
		Report: "store/20250314T092653/report.html", History: "store/20250314T092653/history.jsonl",
	}
	if n := len(h.Ops); n > 0 {
		r.Duration = h.Ops[n-1].Time
	}
	leases, faults := history.Leases(h.Ops), history.Faults(h.Ops)
	r.Counts = judge.Count(h)
	l2 := overlaps(leases, faults, "L2", "hold", func(l *history.Lease) (time.Duration, time.Duration) {
		return l.Holds()[0].From, l.Holds()[len(l.Holds())-1].To
	})
	l3 := overlaps(leases, faults, "L3", "critical section", func(l *history.Lease) (time.Duration, time.Duration) {
		return l.Entered, l.Left
	})
	if len(h.Ops) < 20_000 { // of large runs only the lists matter
		narrate(h, l2)
		narrate(h, l3)
	}
	verdict := func(p checker.Property, found []narrative.Violation, holds string) {
		res := checker.Result{Property: p, Verdict: checker.Holds, Checked: len(leases), Count: len(found), Why: holds}
		if len(found) > 0 {
			res.Verdict, res.Key, res.Violations = checker.Violated, found[0].Key, found[:min(len(found), checker.MaxViolations)]
			res.Why = found[0].Summary
		} else {
			what := "contended acquisitions"
			res.Finding, res.Faults = holds, "10 faults took effect (kill, pause)"
			res.Evidence = []checker.Evidence{{What: what, Got: len(leases), Need: 10}}
			if p != checker.DeadlockFree {
				res.Evidence = append(res.Evidence, checker.Evidence{What: what + " while a fault was in force", Got: len(leases) / 2, Need: 3, UnderFaults: true})
			}
			res.Why = fmt.Sprintf("%s; %d %s; %s", holds, len(leases), what, res.Faults)
		}
		r.Verdicts = append(r.Verdicts, res)
	}
	tried := fmt.Sprintf("nothing was found in %s leases on %d keys; at most 3 in %s schedules of this kind can break it (95 %%)", term.Count(len(leases)), head.Keys, term.Count(1))
	verdict(checker.MutualExclusion, l2, tried)
	verdict(checker.BeliefExclusion, l3, tried)
	if head.Fencing {
		verdict(checker.NoStaleWrite, staleWrites(h), tried)
		verdict(checker.FencedWrites, nil, "nothing was found in as many writes to the resource that checks fencing tokens")
	}
	verdict(checker.DeadlockFree, nil, "every key was acquired again within 1.2 s")
	for _, v := range l2 {
		ms := v.At.Seconds() * 1e3
		if r.FirstViolationMS == nil || ms < *r.FirstViolationMS {
			r.FirstViolationMS = &ms
		}
	}
	return r
}

func overlaps(leases []*history.Lease, faults []*history.Fault, level, what string, of func(*history.Lease) (from, to time.Duration)) []narrative.Violation {
	var found []narrative.Violation
	latest := map[string]*history.Lease{}
	for _, b := range leases {
		from, to := of(b)
		if from == to {
			continue
		}
		a := latest[b.Key]
		if a != nil {
			if _, end := of(a); end > from {
				v := narrative.Violation{
					Level: level, Key: b.Key, At: from, Until: min(end, to), Ops: []int{a.Grants[0].Index, b.Grants[0].Index},
					Tokens: []string{a.Token, b.Token}, Clients: []string{a.Process, b.Process},
					Summary: fmt.Sprintf("%s and %s both had a %s of %s from %s for %s", a.Process, b.Process, what, b.Key, term.Moment(from), term.Span(min(end, to)-from)),
				}
				v.Reason = append(v.Reason, fmt.Sprintf("%s: %s acquires %s; its lease is valid until %s", term.Moment(a.Acquired()), a.Process, a.Key, term.Moment(a.Until())))
				for _, f := range faults {
					if f.Installed && f.From >= a.Invoked-time.Second && f.From < from && f.Name != "partition" {
						v.Faults = append(v.Faults, f.ID)
						v.Reason = append(v.Reason, fmt.Sprintf("%s: %s of %s (fault %d): %s", term.Moment(f.From), f.Name, strings.Join(append(f.Masters, f.Clients...), ", "), f.ID, f.Evidence))
					}
				}
				v.Reason = append(v.Reason,
					fmt.Sprintf("%s: %s acquires %s by the votes of 3 masters that no longer hold the token of %s", term.Moment(b.Acquired()), b.Process, b.Key, a.Process),
					fmt.Sprintf("%s: until then %s could rely on its lease", term.Moment(end), a.Process))
				found = append(found, v)
			}
		}
		if a == nil {
			latest[b.Key] = b
		} else if _, end := of(a); end < to {
			latest[b.Key] = b
		}
	}
	return found
}

// narrate gives violations the events that the checker finds for them.
func narrate(h *history.History, found []narrative.Violation) {
	judged := checker.Check(h, checker.MutualExclusion, checker.BeliefExclusion)
	for i := range found {
		v := &found[i]
		for _, r := range judged.Results {
			for _, x := range r.Violations {
				if r.Level == v.Level && x.At == v.At && x.Key == v.Key {
					v.Events, v.Faults, v.Reason = x.Events, x.Faults, x.Reason
				}
			}
		}
	}
}

func staleWrites(h *history.History) []narrative.Violation {
	var found []narrative.Violation
	t := timelineOf(h)
	for _, w := range t.writes {
		if w.effect == stale && !w.twin {
			a := t.attempts[w.attempt]
			found = append(found, narrative.Violation{
				Level: "L4", Key: t.keys[w.key], At: w.at, Until: w.at, Ops: []int{w.index}, Tokens: []string{a.token}, Clients: []string{t.clients[w.client]},
				Summary: fmt.Sprintf("the resource applied a write of %s after one of a later lease", t.clients[w.client]),
				Reason:  []string{fmt.Sprintf("%s: the write is applied; the lease was valid until %s", term.Moment(w.at), term.Moment(a.lease.Until()))},
			})
		}
	}
	return found
}
