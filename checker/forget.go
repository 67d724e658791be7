package checker

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockpick/history"
)

// cause is why a master that had voted for one lease could vote for another.
// Masters with the same cause share a sentence.
type cause struct {
	name string // same name, same sentence
	at   time.Duration
	say  func(masters []string) string
	ids  []int
}

// forgotten explains how lease b was granted while a was held: two quorums have
// a master in common, and each such master must have forgotten a's key before
// it voted for b. It looks for what made it forget, and says so where nothing
// recorded did.
func (r *run) forgotten(a, b *history.Lease, when time.Duration) []reason {
	e := r.lookup()
	if !e.voted(a) || !e.voted(b) {
		return nil // whose votes are not recorded was said where the grants were
	}
	second := map[string]history.Vote{} // the yes of each master by which b was granted
	for i, g := range b.Grants {
		switch {
		case g.At != when:
		case i == 0:
			for _, v := range e.yes(b, history.CommandSet, b.Invoked, g.At, r.quorum()) {
				second[v.Master] = v
			}
		default:
			for _, v := range e.yes(b, history.CommandExtend, b.Grants[i-1].At, g.At, r.quorum()) {
				second[v.Master] = v
			}
		}
	}
	first := map[string]history.Vote{} // a's last yes there before that
	var twice []string
	for v := range e.of(a) {
		if later, both := second[v.Master]; both && keeps(v) && v.Index < later.Index {
			first[v.Master] = v
			twice = append(twice, v.Master)
		}
	}
	twice = set(twice)
	if len(twice) == 0 {
		return []reason{{at: when, text: fmt.Sprintf("No master voted for both: %s for %s, %s for %s.",
			Enumerate(r.voters(a)), a.Process, Enumerate(set(slices.Collect(maps.Keys(second)))), other(b.Process, a.Process))}}
	}
	return r.causes(twice, func(m string) cause { return r.forgot(m, a, b, first[m], second[m]) })
}

// keeps says whether a vote shows that its master stored the key for its token.
func keeps(v history.Vote) bool {
	return v.Yes && (v.Command == history.CommandSet || v.Command == history.CommandExtend)
}

// causes groups the masters by their cause and writes a sentence for each.
func (r *run) causes(names []string, of func(master string) cause) []reason {
	var order []cause
	group := map[string][]string{}
	for _, m := range names {
		c := of(m)
		if c.say == nil {
			continue
		}
		if group[c.name] == nil {
			order = append(order, c)
		}
		group[c.name] = append(group[c.name], m)
	}
	var steps []reason
	for _, c := range order {
		steps = append(steps, reason{at: c.at, text: c.say(group[c.name]), faults: c.ids})
	}
	return steps
}

// forgot finds why master m, after its yes to a, could vote yes for b. The
// causes are tried from the surest to the vaguest.
func (r *run) forgot(m string, a, b *history.Lease, yes, next history.Vote) cause {
	if c, ok := r.deleted(m, a, yes, next, true); ok {
		return c
	}
	ttl := r.h.Header.TTL
	if ttl > 0 && next.At-next.Took >= yes.At+ttl {
		return expired(a, yes, ttl, "had expired")
	}
	if c, ok := r.restarted(m, a.Key, a.Token, yes.At-yes.Took, next.At); ok {
		return c
	}
	if c, ok := r.disturbed(m, yes.At-yes.Took, next.At); ok {
		return c
	}
	if c, ok := r.deleted(m, a, yes, next, false); ok {
		return c
	}
	if ttl > 0 && next.At >= yes.At-yes.Took+ttl {
		return expired(a, yes, ttl, "may have expired")
	}
	return cause{name: "unexplained", at: next.At, say: func(ms []string) string {
		within := ""
		if ttl > 0 {
			within = " within the TTL of " + at(ttl)
		}
		return fmt.Sprintf("No recorded fault explains it: %s voted for both%s, for %s by %s and for %s by %s.",
			Enumerate(ms), within, a.Process, at(yes.At), other(b.Process, a.Process), at(next.At))
	}}
}

// deleted looks for a release that the master carried out between two votes: the
// lease's own, or that of another token, which must not have touched its key (and
// did not, where the master had forgotten it before).
func (r *run) deleted(m string, a *history.Lease, yes, next history.Vote, own bool) (cause, bool) {
	e := r.lookup()
	for i := len(e.votes) - 1; i >= 0; i-- {
		v := e.votes[i]
		if v.Index >= next.Index {
			continue
		}
		if v.At < yes.At {
			break
		}
		if v.Master != m || v.Key != a.Key || v.Command != history.CommandRelease || !v.Yes || v.Index < yes.Index || own != (v.Token == a.Token) {
			continue
		}
		of := fmt.Sprintf("a release of %s's own token", a.Process)
		if !own {
			of = fmt.Sprintf("a release of another token by %s", v.Client)
		}
		return cause{name: "release" + v.Token, at: v.At, say: func(ms []string) string {
			return fmt.Sprintf("At %s %s had carried out %s and deleted the key.", at(v.At), Enumerate(ms), of)
		}}, true
	}
	return cause{}, false
}

