package narrative

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"lockpick/checker/facts"
	"lockpick/history"
	"lockpick/history/fault"
	"lockpick/internal/plural"
)

const (
	maxWaiting = 3 // how many waiting clients the narrative names
	maxCalls   = 2 // how many calls of each it shows: the first and the last
)

// Stuck adds the requests of the clients that were not granted a key, the masters' answers, what
// the masters stored under the key, who held it last, and which faults had not healed.
func (n *Narrative) Stuck(clients []string, from, to time.Duration, attempts []facts.Acquire) {
	r, key := n.r, n.Violation.Key
	explained := false
	for _, client := range clients[:min(len(clients), maxWaiting)] {
		explained = n.lastTry(client, from, to) || explained
		var mine []facts.Acquire
		for _, a := range attempts {
			if a.Client == client {
				mine = append(mine, a)
			}
		}
		if len(mine) > maxCalls {
			n.AddAt(AfterLines, Event{At: mine[len(mine)-2].Ended, Kind: EventTried, Client: client, Key: key, Count: len(mine) - maxCalls, Word: "tried",
				Text: fmt.Sprintf("%s had asked %s and had been refused", client, plural.Count(len(mine)-maxCalls, "more time", "more times"))})
			mine = []facts.Acquire{mine[0], mine[len(mine)-1]}
		}
		for _, a := range mine {
			if !a.OK {
				n.AcquireEnded(a, a.Err)
			}
		}
	}
	left := CauseLeft
	if slices.ContainsFunc(r.Leases, func(l *history.Lease) bool { return l.Key == key && held(l, to) }) {
		left = "" // its keys are where they should be
	}
	byToken := map[string][]string{}
	lines := map[string][]int{}
	for m, s := range n.lastStored(to) {
		if token := s.Token(key); token != "" {
			byToken[token] = append(byToken[token], m)
			lines[token] = append(lines[token], s.Index)
		}
	}
	for _, token := range slices.Sorted(maps.Keys(byToken)) {
		ms := facts.Distinct(byToken[token])
		explained = true
		slices.Sort(lines[token])
		last := lines[token][len(lines[token])-1]
		n.Add(Event{At: r.History.Op(last).Time, Kind: EventSnapshot, Masters: ms, Key: key, Token: token, Cause: left, Word: "stored", Ops: []int{last},
			Text: fmt.Sprintf("%s stored %s for %s, as far as was last seen", fault.Enumerate(ms), n.owner(key, token), key)})
	}
	if !r.Lock.Kind.OneToken() || len(byToken) == 0 { // otherwise what masters stored says who has it
		explained = n.KeysLeft(key, to, left) || explained
	}
	for _, l := range slices.Backward(r.Leases) {
		if l.Key == key && l.Acquired() < to {
			explained = true
			n.Lease(l, to)
			switch {
			case l.ReleaseIndex < 0 || l.Released > to:
				n.Note(to, fmt.Sprintf("%s, who was the last to be granted %s, had not released it by %s", l.Process, key, At(to)))
			case r.History.Op(l.ReleaseIndex).F == history.FCrash:
				n.ClientFaults(l.Process, l.Released, l.Released, false)
			default:
				n.LeaseEnded(l, l.Released)
			}
			break
		}
	}
	for _, f := range r.Faults {
		if f.Installed && !f.Healed && f.Problem != "" {
			explained = true
			n.Fault(f, false, nil)
			n.Note(max(f.From, f.Began), fmt.Sprintf("%s #%d could not be healed: %s", f.Name, f.ID, f.Problem))
		}
	}
	if !explained {
		n.Unexplained(Event{At: to, Text: fmt.Sprintf("no recorded vote and no fault explains why %s was not granted", key)})
	}
}

// held reports whether a client could rely on a lease at a time.
func held(l *history.Lease, at time.Duration) bool {
	return slices.ContainsFunc(l.Holds(), func(s history.Span) bool { return s.From <= at && at < s.To })
}

// AcquireEnded adds the call of an acquire and how it ended.
func (n *Narrative) AcquireEnded(a facts.Acquire, err string) {
	n.Add(Event{At: a.Invoked, Kind: EventCalled, Client: a.Client, Key: a.Key, Command: history.FAcquire, Until: a.Ended, Word: "acquire", Ops: a.Ops[:1],
		Text: fmt.Sprintf("%s asked for %s", a.Client, a.Key)})
	if a.Open || len(a.Ops) < 2 {
		return
	}
	if a.OK {
		n.Add(Event{At: a.Ended, Kind: EventGranted, Client: a.Client, Key: a.Key, Word: "granted", Ops: a.Ops[1:2], Text: fmt.Sprintf("%s was granted %s", a.Client, a.Key)})
		return
	}
	text := fmt.Sprintf("%s was refused", a.Client)
	if err != "" {
		text += ": " + err
	}
	n.Add(Event{At: a.Ended, Kind: EventRefused, Client: a.Client, Key: a.Key, Command: history.FAcquire, Word: "refused", Ops: a.Ops[1:2], Text: text})
}

// AllHealed adds the end of all faults, and which masters had not come back.
func (n *Narrative) AllHealed(h facts.Healing) {
	text := fmt.Sprintf("all faults had healed: within %s a free lock must be granted", At(h.Bound))
	if len(h.Gone) > 0 {
		text += fmt.Sprintf(", but %s had not come back", fault.Enumerate(facts.Distinct(h.Gone)))
	}
	n.Add(Event{At: h.At, Kind: EventHealed, Masters: h.Gone, Until: h.At + h.Bound, Ops: []int{h.Line}, Text: text})
}

// lastStored returns, by master, the last line up to a time that lists the keys that it stored.
func (n *Narrative) lastStored(until time.Duration) map[string]history.Snapshot {
	held := map[string]history.Snapshot{}
	for i := range n.r.History.Ops {
		if s, lists := history.SnapshotOf(&n.r.History.Ops[i]); lists && s.Time <= until {
			held[s.Master] = s
		}
	}
	for s := range n.r.History.Looks() {
		if s.Time <= until && s.Index >= held[s.Master].Index {
			held[s.Master] = *s
		}
	}
	return held
}
