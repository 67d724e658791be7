package reports

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockpick/campaign/judge"
	"lockpick/history"
)

// fact is a name and a value, such as a part of the configuration that readers need to judge a run.
type fact struct{ Name, Value string }

// factsOf describes the run: its lock, masters, faults and seed; of imported logs only clients,
// keys and times.
func factsOf(h *history.History, r *judge.Result) []fact {
	if h.Header.Driver == history.Imported {
		return []fact{
			{"first event", r.Started.Format("2006-01-02 15:04:05.000 UTC")},
			{"clients", count(r.Clients)},
			{"keys", count(r.Keys)},
			{"typical TTL", span(r.TTL)},
			{"duration", span(r.Duration)},
		}
	}
	masters := count(r.Masters)
	if q := h.Header.Quorum; q > 0 {
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
		{"persistence", r.Persistence},
		{"clients", count(r.Clients)},
		{"keys", count(r.Keys)},
		{"TTL", span(r.TTL)},
		{"faults", faults},
		{"nemesis", r.Nemesis},
		{"seed", fmt.Sprint(r.Seed)},
		{"duration", span(r.Duration)},
	}
	if r.Since != nil {
		facts = append(facts, fact{"since the last run", r.Since.String()})
	}
	return slices.DeleteFunc(facts, func(f fact) bool { return f.Value == "" })
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
		{"lines", count(c.Operations)},
		{"holds", count(c.Granted)},
		{"extensions", count(c.Extended)},
		{"acquires refused", count(c.Refused)},
	}
}

// countsOf returns the counts of a run.
func countsOf(r *judge.Result) []fact {
	if r.Driver == history.Imported {
		return logCountsOf(r.Counts)
	}
	all := countsIn(r.Counts)
	if w := r.Waiting; w.Longest > 0 {
		all = append(all, fact{"longest wait for the lock", span(w.Longest.Round(time.Millisecond))}, fact{"most often that a waiter was overtaken", count(w.Overtaken)},
			fact{"commands in a second of waiting", fmt.Sprintf("%.1f", w.CommandsPerSecond)}, fact{"longest sleep of a waiter while nobody held the lock", span(w.Asleep.Round(time.Millisecond))})
		if w.ToldLate > 0 {
			all = append(all, fact{"latest that a holder was told of its loss", span(w.ToldLate.Round(time.Millisecond))})
		}
	}
	return all
}

func countsIn(c judge.Counts) []fact {
	return []fact{
		{"lines of the history", count(c.Operations)},
		{"acquires tried", count(c.Acquires)},
		{"leases granted", count(c.Granted)},
		{"acquires refused", count(c.Refused)},
		{"extensions granted", count(c.Extended)},
		{"writes applied", count(c.Writes)},
		{"replies of masters", count(c.Votes)},
		{"commands without a reply", count(c.NoReply)},
		{"faults installed", count(c.Faults)},
		{"faults that took effect", count(c.TookEffect)},
		{"faults skipped", count(c.Skipped)},
		{"client pauses", count(c.Pauses)},
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
