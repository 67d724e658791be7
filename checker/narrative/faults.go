package narrative

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockpick/checker/facts"
	"lockpick/history"
	"lockpick/history/fault"
)

// Fault adds that a fault struck some of its masters (nil: all). detail keeps that out of the
// violation's reason. The fault's end and the restarts of its masters are always details.
func (n *Narrative) Fault(f *history.Fault, detail bool, masters []string) {
	if !f.Installed {
		return
	}
	if !detail {
		n.faults[f.ID] = true
	}
	if masters == nil {
		masters = facts.Distinct(f.Masters)
	}
	type strikeTime struct {
		at   time.Duration
		line int
	}
	var strikes []strikeTime
	mastersAt := map[strikeTime][]string{}
	for _, m := range masters {
		at, line := n.r.StruckAt(f, m)
		k := strikeTime{at, line}
		for _, x := range strikes { // masters struck at one time share an event
			if x.at == at {
				k = x
			}
		}
		if mastersAt[k] == nil {
			strikes = append(strikes, k)
		}
		mastersAt[k] = append(mastersAt[k], m)
	}
	if len(masters) == 0 {
		strikes = append(strikes, strikeTime{f.From, f.Index})
	}
	for _, k := range strikes {
		_, word := n.did(f, mastersAt[k])
		e := Event{At: k.at, Kind: EventFault, Detail: detail, Masters: mastersAt[k], Fault: f.ID, Name: f.Name, Word: word, Ops: []int{k.line},
			Text: n.struck(f, mastersAt[k])}
		if f.Index != k.line {
			e.Ops = append(e.Ops, f.Index)
		}
		if len(f.Clients) == 1 {
			e.Client = f.Clients[0]
		}
		n.Add(e)
	}
	if fault.Of(f.Name).EndsMaster() {
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
			e.Text = fmt.Sprintf("%s %s (%s #%d)", fault.Enumerate(masters), what, f.Name, f.ID)
		}
		n.Add(e)
	}
}

// struck describes the effect of a fault on some masters, and names the fault.
func (n *Narrative) struck(f *history.Fault, masters []string) string {
	text, _ := n.did(f, masters)
	return fmt.Sprintf("%s (%s #%d)", text, f.Name, f.ID)
}

// restarts adds, as a detail, when a master whose process a fault had ended was up again, and the
// token that it stored under the violation's key.
func (n *Narrative) restarts(f *history.Fault, master string) {
	from, _ := n.r.StruckAt(f, master)
	for _, s := range n.r.StatesOf(master, from, f.To) {
		if s.Status == "up" {
			n.up(master, s, true)
			return
		}
	}
}

// up adds that a master was up again.
func (n *Narrative) up(master string, s facts.State, detail bool) {
	e := Event{At: s.At, Kind: EventUp, Detail: detail, Masters: []string{master}, Key: n.Violation.Key, Word: "up", Ops: []int{s.Line}}
	says := "up again"
	if s.Keys != nil {
		switch token := s.Keys[n.Violation.Key]; {
		case token == "":
			says += ", without the key of " + n.Violation.Key
		default:
			e.Token = token
			says += fmt.Sprintf(", and stored %s for %s", n.owner(n.Violation.Key, token), n.Violation.Key)
		}
	} else if !detail {
		says += fmt.Sprintf(", and no longer stored the key of %s, as its next answer shows", n.Violation.Key)
	}
	if s.Keys != nil || !detail {
		e.Cause = CauseRestart
	}
	e.Text = master + " was " + says
	n.addSaying(e, says)
}

// Withheld adds the faults that kept masters from voting for a lease: the fewer masters voted for
// it, the fewer of its keys must be lost before another client can get a quorum.
func (n *Narrative) Withheld(l *history.Lease) {
	voters := n.r.Voters(l)
	began := n.r.RequestedAt(l)
	for _, f := range n.r.FaultsWithin(began, l.Acquired()) {
		if !f.Installed || f.From > l.Acquired() || f.To < began || len(voters) == 0 {
			continue
		}
		if len(f.Clients) > 0 && !slices.Contains(f.Clients, l.Process) {
			continue
		}
		if !fault.Of(f.Name).WithholdsVotes() { // a fault of a clock or a disk keeps no master from voting
			continue
		}
		others := slices.DeleteFunc(facts.Distinct(f.Masters), func(m string) bool { return slices.Contains(voters, m) })
		if len(others) > 0 {
			n.Fault(f, false, others)
		}
	}
}

// cutOff adds the faults that kept a client's extensions from the masters between two times.
func (n *Narrative) cutOff(l *history.Lease, from, to time.Duration) {
	for v := range n.r.VoteIndex().OnLease(l) {
		if v.Command == history.CommandExtend && v.At >= from && facts.Sent(v) <= to {
			n.faultsOn(v, facts.Silences, false, v.Master)
		}
	}
}

// CutOff adds the faults that cut a client of a service from all servers while it had a lease: what the servers did with the
// lease meanwhile is not known, and the client may not have been told.
func (n *Narrative) CutOff(l *history.Lease, until time.Duration) {
	if n.r.History.Header.Service == "" {
		return
	}
	for _, f := range n.r.FaultsWithin(l.Acquired(), until) {
		if f.Installed && f.Began < until && f.To > l.Acquired() && slices.Contains(f.Clients, l.Process) && fault.Of(f.Name).Isolates {
			n.Fault(f, false, nil)
		}
	}
}

