package checker

import (
	"fmt"
	"time"

	"lockpick/history"
)

// explainSections explains that two critical sections overlap: one lasted longer than its
// lease, or two leases were held at once.
func (r *run) explainSections(v *Violation, o overlap) {
	v.Summary = fmt.Sprintf("%s entered its critical section on %s at %s while %s was still in one, until %s",
		other(o.later.client, o.earlier.client), v.Key, at(v.At), o.earlier.client, at(o.earlier.to))
	together := fmt.Sprintf("%s were both in their critical sections", both(o.earlier.client, o.later.client))
	if !r.law.alone() {
		v.Summary = fmt.Sprintf("%s entered its critical section on %s at %s while %s, until %s", o.later.client, v.Key, at(v.At), r.law.insideWere(o), at(o.earlier.to))
		together = r.law.together(o) + " in their critical sections at once"
	}
	n := r.narrate(v)
	a, b := o.earlier, o.later
	for _, s := range o.named {
		if s != a {
			n.entered(s)
		}
	}
	n.entered(a)
	n.entered(b)
	if overlapping, ok := r.leaseOverlap(a.lease, b.lease); ok && overlapping.from() <= o.to() {
		n.overlap(overlapping)
	} else if a.lease != nil {
		n.outlived(a.lease, a.to)
		if b.lease != nil {
			n.lease(b.lease, 0)
		}
	}
	n.left(a)
	n.violated(fmt.Sprintf("for %s, from %s to %s, %s", at(o.to()-o.from()), at(o.from()), at(o.to()), together))
}

// entered adds the beginning of a critical section.
func (n *narrative) entered(s *stretch) {
	text := fmt.Sprintf("%s entered its critical section on %s", s.client, s.key)
	if s.lease == nil {
		text += " without a lease"
	}
	n.add(Event{At: s.from, Kind: EventEntered, Client: s.client, Key: s.key, Token: s.token, Word: "enter", Ops: s.ops[:1], Text: text})
}

// left adds the end of a critical section, and how long after the end of its lease that was.
func (n *narrative) left(s *stretch) {
	text := s.client + " left its critical section"
	if s.cut {
		text = s.client + " was last seen in its critical section"
	}
	if s.lease != nil {
		if over := endBefore(s.lease, s.to); over < s.to {
			text += fmt.Sprintf(", %s after its lease was over", at(s.to-over))
		}
	}
	n.add(Event{At: s.to, Kind: EventLeft, Client: s.client, Key: s.key, Token: s.token, Word: "leave", Ops: s.ops[len(s.ops)-1:], Text: text})
}

// outlived adds why a client acted on a lease that was over: the grant, the end of the lease, and
// the pause, the pending call or the stall of the machine that kept the client from noticing it.
func (n *narrative) outlived(l *history.Lease, to time.Duration) {
	r := n.r
	n.lease(l, min(to, n.v.Until))
	over := endBefore(l, to)
	why := false
	for _, p := range r.pauses[l.Process] {
		if p.from < to && p.to > over && p.to > l.Invoked {
			why = true
			n.paused(l.Process, p, false)
		}
	}
	n.over(l, over)
	why = n.blocked(l, over, to) || why
	if !why { // a stall matters only if no pause and no pending call delayed the client
		for i := range r.h.Ops {
			if op := &r.h.Ops[i]; op.F == history.FStall && op.Value != nil && op.Time > over && op.Time-op.Value.Took < to {
				why = true
				n.add(Event{At: op.Time, Kind: EventStalled, Took: op.Value.Took, Ops: []int{op.Index}, Word: "stalled",
					Text: fmt.Sprintf("the machine of the harness and of all clients went on, after standing still for %s", at(op.Value.Took))})
			}
		}
	}
	n.clientClock(l, to)
	if !why && r.h.Header.Driver != "" && r.h.Header.Driver != history.Imported && to-over > max(r.h.Header.TTL/20, r.slack) {
		// Lockpick recorded this history of its own clients: they leave as soon as their lock says
		// that the lease is over, and everything that stops them is recorded.
		why = true
		n.addAt(beforeLines, Event{At: to, Kind: EventNote, Client: l.Process, Cause: CauseUntold, Word: "untold",
			Text: fmt.Sprintf("nothing had stopped %s, who still acted on its lease at %s: its lock had not told it that the lease was over", l.Process, at(to))})
	}
	if !why && to > over {
		n.addAt(beforeLines, Event{At: to, Kind: EventUnexplained, Client: l.Process, Word: "why?",
			Text: fmt.Sprintf("no recorded pause, stall or call explains why %s still acted on its lease at %s", l.Process, at(to))})
	}
}

