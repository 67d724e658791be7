package checker

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockpick/history"
)

// A run proves that a safety property holds only if it put the lock to the test.
const (
	// MinLeases is how many leases a run must have granted: fewer leave hardly
	// any chance for two to meet.
	MinLeases = 10
	// MinLeasesUnderFaults is how many of them must have been granted from the
	// first fault on. A lock that grants nothing once a fault strikes is safe for
	// no merit of its own.
	MinLeasesUnderFaults = 1
)

// NoFaults is how a header names a campaign without faults.
const NoFaults = "none"

// requireEvidence turns a result that found nothing into Invalid if the run
// proves nothing. A violation stays one, however little was tried.
func (r *run) requireEvidence(res *Result) {
	if res.Verdict != Holds {
		return
	}
	if missing := r.missing(); missing != "" {
		res.Verdict, res.Why = Invalid, missing
	}
}

// missing says what the run lacks to prove a safety property, or "".
func (r *run) missing() string {
	if n := len(r.leases); n < MinLeases {
		if n == 0 {
			return fmt.Sprintf("no lease was granted, and a run needs %d", MinLeases)
		}
		return fmt.Sprintf("only %s granted, fewer than the %d that a run needs", count(n, "lease was", "leases were"), MinLeases)
	}
	asked := r.asksFor()
	if len(asked) == 0 {
		return ""
	}
	for _, name := range asked {
		if why := r.toothless(name); why != "" {
			return why
		}
	}
	first, struck := r.firstStrike()
	if !struck {
		return ""
	}
	n := 0
	for _, l := range r.leases {
		if l.Acquired() >= first {
			n++
		}
	}
	if n < MinLeasesUnderFaults {
		return fmt.Sprintf("of %s none was granted during the faults, from %s on, or after them", count(len(r.leases), "lease", "leases"), at(first))
	}
	return ""
}

// asksFor is the kinds of faults that the campaign was to inject.
func (r *run) asksFor() []string {
	var names []string
	for _, name := range r.h.Header.Faults {
		if name != NoFaults && name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// toothless says why no fault of a kind is known to have bitten, or "" if one is.
func (r *run) toothless(name string) string {
	var skipped, problem, evidence string
	installed, unhealed := 0, 0
	for _, f := range r.faults {
		switch {
		case f.Name != name:
		case r.bit(f):
			return ""
		case f.Installed && !f.Healed:
			installed++
			unhealed++
			problem = f.Problem
		case f.Installed:
			installed++
			evidence = f.Evidence
		case f.Skipped != "":
			skipped = f.Skipped
		}
	}
	switch {
	case installed > 0 && unhealed == installed && problem != "":
		return fmt.Sprintf("it is unknown whether %s bit: it could not be healed: %s", name, problem)
	case installed > 0 && unhealed == installed:
		return fmt.Sprintf("it is unknown whether %s bit: the run ended before it was healed", name)
	case installed > 0 && evidence != "":
		return fmt.Sprintf("%s was installed %s and never bit: %s", name, count(installed, "time", "times"), evidence)
	case installed > 0:
		return fmt.Sprintf("%s was installed %s and is not known to have bitten", name, count(installed, "time", "times"))
	case skipped != "":
		return fmt.Sprintf("%s was asked for but always skipped: %s", name, skipped)
	}
	return name + " was asked for but never installed"
}

// clientPause is the name of the fault that stops clients.
const clientPause = "client-pause"

// bit says whether a fault is known to have had an effect. A client's own record
// that it stood still within a client-pause proves that one.
func (r *run) bit(f *history.Fault) bool {
	if f.Bit || !f.Installed || f.Name != clientPause {
		return f.Bit
	}
	for client, all := range r.pauses {
		if len(f.Clients) > 0 && !slices.Contains(f.Clients, client) {
			continue
		}
		for _, p := range all {
			if p.ended && p.from < f.To && p.to > f.Began {
				return true
			}
		}
	}
	return false
}

// firstStrike is when the first fault was installed.
func (r *run) firstStrike() (time.Duration, bool) {
	for _, f := range r.faults {
		if f.Installed {
			return f.Began, true
		}
	}
	return 0, false
}

// tried says what the lock was exposed to, as the end of a sentence.
func (r *run) tried() string {
	if len(r.faults) == 0 {
		if len(r.asksFor()) == 0 {
			return "; no fault was asked for"
		}
		return "; no fault was installed"
	}
	bit := 0
	var kinds []string
	for _, f := range r.faults {
		if !r.bit(f) {
			continue
		}
		bit++
		if !slices.Contains(kinds, f.Name) {
			kinds = append(kinds, f.Name)
		}
	}
	if bit == 0 {
		return "; no fault is known to have bitten"
	}
	slices.Sort(kinds)
	return fmt.Sprintf("; %s bit (%s)", count(bit, "fault", "faults"), strings.Join(kinds, ", "))
}
