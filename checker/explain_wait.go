package checker

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"lockpick/history"
)

// explainStuck explains that nobody was granted a key from when the faults had healed until a time.
func (r *run) explainStuck(v *Violation, h healing, granted time.Duration, attempts []attempt) {
	v.Summary = fmt.Sprintf("no one was granted %s for %s after all faults had ended at %s", v.Key, at(granted-h.at), at(h.at))
	n := r.narrate(v)
	until := v.Until
	for _, a := range attempts {
		until = max(until, a.ended)
	}
	n.stuck(v.Clients, h.at, until, attempts)
	n.allHealed(h)
	n.violated(fmt.Sprintf("%s, where %s is allowed", v.Summary, at(h.bound)))
}

// explainRefused explains that an acquire was not granted in time after the faults had healed.
func (r *run) explainRefused(v *Violation, a attempt) {
	took := at(a.ended - a.invoked)
	switch {
	case a.ok:
		v.Summary = fmt.Sprintf("%s asked for %s at %s and was granted it only after %s", a.client, a.key, at(a.invoked), took)
	case a.open:
		v.Summary = fmt.Sprintf("%s asked for %s at %s and had no answer for %s, until the history ends", a.client, a.key, at(a.invoked), took)
	default:
		v.Summary = fmt.Sprintf("%s asked for %s at %s and was refused after %s", a.client, a.key, at(a.invoked), took)
		if a.err != "" {
			v.Summary += ": " + a.err
		}
	}
	n := r.narrate(v)
	n.stuck([]string{a.client}, a.invoked, a.ended, []attempt{a})
	h := r.healed()
	n.allHealed(h)
	n.violated(fmt.Sprintf("%s, where %s is allowed", v.Summary, at(h.bound)))
}

// explainWait explains that nobody was granted a key although a waiting client could have been;
// more adds the events that the property needs.
func (r *run) explainWait(v *Violation, d starvation, during string, more func(*narrative, starvation)) {
	v.Summary = fmt.Sprintf("no one was granted %s for %s, from %s to %s, %s, though %s asked for it", v.Key, at(d.to-d.from), at(d.from), at(d.to), during, Enumerate(v.Clients))
	n := r.narrate(v)
	waiting := r.attemptsWithin(d.key, d.from, d.to)
	n.stuck(v.Clients, d.from, d.to, waiting)
	more(n, d)
	n.violated(v.Summary)
}

// allHealed adds the end of all faults, and which masters had not come back.
func (n *narrative) allHealed(h healing) {
	text := fmt.Sprintf("all faults had healed: within %s a free lock must be granted", at(h.bound))
	if len(h.gone) > 0 {
		text += fmt.Sprintf(", but %s had not come back", Enumerate(set(h.gone)))
	}
	n.add(Event{At: h.at, Kind: EventHealed, Masters: h.gone, Until: h.at + h.bound, Ops: []int{h.index}, Text: text})
}

const (
	maxWaiting = 3 // how many waiting clients the narrative names
	maxCalls   = 2 // how many calls of each it shows: the first and the last
)