// over adds the end of a lease.
func (n *narrative) over(l *history.Lease, end time.Duration) {
	if l.ReleaseIndex >= 0 && l.Released == end {
		op := n.r.h.Op(l.ReleaseIndex)
		if op.F == history.FRelease {
			n.add(Event{At: end, Kind: EventReleased, Client: l.Process, Key: l.Key, Token: l.Token, Word: "release", Ops: []int{l.ReleaseIndex}, Text: fmt.Sprintf("%s released %s", l.Process, l.Key)})
		}
		return
	}
	n.addAt(beforeLines, Event{At: end, Kind: EventEnded, Client: l.Process, Key: l.Key, Token: l.Token, Word: "ended", Text: fmt.Sprintf("%s's lease ended", l.Process)})
}

// blocked adds the calls that were running when a client's lease ended and that returned after
// that: the client could not act meanwhile. It also adds a partition that kept the call's
// commands from the masters.
func (n *narrative) blocked(l *history.Lease, over, to time.Duration) bool {
	found := false
	for _, i := range n.r.linesOf(l.Process) {
		op := &n.r.h.Ops[i]
		if op.Time > over {
			break
		}
		if op.Type != history.Invoke || op.F != history.FExtend && op.F != history.FWrite && op.F != history.FRead {
			continue
		}
		end, line := n.r.returned(op)
		if end <= over {
			continue
		}
		found = true
		n.add(Event{At: op.Time, Kind: EventCalled, Client: l.Process, Key: op.Key, Token: l.Token, Command: op.F, Until: end, Word: op.F, Ops: []int{op.Index},
			Text: fmt.Sprintf("%s called %s and waited for it", l.Process, op.F)})
		text := fmt.Sprintf("the call of %s returned", op.F)
		if line < 0 {
			text = fmt.Sprintf("the call of %s had not returned when the history ended", op.F)
		} else if n.r.h.Op(line).Type != history.OK {
			text = fmt.Sprintf("the call of %s failed", op.F)
			if e := n.r.h.Op(line).Error; e != "" {
				text += ": " + e
			}
		}
		e := Event{At: end, Kind: EventNote, Client: l.Process, Text: fmt.Sprintf("at %s %s", at(end), text)}
		if line >= 0 {
			e.Kind, e.Command, e.Ops, e.Text, e.Word = EventRefused, op.F, []int{line}, text, "returns"
			n.add(e)
		} else {
			n.addAt(beforeLines, e)
		}
		n.cutOff(l, op.Time, end)
	}
	return found
}

// returned returns when a call returned and the line that shows it, or the end of the history and
// -1 if the call never returned.
func (r *run) returned(call *history.Op) (time.Duration, int) {
	for op := range r.following(call.Process, call.Index) {
		if op.F == call.F && op.Type != history.Invoke || op.F == history.FCrash {
			return op.Time, op.Index
		}
	}
	return r.end, -1
}

// cutOff adds the faults that kept a client's extensions from the masters between two times.
func (n *narrative) cutOff(l *history.Lease, from, to time.Duration) {
	for v := range n.r.lookup().of(l) {
		if v.Command != history.CommandExtend || !v.Unknown || v.At < from || sent(v) > to {
			continue
		}
		for _, f := range n.r.faultsWithin(sent(v), v.At) {
			if silences(f, v) {
				n.fault(f, false, []string{v.Master})
			}
		}
	}
}
