package watch

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"lockpick/internal/plural"
)

// Diagnostic is a rule that the traffic broke.
type Diagnostic struct {
	Rule
	Count    int      `json:"count"`
	Keys     []string `json:"keys"`     // the first maxNamed keys
	AllKeys  int      `json:"all_keys"` // number of all keys on which it was broken
	Evidence []string `json:"evidence"` // the commands of the first time on the first key, without values
}

// Result is the result of a watch.
type Result struct {
	Elapsed     time.Duration  `json:"elapsed"`
	Targets     int            `json:"targets"`
	Connections int64          `json:"connections,omitempty"` // to the proxy
	Commands    int64          `json:"commands"`
	Locks       int            `json:"locks"`      // number of keys that are used as locks
	Candidates  int            `json:"candidates"` // number of keys created only if they did not exist, but neither extended nor released
	Leases      int            `json:"leases"`
	Refused     int            `json:"refused"`
	Errors      map[string]int `json:"errors,omitempty"` // by code: commands on locks and candidates that were answered with an error
	Findings    []Diagnostic   `json:"findings"`
	Figures     Figures        `json:"figures"`
	Missed      Missed         `json:"missed"`
	Notes       []string       `json:"notes"`
}

// maxNamed is the maximum number of keys that a finding names.
const maxNamed = 5

// Result returns the result as of now. missed counts the bytes and connections that the tap missed.
func (l *Lint) Result(now time.Time, missed Missed) Result {
	elapsed := now.Sub(l.start)
	r := Result{Elapsed: elapsed, Targets: l.opt.Masters, Commands: l.commands, Missed: missed, Findings: []Diagnostic{}, Notes: []string{}}
	byRule := map[string]*Diagnostic{}
	byCell := map[*cell][]*attempt{}
	for _, a := range l.attempts {
		byCell[a.cell] = append(byCell[a.cell], a)
	}
	for _, key := range slices.Sorted(maps.Keys(l.cells)) {
		c := l.cells[key]
		for code, n := range c.failed {
			if r.Errors == nil {
				r.Errors = map[string]int{}
			}
			r.Errors[code] += n
		}
		if !l.isLock(c) {
			if c.tries > 0 {
				r.Candidates++
			}
			continue
		}
		r.Locks++
		r.Refused += c.refused
		for _, a := range byCell[c] {
			if len(a.yes) >= l.quorum(c) {
				r.Leases++
			}
		}
		seen := maps.Clone(c.found)
		l.conclude(c, byCell[c], elapsed, missed.Gaps > 0, seen)
		for id, f := range seen {
			x := byRule[id]
			if x == nil {
				rule, ok := RuleByID(id)
				if !ok {
					panic("no rule " + id)
				}
				x = &Diagnostic{Rule: rule, Evidence: f.evidence}
				byRule[id] = x
			}
			x.Count += f.count
			x.AllKeys++
			if len(x.Keys) < maxNamed {
				x.Keys = append(x.Keys, c.key)
			}
		}
	}
	for _, rule := range Rules {
		if f := byRule[rule.ID]; f != nil {
			r.Findings = append(r.Findings, *f)
		}
	}
	r.Figures = l.figures(elapsed)
	r.Notes = append(r.Notes, errorNotes(r.Errors)...)
	if l.unknownScripts > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d calls of scripts whose text was never seen were left out: restart the clients, or SCRIPT FLUSH", l.unknownScripts))
	}
	if l.forgotten > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d uses of keys were beyond what is kept: narrow them with --only-keys", l.forgotten))
	}
	return r
}

// What counts as many: commands that were answered with an error, attempts that were refused, and how many of these there
// are for each that was not.
const (
	manyErrors   = 10
	manyRefusals = 200
	refusedEach  = 20
)

// meaning says what the codes of errors mean that concern where a lock's commands are sent.
var meaning = map[string]string{
	"MOVED":       "the server is a node of a Redis Cluster, and another one has the key: the client has to follow",
	"ASK":         "the server is a node of a Redis Cluster that is handing the key over: the client has to follow",
	"CLUSTERDOWN": "a Redis Cluster does not have all its slots",
	"READONLY":    "the server is a replica, which does not decide who holds the lock: a client still has the address of a former master",
}

// errorNotes words the errors that servers answered.
func errorNotes(errors map[string]int) (notes []string) {
	for _, code := range slices.Sorted(maps.Keys(errors)) {
		note := fmt.Sprintf("%s was answered %s to commands on keys that may be locks", code, plural.Times(errors[code]))
		if what := meaning[code]; what != "" {
			note += ": " + what
		}
		notes = append(notes, note+".")
	}
	return notes
}

