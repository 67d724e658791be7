package checker

import (
	"fmt"
	"time"

	"lockpick/history"
	"lockpick/history/fault"
)

// ends reports whether a fault ends a master's process.
func ends(name string) bool { return fault.Of(name).EndsMaster() }

// strike returns when a fault struck a master, and the line that shows it. A fault that ends the
// master's process struck when the process was recorded to be down, any other fault when it was
// installed. Masters that go down within a moment of each other were struck at one time, that of
// the first.
func (r *run) strike(f *history.Fault, master string) (when time.Duration, line int) {
	when, line = f.From, f.Index
	if !ends(f.Name) {
		return when, line
	}
	down := func(master string) (state, bool) {
		for _, s := range r.statesOf(master, f.Began, f.To) {
			if s.is == "down" {
				return s, true
			}
		}
		return state{}, false
	}
	own, seen := down(master)
	if !seen {
		return when, line
	}
	when, line = own.at, own.line
	for _, m := range f.Masters {
		if s, seen := down(m); seen && s.line < line && own.at-s.at <= moment {
			when, line = s.at, s.line
		}
	}
	return when, line
}

// moment is the longest time between events that the narrative reports as one: a fault's strikes on
// several masters, the masters' restarts, and their answers to one request.
const moment = 10 * time.Millisecond

// fault adds that a fault struck some of its masters (nil: all). detail keeps that out of the
// violation's reason. The fault's end and the restarts of its masters are always details.
func (n *narrative) fault(f *history.Fault, detail bool, masters []string) {
	if !f.Installed {
		return
	}
	if !detail {
		n.faults[f.ID] = true
	}
	if masters == nil {
		masters = set(f.Masters)
	}
	type strikeTime struct {
		at   time.Duration
		line int
	}
	var strikes []strikeTime
	struck := map[strikeTime][]string{}
	for _, m := range masters {
		at, line := n.r.strike(f, m)
		k := strikeTime{at, line}
		for _, x := range strikes { // masters struck at one time share an event
			if x.at == at {
				k = x
			}
		}
		if struck[k] == nil {
			strikes = append(strikes, k)
		}
		struck[k] = append(struck[k], m)
	}
	if len(masters) == 0 {
		strikes = append(strikes, strikeTime{f.From, f.Index})
	}
	for _, k := range strikes {
		_, word := n.r.did(f, struck[k])
		e := Event{At: k.at, Kind: EventFault, Detail: detail, Masters: struck[k], Fault: f.ID, Name: f.Name, Word: word, Ops: []int{k.line},
			Text: n.r.struck(f, struck[k])}
		if f.Index != k.line {
			e.Ops = append(e.Ops, f.Index)
		}
		if len(f.Clients) == 1 {
			e.Client = f.Clients[0]
		}
		n.add(e)
	}
	if ends(f.Name) {
		for _, m := range masters {
			n.restarts(f, m)
		}
		return
	}
	if f.Healed && f.HealIndex >= 0 && f.To >= f.From {
		e := Event{At: f.To, Kind: EventHealed, Detail: true, Masters: masters, Fault: f.ID, Name: f.Name, Word: "healed", Ops: []int{f.HealIndex}}
		if len(f.Clients) == 1 {
			e.Client = f.Clients[0]
		}
		e.Text = fmt.Sprintf("%s #%d ended", f.Name, f.ID)
		if what := fault.Of(f.Name).Healed(); what != "" && len(masters) > 0 {
			e.Text = fmt.Sprintf("%s %s (%s #%d)", Enumerate(masters), what, f.Name, f.ID)
		}
		n.add(e)
	}
}

// struck describes the effect of a fault on some masters, and names the fault.
func (r *run) struck(f *history.Fault, masters []string) string {
	text, _ := r.did(f, masters)
	return fmt.Sprintf("%s (%s #%d)", text, f.Name, f.ID)
}

// restarts adds, as a detail, when a master whose process a fault had ended was up again, and the
// token that it stored under the violation's key.
func (n *narrative) restarts(f *history.Fault, master string) {
	from, _ := n.r.strike(f, master)
	for _, s := range n.r.statesOf(master, from, f.To) {
		if s.is == "up" {
			n.up(master, s, true)
			return
		}
	}
}

// up adds that a master was up again.
func (n *narrative) up(master string, s state, detail bool) {
	e := Event{At: s.at, Kind: EventUp, Detail: detail, Masters: []string{master}, Key: n.v.Key, Word: "up", Ops: []int{s.line}}
	says := "up again"
	if s.keys != nil {
		switch token := s.keys[n.v.Key]; {
		case token == "":
			says += ", without the key of " + n.v.Key
		default:
			e.Token = token
			says += fmt.Sprintf(", and stored %s for %s", n.r.owner(n.v.Key, token), n.v.Key)
		}
	} else if !detail {
		says += fmt.Sprintf(", and no longer stored the key of %s, as its next answer shows", n.v.Key)
	}
	if s.keys != nil || !detail {
		e.Cause = CauseRestart
	}
	e.Text = master + " was " + says
	n.addSaying(e, says)
}

// did describes the effect of a fault on masters or clients, as a text and as one word.
func (r *run) did(f *history.Fault, masters []string) (text, word string) {
	return fault.Of(f.Name).Did(&fault.Scene{
		Masters: masters, Clients: set(f.Clients), Params: f.Params, Persistence: fault.Persistence(r.h.Header.Persistence), AtPoint: fault.AtPoint(f.Params["point"]),
	})
}
