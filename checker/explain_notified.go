package checker

import (
	"fmt"

	"lockpick/history"
)

// explainUnaware explains that a client entered its section or began a write under a lease that was
// over.
func (r *run) explainUnaware(v *Violation, u unaware) {
	did, kind, word := "entered its critical section on "+v.Key, EventEntered, "enter"
	if u.op.F == history.FWrite {
		did, kind, word = "began a write to "+v.Key, EventSent, "write"
	}
	client := u.op.Process
	n := r.narrate(v)
	n.add(Event{At: v.At, Kind: kind, Client: client, Key: v.Key, Token: u.op.Value.Token, Value: u.op.Value.Value, Word: word, Ops: []int{u.op.Index}, Text: client + " " + did})
	if u.lease == nil || u.op.Time < u.lease.Acquired() {
		v.Summary = fmt.Sprintf("%s %s at %s without a lease", client, did, at(v.At))
		n.violated(fmt.Sprintf("by %s %s had been granted nothing under this token", at(v.At), client))
		return
	}
	v.Summary = fmt.Sprintf("%s %s at %s, %s after its lease was over", client, did, at(v.At), at(v.At-u.since))
	n.lease(u.lease, u.op.Time)
	if u.lost != nil {
		n.lostLease(u.lease, u.lost)
	} else {
		n.over(u.lease, u.since)
	}
	n.violated(fmt.Sprintf("%s %s, %s after its lease was over, and it had not stood still since", client, did, at(v.At-u.since)))
}

// lostLease adds that so many masters refused an extension that the lock must know that it has
// lost the lease.
func (n *narrative) lostLease(l *history.Lease, failed *history.Op) {
	asked, _ := n.r.asked(failed.Index)
	for _, a := range n.r.requests(l.Key, party{l.Process, l.Token}) {
		if a.command == history.CommandExtend && a.sent >= asked && a.sent <= failed.Time {
			n.request(a, false)
		}
	}
	n.add(Event{At: failed.Time, Kind: EventRefused, Client: l.Process, Key: l.Key, Token: l.Token, Command: history.FExtend, Word: "lost", Ops: []int{failed.Index},
		Text: fmt.Sprintf("an extension of %s failed: so many masters had refused it that no quorum could hold the token", l.Process)})
}