// conclude adds to seen the broken rules that only the end of the watch shows. gaps says that
// commands are missing.
func (l *Lint) conclude(c *cell, attempts []*attempt, now time.Duration, gaps bool, seen map[string]*found) {
	add := func(rule string, lines ...string) {
		if f := seen[rule]; f != nil {
			seen[rule] = &found{count: f.count + 1, evidence: f.evidence}
			return
		}
		seen[rule] = &found{count: 1, evidence: lines}
	}
	const settled = time.Second
	for _, g := range c.on {
		if g.noTTL && !gaps && now-g.step.at > settled {
			add("no-ttl", g.step.line())
		}
	}
	for _, u := range c.noscript {
		if !gaps && u.ignored && now-u.step.at > settled {
			add("noscript-ignored", u.step.line())
		}
	}
	errors := 0
	for _, n := range c.failed {
		errors += n
	}
	if errors >= manyErrors && errors*10 >= c.commands {
		add("commands-fail", c.failure, fmt.Sprintf("%d of %d commands on %s were answered with an error", errors, c.commands, c.key))
	}
	if grants := c.tries - c.refused; c.refused >= manyRefusals && c.refused >= refusedEach*grants {
		add("mostly-refused", fmt.Sprintf("%d of %d attempts on %s were refused, %d for each other one", c.refused, c.tries, c.key, c.refused/max(1, grants)))
	}
	for _, w := range c.waiters {
		switch paceOf(w.pauses) {
		case busy:
			add("busy-polling", pauses(c, w))
		case fixed:
			add("fixed-retry-delay", pauses(c, w))
		}
	}
	l.concludeMasters(c, attempts, gaps, add)
}

// concludeMasters adds the broken rules about the set of masters that a lock uses.
func (l *Lint) concludeMasters(c *cell, attempts []*attempt, gaps bool, add func(string, ...string)) {
	for m := range c.masters {
		role := l.roles[m]
		switch {
		case role.Replica:
			add("lock-on-replica", fmt.Sprintf("m%d says that it is a replica, and got the commands of %s", m+1, c.key))
		case role.Replicas > 0 && len(c.masters) == 1 && c.waits == 0:
			add("lost-by-failover", fmt.Sprintf("m%d says that it has replicas: %d; %d commands acquired %s, and no WAIT followed", m+1, role.Replicas, c.tries, c.key))
		}
	}
	if len(c.masters) < 2 {
		return
	}
	most, slowest := 0, time.Duration(0)
	for _, a := range attempts {
		most, slowest = max(most, len(a.asked)), max(slowest, a.last-a.sent)
	}
	if n := l.opt.Masters; n%2 == 0 && most == n {
		add("even-masters", fmt.Sprintf("%d masters were asked for %s", n, c.key))
	}
	if gaps {
		return
	}
	quorum := l.quorum(c)
	for _, a := range attempts {
		worked := a.release > 0 && a.release-a.last > 20*time.Millisecond+2*slowest || len(a.extended) > 0
		if len(a.yes)+a.unknown < quorum && worked {
			add("less-than-quorum", fmt.Sprintf("%s connection %d: %d of %d masters were asked for %s, %d granted it, and it was held until %s",
				at(a.sent), a.conn, len(a.asked), l.opt.Masters, c.key, len(a.yes), at(a.release)))
		}
	}
}

// pace describes how a waiter retries.
type pace uint8

const (
	random pace = iota
	fixed
	busy
)

// paceOf judges the pauses between a waiter's attempts.
func paceOf(pauses []time.Duration) pace {
	v := slices.Sorted(slices.Values(pauses))
	n := len(v)
	if n >= 20 && v[n/2] < 5*time.Millisecond {
		return busy
	}
	// With a fixed delay, the middle half of the pauses differs by less than a twelfth (and 2 ms);
	// random delays differ by more.
	if n >= 8 && v[n/2] >= 5*time.Millisecond && v[n*3/4]-v[n/4] < v[n/2]/12+2*time.Millisecond {
		return fixed
	}
	return random
}

func pauses(c *cell, w *waiter) string {
	v := slices.Sorted(slices.Values(w.pauses))
	n := len(v)
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/1e6) }
	return fmt.Sprintf("%d tries for %s by one connection: %s from a refusal to the next try (median; half of them within %s to %s)", n+1, c.key, ms(v[n/2]), ms(v[n/4]), ms(v[n*3/4]))
}
