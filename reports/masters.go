package reports

import (
	"cmp"
	"slices"
	"time"

	"lockpick/history"
	"lockpick/history/fault"
)

// state is a period during which a master was paused or down.
type state struct {
	master   int
	from, to time.Duration
	is       string // paused, down
}

// stops returns the state into which a fault puts a master: paused or down; "": neither.
func stops(name string) string {
	switch kind := fault.Of(name); {
	case kind.Process == fault.Stops:
		return "paused"
	case kind.TakesDown():
		return "down"
	}
	return ""
}

// addStates adds the recorded states of each master's process. A fault during which its master
// recorded no state counts for its whole window.
func (t *timeline) addStates(ops []history.Op, n *names) {
	recorded := make([][]time.Duration, len(t.masters))
	open := make([]int, len(t.masters))
	for m := range open {
		open[m] = -1
	}
	for i := range ops {
		op := &ops[i]
		if op.F != history.FState || op.Value == nil || op.Value.State == "" {
			continue
		}
		m := n.masters.of(op.Process)
		recorded[m] = append(recorded[m], op.Time)
		if o := open[m]; o >= 0 && t.states[o].is != op.Value.State {
			t.states[o].to = op.Time
			open[m] = -1
		}
		if op.Value.State != "up" && open[m] < 0 {
			open[m] = len(t.states)
			t.states = append(t.states, state{m, op.Time, t.end, op.Value.State})
		}
	}
	for _, f := range t.faults {
		is := stops(f.Name)
		if is == "" || !f.Installed {
			continue
		}
		for _, name := range f.Masters {
			m := n.masters.of(name)
			if m < 0 || slices.ContainsFunc(recorded[m], func(at time.Duration) bool { return f.Began <= at && at <= f.To }) {
				continue
			}
			t.states = append(t.states, state{m, f.From, f.To, is})
		}
	}
	slices.SortStableFunc(t.states, func(a, b state) int { return cmp.Compare(a.from, b.from) })
}

// ending says why a master no longer stored a token.
type ending int

const (
	stillHeld ending = iota // at the end of the history
	released                // a yes to release
	expired                 // the TTL ended
	lost                    // the master went down without persisting it
	replaced                // the master granted another token
	seenGone                // the master's own list of keys lacked it
)

// stored is a period during which a master stored a token under a key.
type stored struct {
	master, key int
	attempt     int // attempt of the token; -1: unknown
	token       string
	from, to    time.Duration
	ending      ending
}

// holding is the state of one key on one master while a history is replayed.
type holding struct {
	open  int // position in timeline.stored; -1: nothing is stored
	token string
	until time.Duration // end of the TTL
	had   map[string]bool
}