// StoodStill adds the pause in which a client could not learn that its lease was over. Only a client whose lease promises no time has to
// learn it: any other knows the end.
func (n *Narrative) StoodStill(l *history.Lease, at time.Duration) {
	if !l.Grants[len(l.Grants)-1].Endless() {
		return
	}
	for _, p := range n.r.Pauses[l.Process] {
		if p.From < at && p.To+n.r.Slack > at {
			n.Paused(l.Process, p, false)
		}
	}
}

// Elections adds the servers of a service that took over from others while a client relied on a lease, each with the last
// fault of servers before it. The last one that took over before the grant is added, too, if a fault of servers was not over
// for long: the server before it may not have known yet, and go on granting. Where servers replicate asynchronously it may do so
// for any time: nobody saw when it stopped. One that was noted after until may have taken over
// before. If no fault has been named
// by then, it names the first that ended a server meanwhile.
func (n *Narrative) Elections(l *history.Lease, until time.Duration) {
	h := &n.r.History.Header
	if h.Service == "" {
		return
	}
	lastFault := func(at time.Duration) *history.Fault {
		all := slices.DeleteFunc(n.r.FaultsWithin(at-h.Settle, at), func(f *history.Fault) bool {
			return !f.Installed || f.From > at || len(f.Masters) == 0 || len(f.Clients) > 0
		})
		if len(all) == 0 {
			return nil
		}
		return all[len(all)-1]
	}
	elections := n.r.Elections()
	first, _ := slices.BinarySearchFunc(elections, l.Acquired(), func(op *history.Op, at time.Duration) int { return cmp.Compare(op.Time, at) })
	if first > 0 && (h.Asynchronous || lastFault(l.Acquired()) != nil) {
		first--
	}
	for _, op := range elections[first:] {
		seenLate := time.Duration(0)
		if op.Value != nil {
			seenLate = op.Value.Took
		}
		at := op.Time
		if at > until {
			at -= seenLate
		}
		if at > until {
			break
		}
		n.Add(Event{At: at, Kind: EventElected, Masters: []string{op.Process}, Word: "leads", Ops: []int{op.Index},
			Text: fmt.Sprintf("%s made %s its leader", h.Service, op.Process)})
		if f := lastFault(at); f != nil {
			n.Fault(f, false, nil)
		}
	}
	for _, f := range n.r.FaultsWithin(l.Acquired(), until) {
		if len(n.faults) == 0 && fault.Of(f.Name).EndsMaster() && f.Began < until && f.From >= l.Acquired() {
			n.Fault(f, false, nil)
		}
	}
}

// clientClock adds the faults of a client's clock: with a slow clock, its lease lasts longer than
// the masters keep the key. If the lease lasts no longer than that, the faults are details.
func (n *Narrative) clientClock(l *history.Lease, until time.Duration) {
	longer := false
	for _, g := range l.Grants {
		if g.At > until {
			break
		}
		longer = longer || g.Skewed
	}
	began := n.r.RequestedAt(l)
	longer = longer || n.r.History.Header.TTL > 0 && l.Grants[0].Until > began+n.r.History.Header.TTL
	for _, f := range n.r.Faults {
		if f.Installed && f.Began <= until && f.To >= l.Invoked && slices.Contains(f.Clients, l.Process) && fault.Of(f.Name).Clock == fault.ClientClock {
			n.Fault(f, !longer, nil)
		}
	}
}

// ClientFaults adds the pauses and crashes of a client between two times.
func (n *Narrative) ClientFaults(client string, from, to time.Duration, detail bool) {
	for _, p := range n.r.Pauses[client] {
		if p.From < to && p.To > from {
			n.Paused(client, p, detail)
		}
	}
	for op := range n.r.LinesSince(client, from) {
		if op.Time > to {
			break
		}
		if op.F == history.FCrash {
			point := ""
			if op.Value != nil {
				point = op.Value.Point
			}
			n.Add(Event{At: op.Time, Kind: EventCrashed, Detail: detail, Client: client, Key: n.Violation.Key, Word: "crashed", Ops: []int{op.Index},
				Text: fmt.Sprintf("%s crashed%s, and released nothing", client, fault.AtPoint(point))})
		}
	}
}

// Paused adds a client's pause and the fault that stopped the client.
func (n *Narrative) Paused(client string, p facts.Pause, detail bool) {
	name, faultName := "", ""
	for _, f := range n.r.FaultsWithin(p.From, p.To) {
		if f.Installed && f.Began < p.To && f.To > p.From && (len(f.Clients) == 0 || slices.Contains(f.Clients, client)) && fault.Of(f.Name).Client == fault.ClientStops {
			name, faultName = fmt.Sprintf(" (client-pause #%d)", f.ID), f.Name
			if !detail {
				n.faults[f.ID] = true
			}
			break
		}
	}
	n.Add(Event{At: p.From, Kind: EventPaused, Detail: detail, Client: client, Name: faultName, Word: "stopped", Until: p.To, Ops: []int{p.Line},
		Text: fmt.Sprintf("%s was stopped%s%s", client, fault.AtPoint(p.Point), name)})
	if p.Ended {
		n.Add(Event{At: p.To, Kind: EventResumed, Detail: detail, Client: client, Word: "goes on", Ops: []int{p.EndLine}, Text: client + " went on"})
	}
}

// did describes the effect of a fault on masters or clients, as a text and as one word.
func (n *Narrative) did(f *history.Fault, masters []string) (text, word string) {
	return fault.Of(f.Name).Did(&fault.Scene{
		Masters: masters, Clients: facts.Distinct(f.Clients), Params: f.Params, Persistence: fault.Persistence(n.r.History.Header.Persistence), AtPoint: fault.AtPoint(f.Params["point"]),
	})
}
