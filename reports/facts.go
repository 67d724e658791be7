package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/history"
	"lockpick/history/fault"
	"lockpick/reports/term"
)

// fact is a name and a value, such as a part of the configuration that readers need to judge a run.
type fact struct{ Name, Value string }

// texts returns each fact with its name.
func texts(facts []fact) (said []string) {
	for _, f := range facts {
		said = append(said, f.Name+" "+f.Value)
	}
	return said
}

// factsOf describes the run: its lock, masters, faults and seed; of imported logs only clients,
// keys and times.
func factsOf(h *history.History, r *judge.Result) []fact {
	if h.Header.Driver == history.Imported {
		return []fact{
			{"first event", r.Started.Format("2006-01-02 15:04:05.000 UTC")},
			{"clients", term.Count(r.Clients)},
			{"keys", term.Count(r.Keys)},
			{"typical TTL", term.Span(r.TTL)},
			{"duration", term.Span(r.Duration)},
		}
	}
	masters := term.Count(r.Masters)
	switch q := h.Header.Quorum; {
	case q == 1 && r.Masters > 1: // a majority of more than one is more than one
		masters += " (the lock uses the first)"
	case q > 0:
		masters += fmt.Sprintf(" (quorum %d)", q)
	}
	faults := "none"
	if len(r.Faults) > 0 {
		faults = strings.Join(r.Faults, ", ")
	}
	facts := []fact{
		{"lock", r.Lock},
		{"client", clientOf(r)},
		{"service", serviceOf(h)},
		{"masters", masters},
		{"driver", r.Driver},
		{"server", serverOf(r)},
		{"persistence", r.Persistence},
		{"clients", term.Count(r.Clients)},
		{"keys", term.Count(r.Keys)},
		{"TTL", term.Span(r.TTL)},
		{"faults", faults},
		{"nemesis", r.Nemesis},
		{"seed", fmt.Sprint(r.Seed)},
		{"duration", term.Span(r.Duration)},
	}
	if h.Header.Reported { // the programs chose keys and faults: the header has none
		facts = slices.DeleteFunc(facts, func(f fact) bool { return f.Name == "keys" || f.Name == "faults" || f.Name == "nemesis" })
	}
	if r.Since != nil {
		facts = append(facts, fact{"since the last run", r.Since.String()})
	}
	return slices.DeleteFunc(facts, func(f fact) bool { return f.Value == "" })
}

// serverOf returns the name and version of the servers of a run; empty: its masters were simulated.
func serverOf(r *judge.Result) string {
	name, version := judge.ServerOf(r.Versions)
	switch said := strings.TrimSpace(name + " " + version); r.Driver {
	case scenario.Process, scenario.Docker:
		return said
	case fault.Existing:
		return said + ", servers of your own"
	}
	return ""
}

// serviceOf returns the store whose servers the masters are, with its version; empty: it is Redis.
func serviceOf(h *history.History) string {
	return strings.TrimSpace(h.Header.Service + " " + h.Header.Versions[h.Header.Service])
}

// clientOf returns the command that ran as each client, and the library that it reports to test.
func clientOf(r *judge.Result) string {
	command := strings.Join(r.Client, " ")
	if library := r.Versions["library"]; library != "" && command != "" {
		command += " (" + library + ")"
	}
	return command
}

// logCountsOf returns the counts that an imported log has.
func logCountsOf(c judge.Counts) []fact {
	return []fact{
		{"lines", term.Count(c.Operations)},
		{"holds", term.Count(c.Granted)},
		{"extensions", term.Count(c.Extended)},
		{"acquires refused", term.Count(c.Refused)},
	}
}

// countsOf returns the counts of a run.
func countsOf(r *judge.Result) []fact {
	if r.Driver == history.Imported {
		return logCountsOf(r.Counts)
	}
	all := countsIn(r.Counts)
	if w := r.Waiting; w.Longest > 0 {
		all = append(all, fact{"longest wait for the lock", term.Span(w.Longest.Round(time.Millisecond))}, fact{"most often that a waiter was overtaken", term.Count(w.Overtaken)},
			fact{"most grants to others while a client asked and got none", term.Count(w.Starved)}, fact{"leases granted to each client", shares(w.Clients)})
		if w.CommandsPerSecond > 0 { // else nobody saw the commands
			all = append(all, fact{"commands in a second of waiting", fmt.Sprintf("%.1f", w.CommandsPerSecond)}, fact{"longest sleep of a waiter while nobody held the lock", term.Span(w.Asleep.Round(time.Millisecond))})
		}
		if w.ToldLate > 0 {
			all = append(all, fact{"latest that a holder was told of its loss", term.Span(w.ToldLate.Round(time.Millisecond))})
		}
	}
	return all
}

// shares says how many leases each client was granted, from the most to the least: "59, 58, 57, 53 and 2 (c5)".
func shares(clients []judge.ClientWaiting) string {
	all := slices.Clone(clients)
	slices.SortStableFunc(all, func(a, b judge.ClientWaiting) int { return cmp.Compare(b.Granted, a.Granted) })
	var said []string
	for i, c := range all {
		said = append(said, term.Count(c.Granted))
		if i > 0 && i == len(all)-1 {
			said[i] += " (" + c.Client + ")"
		}
	}
	return fault.Enumerate(said)
}

func countsIn(c judge.Counts) []fact {
	return []fact{
		{"lines of the history", term.Count(c.Operations)},
		{"acquires tried", term.Count(c.Acquires)},
		{"leases granted", term.Count(c.Granted)},
		{"acquires refused", term.Count(c.Refused)},
		{"extensions granted", term.Count(c.Extended)},
		{"writes applied", term.Count(c.Writes)},
		{"replies of masters", term.Count(c.Votes)},
		{"commands without a reply", term.Count(c.NoReply)},
		{"faults installed", term.Count(c.Faults)},
		{"faults that took effect", term.Count(c.TookEffect)},
		{"faults skipped", term.Count(c.Skipped)},
		{"client pauses", term.Count(c.Pauses)},
	}
}

// paramsOf lists a fault's parameters, sorted by name.
func paramsOf(f *history.Fault) string {
	var params []string
	for k, v := range f.Params {
		params = append(params, k+"="+v)
	}
	slices.Sort(params)
	return strings.Join(params, " ")
}

// fate says in words whether a fault was installed, healed and effective.
func fate(f *history.Fault) string {
	switch {
	case !f.Installed && f.Skipped != "":
		return "skipped"
	case !f.Installed:
		return "not installed"
	case f.Problem != "":
		return "not healed"
	case f.TookEffect:
		return "took effect"
	default:
		return "no effect seen"
	}
}

// proof returns why a fault was skipped or did not heal, or else the evidence of its effect.
func proof(f *history.Fault) string {
	for _, s := range []string{f.Skipped, f.Problem, f.Evidence} {
		if s != "" {
			return s
		}
	}
	return ""
}