func expired(a *history.Lease, yes history.Vote, ttl time.Duration, how string) cause {
	return cause{name: "expired", at: yes.At + ttl, say: func(ms []string) string {
		return fmt.Sprintf("By %s the key of %s %s at %s: the last yes to %s came by %s and the TTL is %s.",
			at(yes.At+ttl), a.Process, how, Enumerate(ms), a.Process, at(yes.At), at(ttl))
	}}
}

// struck says what a fault that ends a master's process did to masters.
func struck(fault string, masters []string) string {
	switch fault {
	case "kill":
		return was(masters) + " killed"
	case "shutdown":
		return was(masters) + " shut down"
	case "powercut":
		return "lost power"
	case "failover":
		return was(masters) + " killed and replaced by a replica"
	}
	return was(masters) + " struck"
}

// vote is what masters forget.
func vote(masters []string) string {
	if len(masters) > 1 {
		return "their votes"
	}
	return "its vote"
}

// ends says whether a fault ends a master's process.
func ends(fault string) bool {
	switch fault {
	case "kill", "shutdown", "powercut", "failover":
		return true
	}
	return false
}

// restarted looks for a restart of a master between two times, by a fault or by
// the states of its process alone. A restart after which the master itself still
// listed the token is not why it forgot it.
func (r *run) restarted(m, key, token string, from, to time.Duration) (cause, bool) {
	states := r.lookup().states[m]
	back := func(after time.Duration) (state, bool) {
		for _, s := range states {
			if s.at >= after && s.at <= to && s.is == "up" {
				return s, true
			}
		}
		return state{}, false
	}
	for _, f := range slices.Backward(r.faults) {
		if !ends(f.Name) || !f.Installed || !slices.Contains(f.Masters, m) || f.From <= from || f.Began >= to {
			continue
		}
		when := f.From
		if f.Began > from {
			when = f.Began
		}
		up, seen := back(when)
		if seen && up.keys != nil && token != "" && up.keys[key] == token {
			continue
		}
		return cause{name: fmt.Sprintf("fault %d", f.ID), at: when, ids: []int{f.ID}, say: func(ms []string) string {
			s := fmt.Sprintf("At %s %s %s (%s #%d) %s", at(when), Enumerate(ms), struck(f.Name, ms), f.Name, f.ID, r.persistence())
			switch {
			case seen && up.keys != nil:
				s += fmt.Sprintf(" and came back by %s without the key of %s", at(up.at), key)
			case seen:
				s += fmt.Sprintf(" and came back by %s having forgotten %s", at(up.at), vote(ms))
			default:
				s += " and came back having forgotten " + vote(ms)
			}
			return s + "."
		}}, true
	}
	for _, s := range slices.Backward(states) {
		if s.is != "down" || s.at < from || s.at > to {
			continue
		}
		up, seen := back(s.at)
		if !seen || up.keys != nil && token != "" && up.keys[key] == token {
			continue
		}
		return cause{name: "down", at: s.at, say: func(ms []string) string {
			return fmt.Sprintf("From %s to %s %s %s down, which no recorded fault explains, and came back %s having forgotten %s.",
				at(s.at), at(up.at), Enumerate(ms), was(ms), r.persistence(), vote(ms))
		}}, true
	}
	return cause{}, false
}

func (r *run) persistence() string {
	switch p := r.h.Header.Persistence; p {
	case "":
		return "with a persistence that was not recorded"
	case "none":
		return "without persistence"
	default:
		return "with persistence " + p
	}
}

// disturbed looks for faults of a master's clock, memory or disk, which can make
// it forget a key without a restart.
func (r *run) disturbed(m string, from, to time.Duration) (cause, bool) {
	for _, f := range slices.Backward(r.faults) {
		if !f.Installed || !slices.Contains(f.Masters, m) || f.Began >= to || f.To <= from {
			continue
		}
		if !strings.HasPrefix(f.Name, "clock") && !strings.HasPrefix(f.Name, "memory") {
			continue
		}
		return cause{name: fmt.Sprintf("fault %d", f.ID), at: max(f.Began, from), ids: []int{f.ID}, say: func(ms []string) string {
			if strings.HasPrefix(f.Name, "memory") {
				return fmt.Sprintf("From %s the memory of %s was filled (%s #%d), and a full master may evict a key.", at(f.Began), Enumerate(ms), f.Name, f.ID)
			}
			return fmt.Sprintf("From %s the clock of %s was off%s (%s #%d), which can end a key before its time.", at(f.Began), Enumerate(ms), by(f.Params["clock"]), f.Name, f.ID)
		}}, true
	}
	return cause{}, false
}

// by says by how much a clock was off, if that was recorded.
func by(what string) string {
	if what == "" {
		return ""
	}
	return " by " + what
}