// stuck adds the requests of the clients that were not granted a key, the masters' answers, what
// the masters stored under the key, who held it last, and which faults had not healed.
func (n *narrative) stuck(clients []string, from, to time.Duration, attempts []attempt) {
	r, key := n.r, n.v.Key
	explained := false
	for _, client := range clients[:min(len(clients), maxWaiting)] {
		explained = n.lastTry(client, from, to) || explained
		var mine []attempt
		for _, a := range attempts {
			if a.client == client {
				mine = append(mine, a)
			}
		}
		if len(mine) > maxCalls {
			n.addAt(afterLines, Event{At: mine[len(mine)-2].ended, Kind: EventTried, Client: client, Key: key, Count: len(mine) - maxCalls, Word: "tried",
				Text: fmt.Sprintf("%s had asked %d more times and had been refused", client, len(mine)-maxCalls)})
			mine = []attempt{mine[0], mine[len(mine)-1]}
		}
		for _, a := range mine {
			if !a.ok {
				n.ended(a, a.err)
			}
		}
	}
	byToken := map[string][]string{}
	lines := map[string][]int{}
	for m, s := range r.stored(key, to) {
		if s.Value.Keys[key] != "" {
			byToken[s.Value.Keys[key]] = append(byToken[s.Value.Keys[key]], m)
			lines[s.Value.Keys[key]] = append(lines[s.Value.Keys[key]], s.Index)
		}
	}
	for _, token := range slices.Sorted(maps.Keys(byToken)) {
		ms := set(byToken[token])
		explained = true
		slices.Sort(lines[token])
		last := lines[token][len(lines[token])-1]
		n.add(Event{At: r.h.Op(last).Time, Kind: EventSnapshot, Masters: ms, Key: key, Token: token, Word: "stored", Ops: []int{last},
			Text: fmt.Sprintf("%s stored %s for %s, as far as was last seen", Enumerate(ms), r.owner(key, token), key)})
	}
	for _, l := range slices.Backward(r.leases) {
		if l.Key == key && l.Acquired() < to {
			explained = true
			n.lease(l, to)
			switch {
			case l.ReleaseIndex < 0 || l.Released > to:
				n.note(to, fmt.Sprintf("%s, who was the last to be granted %s, had not released it by %s", l.Process, key, at(to)))
			case r.h.Op(l.ReleaseIndex).F == history.FCrash:
				n.clientFaults(l.Process, l.Released, l.Released, false)
			default:
				n.over(l, l.Released)
			}
			break
		}
	}
	for _, f := range r.faults {
		if f.Installed && !f.Healed && f.Problem != "" {
			explained = true
			n.fault(f, false, nil)
			n.note(max(f.From, f.Began), fmt.Sprintf("%s #%d could not be healed: %s", f.Name, f.ID, f.Problem))
		}
	}
	if !explained {
		n.unexplained(Event{At: to, Text: fmt.Sprintf("no recorded vote and no fault explains why %s was not granted", key)})
	}
}

// lastTry adds a client's last request for a key between two times, and reports whether there was one.
func (n *narrative) lastTry(client string, from, to time.Duration) bool {
	var last *asked
	for _, a := range n.r.attemptsBy(client, n.v.Key, from, to) {
		if a.votes[0].At >= from && (last == nil || a.sent > last.sent) {
			last = a
		}
	}
	if last == nil {
		return false
	}
	n.request(last, false)
	for _, v := range last.votes {
		for _, f := range n.r.faultsWithin(sent(v), v.At) {
			if silences(f, v) {
				n.fault(f, false, nil)
			}
		}
	}
	return true
}

// owner describes a token by the client that used it.
func (r *run) owner(key, token string) string {
	for _, l := range r.leases {
		if l.Key == key && l.Token == token {
			return "the token of " + l.Process
		}
	}
	if x := r.commandLogs().first(key, token); x != nil {
		return "a token of " + x.who.client + " that was not granted"
	}
	return "a token that no recorded client used"
}

// stored returns, by master, the last line up to a time that lists the keys that it stored.
func (r *run) stored(key string, until time.Duration) map[string]*history.Op {
	held := map[string]*history.Op{}
	for i := range r.h.Ops {
		op := &r.h.Ops[i]
		if op.Time > until {
			break
		}
		if op.F != history.FState && op.F != history.FSnapshot || op.Value == nil || op.Value.Keys == nil {
			continue
		}
		held[op.Process] = op
	}
	return held
}

// holderGone adds the last lease before a wait and the pauses and crashes of its holder.
func (n *narrative) holderGone(d starvation) {
	l := n.r.last(d.key, d.from)
	if l == nil {
		return
	}
	n.lease(l, d.from)
	n.clientFaults(l.Process, l.Acquired(), d.to, false)
}

// failing adds the faults on masters during a wait.
func (n *narrative) failing(d starvation) {
	for _, f := range n.r.faults {
		if disrupts(f) && overlaps(f.Began, f.To, d.from, d.to) {
			n.fault(f, false, nil)
		}
	}
}

// divided adds how many attempts within a wait split the masters' votes.
func (n *narrative) divided(d starvation) {
	if tried, split := n.r.splits(d); tried > 0 {
		n.note(d.to, fmt.Sprintf("from %s to %s there were %s, and in %d of them some masters said yes and some no", at(d.from), at(d.to), count(tried, "attempt", "attempts"), split))
	}
}
