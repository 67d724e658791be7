package checker

import (
	"fmt"
	"time"

	"lockpick/history"
)

// explainStaleWrite explains that a write was applied after a write of a later lease.
func (r *run) explainStaleWrite(v *Violation, s staleWrite) {
	a, b := s.earlier, s.later
	v.Summary = fmt.Sprintf("a write of %s to %s was applied at %s, after one of %s, whose lease is the later one",
		a.Process, v.Key, at(v.At), other(b.Process, a.Process))
	n := r.narrate(v)
	if o, ok := r.leaseOverlap(a, b); ok && o.from() <= s.write.Time {
		n.overlap(o)
	} else {
		n.outlived(a, s.write.Time)
		n.lease(b, 0)
	}
	n.stored(storedWrite{op: s.after}, b.Process, false)
	n.stored(storedWrite{op: s.write}, a.Process, false)
	for _, w := range r.storedUnder(a) {
		if w.op.Time == s.write.Time && w.op.Value.Value == s.write.Value.Value && w.op.Type == history.Fail {
			n.stored(w, a.Process, false)
		}
	}
	text := fmt.Sprintf("the storage applied %s's write of %d after the write of %d under the later lease of %s", a.Process, s.write.Value.Value,
		s.after.Value.Value, other(b.Process, a.Process))
	switch {
	case !s.write.Value.Fenced:
	case s.write.Value.Fence < s.after.Value.Fence:
		text += fmt.Sprintf("; its fencing token %d is lower than %d, so the storage should have refused it", s.write.Value.Fence, s.after.Value.Fence)
	default:
		text += fmt.Sprintf("; its fencing token %d is not lower than %d, so the fence could not tell", s.write.Value.Fence, s.after.Value.Fence)
	}
	n.violated(text)
}

// storedWrite is a write that the storage applied or refused.
type storedWrite struct {
	op      *history.Op
	highest int64 // if the fence refused it: the highest fencing token before it
	stale   bool  // it was applied after a write of a later lease
}

func (w storedWrite) late() bool { return w.stale || w.op.Type == history.Fail }

// storedUnder returns what the storage did with the writes under a lease, in order: the writes that the storage
// without a fence applied, and those that the storage with a fence or a mark refused.
func (r *run) storedUnder(l *history.Lease) []storedWrite {
	return r.effects.get(func() map[*history.Lease][]storedWrite {
		effects := map[*history.Lease][]storedWrite{}
		granted, highest := r.leasesByToken(), map[string]int64{}
		stale := map[int]bool{}
		for _, s := range r.writes(false).stale {
			stale[s.write.Index] = true
		}
		for i := range r.h.Ops {
			op := &r.h.Ops[i]
			if op.F != history.FApply || op.Value == nil {
				continue
			}
			w := storedWrite{op: op, stale: stale[op.Index]}
			switch {
			case op.Value.Fenced && op.Type == history.OK:
				highest[op.Key] = max(highest[op.Key], op.Value.Fence)
				continue
			case op.Value.Fenced:
				w.highest = highest[op.Key]
			}
			if of := latestBy(granted[keyToken{op.Key, op.Value.Token}], op.Index); of != nil {
				effects[of] = append(effects[of], w)
			}
		}
		return effects
	})[l]
}

// storage adds what the storage did with the writes under a lease, as details. Where two clients rely on the lock at
// once, the first write that comes late is what that leads to, and part of the reason.
func (n *narrative) storage(l *history.Lease) {
	switch n.v.Level {
	case NoStaleWrite.Level, FencedWrites.Level, NoLostUpdate.Level: // they tell the writes that matter
		return
	}
	shared := n.v.Property == MutualExclusion.Name || n.v.Property == BeliefExclusion.Name
	first := time.Duration(-1) // of the late writes
	for _, w := range n.r.storedUnder(l) {
		late := shared && w.late() && w.op.Time >= n.v.At && (first < 0 || w.op.Time == first)
		if late {
			first = w.op.Time
		}
		n.stored(w, l.Process, !late)
	}
}

// stored adds that the storage applied or refused a write, and when its client sent the write.
func (n *narrative) stored(w storedWrite, client string, detail bool) {
	apply, value := w.op, w.op.Value
	if sent, i, ok := n.r.sent(apply); ok && sent < apply.Time {
		n.add(Event{At: sent, Kind: EventSent, Detail: detail, Client: client, Key: apply.Key, Token: value.Token, Value: value.Value, Word: "write", Ops: []int{i},
			Text: fmt.Sprintf("%s sent its write of %d", client, value.Value)})
	}
	storage := "the storage"
	switch {
	case value.Fenced:
		storage += " with a fence"
	case value.Fence != 0:
		storage += " without a fence"
	}
	e := Event{At: apply.Time, Kind: EventApplied, Detail: detail, Client: client, Key: apply.Key, Token: value.Token, Value: value.Value, Ops: []int{apply.Index}, Word: "applied",
		Text: fmt.Sprintf("%s applied %s's write of %d", storage, client, value.Value)}
	if value.Fenced {
		e.Fence = value.Fence
	}
	switch {
	case apply.Type == history.Fail:
		e.Kind, e.Word, e.Text = EventRejected, "refused", fmt.Sprintf("%s refused %s's write of %d", storage, client, value.Value)
		if !value.Fenced {
			e.Text += ": it carries another's token"
			break
		}
		e.Word = fmt.Sprintf("%d < %d", value.Fence, w.highest)
		e.Text += ": token " + e.Word
	case w.stale:
		e.Text += ", after a write of a later lease"
	case value.Fenced:
		e.Text += fmt.Sprintf(" with the fencing token %d", value.Fence)
	}
	n.add(e)
}

// sent returns when a client sent the write that was applied, and the line that shows it.
func (r *run) sent(apply *history.Op) (time.Duration, int, bool) {
	before, _ := r.h.Position(apply.Index)
	for i := before - 1; i >= 0; i-- {
		op := &r.h.Ops[i]
		if op.F == history.FWrite && op.Type == history.Invoke && op.Key == apply.Key && op.Value != nil &&
			op.Value.Token == apply.Value.Token && op.Value.Value == apply.Value.Value && op.Value.Fenced == apply.Value.Fenced {
			return op.Time, op.Index, true
		}
	}
	return 0, 0, false
}
