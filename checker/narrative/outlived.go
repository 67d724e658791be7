package narrative

import (
	"fmt"
	"time"

	"lockpick/checker/facts"
	"lockpick/history"
)

// Outlived adds why a client acted on a lease that was over: the grant, the end of the lease, and
// the pause, the pending call or the stall of the machine that kept the client from noticing it.
func (n *Narrative) Outlived(l *history.Lease, to time.Duration) {
	r := n.r
	n.Lease(l, min(to, n.Violation.Until))
	over := facts.LeaseEnd(l, to)
	why := false
	for _, p := range r.Pauses[l.Process] {
		if p.From < to && p.To > over && p.To > l.Invoked {
			why = true
			n.Paused(l.Process, p, false)
		}
	}
	n.LeaseEnded(l, over)
	why = n.blocked(l, over, to) || why
	if !why { // a stall matters only if no pause and no pending call delayed the client
		for i := range r.History.Ops {
			if op := &r.History.Ops[i]; op.F == history.FStall && op.Error == "" && op.Value != nil && op.Time > over && op.Time-op.Value.Took < to {
				why = true
				n.Add(Event{At: op.Time, Kind: EventStalled, Took: op.Value.Took, Ops: []int{op.Index}, Word: "stalled",
					Text: fmt.Sprintf("the machine of the harness and of all clients went on, after standing still for %s", At(op.Value.Took))})
			}
		}
	}
	n.clientClock(l, to)
	if !why && r.History.Header.Driver != "" && r.History.Header.Driver != history.Imported && to-over > max(r.History.Header.TTL/20, r.Slack) {
		// Lockpick recorded this history of its own clients: they leave as soon as their lock says
		// that the lease is over, and everything that stops them is recorded.
		why = true
		n.AddAt(beforeLines, Event{At: to, Kind: EventNote, Client: l.Process, Cause: CauseUntold, Word: "untold",
			Text: fmt.Sprintf("nothing had stopped %s, who still acted on its lease at %s: its lock had not told it that the lease was over", l.Process, At(to))})
	}
	if !why && to > over {
		n.AddAt(beforeLines, Event{At: to, Kind: EventUnexplained, Client: l.Process, Word: "why?",
			Text: fmt.Sprintf("no recorded pause, stall or call explains why %s still acted on its lease at %s", l.Process, At(to))})
	}
}

// LeaseEnded adds the end of a lease.
func (n *Narrative) LeaseEnded(l *history.Lease, end time.Duration) {
	if l.ReleaseIndex >= 0 && l.Released == end {
		op := n.r.History.Op(l.ReleaseIndex)
		if op.F == history.FRelease {
			n.Add(Event{At: end, Kind: EventReleased, Client: l.Process, Key: l.Key, Token: l.Token, Word: "release", Ops: []int{l.ReleaseIndex}, Text: fmt.Sprintf("%s released %s", l.Process, l.Key)})
		}
		return
	}
	n.AddAt(beforeLines, Event{At: end, Kind: EventEnded, Client: l.Process, Key: l.Key, Token: l.Token, Word: "ended", Text: fmt.Sprintf("%s's lease ended", l.Process)})
}

// blocked adds the calls that were running when a client's lease ended and that returned after
// that: the client could not act meanwhile. It also adds a partition that kept the call's
// commands from the masters.
func (n *Narrative) blocked(l *history.Lease, over, to time.Duration) bool {
	found := false
	for op := range n.r.LinesSince(l.Process, l.Invoked) { // who acquired since a call was not blocked by it
		if op.Time > over {
			break
		}
		if op.Type != history.Invoke || op.F != history.FExtend && op.F != history.FWrite && op.F != history.FRead {
			continue
		}
		end, line := n.r.Returned(op)
		if end <= over {
			continue
		}
		found = true
		n.Add(Event{At: op.Time, Kind: EventCalled, Client: l.Process, Key: op.Key, Token: l.Token, Command: op.F, Until: end, Word: op.F, Ops: []int{op.Index},
			Text: fmt.Sprintf("%s called %s and waited for it", l.Process, op.F)})
		text := fmt.Sprintf("the call of %s returned", op.F)
		if line < 0 {
			text = fmt.Sprintf("the call of %s had not returned when the history ended", op.F)
		} else if n.r.History.Op(line).Type != history.OK {
			text = fmt.Sprintf("the call of %s failed", op.F)
			if e := n.r.History.Op(line).Error; e != "" {
				text += ": " + e
			}
		}
		e := Event{At: end, Kind: EventNote, Client: l.Process, Text: fmt.Sprintf("at %s %s", At(end), text)}
		if line >= 0 {
			e.Kind, e.Command, e.Ops, e.Text, e.Word = EventRefused, op.F, []int{line}, text, "returns"
			n.Add(e)
		} else {
			n.AddAt(beforeLines, e)
		}
		n.cutOff(l, op.Time, end)
	}
	return found
}
