package checker

import (
	"fmt"

	"lockpick/history"
)

// explainLostUpdate explains that an update is lost: the value that a write was computed from and
// when it was read, the write that replaced it, why the comparison accepted the later write, and
// why two clients wrote.
func (r *run) explainLostUpdate(v *Violation, u lostUpdate) {
	v.Summary = fmt.Sprintf("a write of %s to %s was applied at %s though %s had replaced the value that it was computed from: that update is lost",
		u.client(), v.Key, at(v.At), u.loser())
	n := r.narrate(v)
	n.bothWrote(u)
	if u.from.F == history.FApply {
		n.stored(storedWrite{op: u.from}, u.client(), false)
	} else {
		n.add(Event{At: u.from.Time, Kind: EventRead, Client: u.client(), Key: v.Key, Token: u.from.Value.Token, Value: u.from.Value.Value, Word: "read", Ops: []int{u.from.Index},
			Text: fmt.Sprintf("%s read %d", u.client(), u.from.Value.Value)})
	}
	n.marked(u.lost, holder(u.other))
	n.marked(u.write, u.client())
	n.stored(storedWrite{op: u.lost}, holder(u.other), false)
	n.stored(storedWrite{op: u.write}, u.client(), false)
	passed := fmt.Sprintf("no token of %s was ever put into the storage, which should have refused the write", u.client())
	if m := r.marked(u.write); m != nil {
		passed = fmt.Sprintf("%s's token was put there only after that, so the comparison could not tell", u.client())
		if m.Index < u.lost.Index {
			passed = fmt.Sprintf("%s's token had been put there before that: the storage should have refused one of the two", u.client())
		}
	}
	n.violated(fmt.Sprintf("%s computed %d from %d, which %s had replaced by %d, so that update is lost; %s",
		u.client(), u.write.Value.Value, u.from.Value.Value, u.loser(), u.lost.Value.Value, passed))
}

// marked adds when the token of a write was stored in the storage.
func (n *narrative) marked(write *history.Op, client string) {
	if m := n.r.marked(write); m != nil {
		n.add(Event{At: m.Time, Kind: EventMarked, Client: client, Key: m.Key, Token: m.Value.Token, Word: "mark", Ops: []int{m.Index},
			Text: fmt.Sprintf("%s put its token into the storage", client)})
	}
}

// bothWrote adds why two clients wrote under leases of which at most one should be held at a time.
func (n *narrative) bothWrote(u lostUpdate) {
	if u.mine == nil || u.other == nil || u.mine == u.other {
		return
	}
	if o, ok := n.r.leaseOverlap(u.mine, u.other); ok && o.from() <= u.write.Time {
		n.overlap(o)
		return
	}
	earlier, later, acted := u.mine, u.other, u.write.Time
	if u.other.Acquired() < u.mine.Acquired() {
		earlier, later, acted = u.other, u.mine, u.lost.Time
	}
	if endBefore(earlier, acted) >= acted { // its client wrote while the lease was valid
		n.lease(earlier, acted)
	} else {
		n.outlived(earlier, acted)
	}
	n.lease(later, 0)
}

// marked returns the last operation before a write that stored the write's token in the storage.
func (r *run) marked(write *history.Op) *history.Op {
	before, _ := r.h.Position(write.Index)
	for i := before - 1; i >= 0; i-- {
		op := &r.h.Ops[i]
		if op.F == history.FMark && op.Key == write.Key && op.Value != nil && op.Value.Token == write.Value.Token {
			return op
		}
	}
	return nil
}