// addStored derives the tokens that each master stored from its votes. A yes to set stores the
// token until a yes to release, the end of its TTL (which a yes to extend restarts), or the loss of
// the master's memory. The keys that a master itself listed override this.
//
// A set without a reply may have been applied. It counts from the time when the master confirms the
// token, by a yes to a later command or in a list of its keys.
func (t *timeline) addStored(h *history.History, n *names, byToken map[string]int) {
	held := make([][]holding, len(t.masters)) // by master and key
	for m := range held {
		held[m] = make([]holding, len(t.keys))
		for k := range held[m] {
			held[m][k] = holding{open: -1}
		}
	}
	end := func(o *holding, at time.Duration, why ending) {
		if o.open < 0 {
			return
		}
		if o.until <= at {
			at, why = o.until, expired
		}
		s := &t.stored[o.open]
		s.to, s.ending = max(at, s.from), why
		o.open = -1
	}
	begin := func(m, k int, token string, at time.Duration) {
		o := &held[m][k]
		end(o, at, replaced)
		from := -1
		if a, ok := byToken[token]; ok {
			from = a
		}
		*o = holding{open: len(t.stored), token: token, until: t.expiry(h, at), had: o.had}
		if o.had == nil {
			o.had = map[string]bool{}
		}
		o.had[token] = true
		t.stored = append(t.stored, stored{master: m, key: k, attempt: from, token: token, from: at, to: t.end})
	}
	forget := forgetful(h, t.faults)
	losses := forget
	fell := func(m int, after, before time.Duration) (time.Duration, bool) {
		from, _ := slices.BinarySearchFunc(losses, after+1, func(l loss, at time.Duration) int { return cmp.Compare(l.at, at) })
		for _, l := range losses[from:] {
			if l.at >= before {
				break
			}
			if n.masters.of(l.master) == m {
				return l.at, true
			}
		}
		return 0, false
	}
	vote := func(op *history.Op) {
		m, k := n.masters.of(op.Process), n.keys.of(op.Key)
		if k < 0 || op.Type != history.OK || !op.Value.Yes {
			return
		}
		o := &held[m][k]
		if o.open >= 0 && o.until <= op.Time {
			end(o, op.Time, expired)
		}
		current := o.open >= 0 && o.token == op.Value.Token
		switch op.Value.Command {
		case history.CommandSet:
			if at, ok := fell(m, op.Time-op.Value.Took, op.Time); ok && !current {
				// The master said yes before it went down, or its connection would have broken. The
				// reply arrived when the key was already lost.
				begin(m, k, op.Value.Token, min(op.Time-op.Value.Took, at))
				end(o, at, lost)
			} else if !current {
				begin(m, k, op.Value.Token, op.Time)
			}
		case history.CommandExtend:
			if !current && !o.had[op.Value.Token] {
				begin(m, k, op.Value.Token, op.Time)
			}
			if o.token == op.Value.Token {
				o.until = t.expiry(h, op.Time)
			}
		case history.CommandRelease:
			if !current && !o.had[op.Value.Token] {
				begin(m, k, op.Value.Token, op.Time-op.Value.Took)
				current = true
			}
			if current {
				end(o, op.Time, released)
			}
		}
	}
	said := func(op *history.Op) {
		m := n.masters.of(op.Process)
		for k, key := range t.keys {
			o := &held[m][k]
			token, is := op.Value.Keys[key]
			if o.open >= 0 && (!is || o.token != token) {
				end(o, op.Time, seenGone)
			}
			if is && o.open < 0 {
				begin(m, k, token, op.Time)
			}
		}
	}
	for i := range h.Ops {
		op := &h.Ops[i]
		for len(forget) > 0 && forget[0].at <= op.Time {
			if m := n.masters.of(forget[0].master); m >= 0 {
				for k := range held[m] {
					end(&held[m][k], forget[0].at, lost)
				}
			}
			forget = forget[1:]
		}
		switch {
		case op.Value == nil:
		case op.F == history.FVote:
			vote(op)
		case op.F == history.FState && op.Value.Keys != nil:
			said(op)
		}
	}
	for m := range held {
		for k := range held[m] {
			end(&held[m][k], t.end, stillHeld)
		}
	}
	slices.SortStableFunc(t.stored, func(a, b stored) int { return cmp.Compare(a.from, b.from) })
}

// expiry returns the time when a key expires that was set or extended at a time.
func (t *timeline) expiry(h *history.History, at time.Duration) time.Duration {
	if h.Header.TTL <= 0 {
		return t.end + 1
	}
	return at + h.Header.TTL
}

// loss is a moment at which a master lost the keys that it had only in memory.
type loss struct {
	at     time.Duration
	master string
}

// forgetful lists the moments at which masters went down without persisting their keys: at any stop
// without persistence, and at a kill with RDB snapshots, which are far apart. An append-only file
// causes none: only the master's own list of keys shows the rest.
func forgetful(h *history.History, faults []*history.Fault) []loss {
	keeps := h.Header.Persistence
	if keeps != "none" && keeps != "rdb" {
		return nil
	}
	downs := map[string][]time.Duration{} // by master: recorded times of going down
	for i := range h.Ops {
		op := &h.Ops[i]
		if op.F == history.FState && op.Value != nil && op.Value.State == "down" {
			downs[op.Process] = append(downs[op.Process], op.Time)
		}
	}
	var losses []loss
	if keeps == "none" {
		for master, times := range downs {
			for _, at := range times {
				losses = append(losses, loss{at, master})
			}
		}
	}
	for _, f := range faults {
		kind := fault.Of(f.Name)
		if !kind.TakesDown() || !f.Installed || kind.Process == fault.ShutsDown && keeps == "rdb" {
			continue
		}
		for _, master := range f.Masters {
			at := f.From
			if i := slices.IndexFunc(downs[master], func(d time.Duration) bool { return f.Began <= d && d <= f.To }); i >= 0 {
				at = downs[master][i]
			}
			losses = append(losses, loss{at, master})
		}
	}
	slices.SortFunc(losses, func(a, b loss) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.master, b.master)) })
	return losses
}
