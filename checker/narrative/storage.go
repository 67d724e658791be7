package narrative

import (
	"fmt"
	"time"

	"lockpick/checker/facts"
	"lockpick/history"
)

// storage adds what the storage did with the writes under a lease, as details. Where two clients rely on the lock at
// once, the first write that comes late is what that leads to, and part of the reason.
func (n *Narrative) storage(l *history.Lease) {
	if n.scope.Writes {
		return
	}
	first := time.Duration(-1) // of the late writes
	for _, w := range n.r.StoredUnder(l) {
		late := n.scope.Effects && w.Late() && w.Op.Time >= n.Violation.At && (first < 0 || w.Op.Time == first)
		if late {
			first = w.Op.Time
		}
		n.Write(w, l.Process, !late)
	}
}

// Write adds that the storage applied or refused a write, and when its client sent the write.
func (n *Narrative) Write(w facts.StoredWrite, client string, detail bool) {
	apply, value := w.Op, w.Op.Value
	if sent, i, ok := n.r.SentWrite(apply); ok && sent < apply.Time {
		n.Add(Event{At: sent, Kind: EventSent, Detail: detail, Client: client, Key: apply.Key, Token: value.Token, Value: value.Value, Word: "write", Ops: []int{i},
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
		e.Word = fmt.Sprintf("%d < %d", value.Fence, w.Highest)
		e.Text += ": token " + e.Word
	case w.Stale:
		e.Text += ", after a write of a later lease"
	case value.Fenced:
		e.Text += fmt.Sprintf(" with the fencing token %d", value.Fence)
	}
	n.Add(e)
}

// Mark adds when the token of a write was stored in the storage.
func (n *Narrative) Mark(write *history.Op, client string) {
	if m := n.r.MarkOf(write); m != nil {
		n.Add(Event{At: m.Time, Kind: EventMarked, Client: client, Key: m.Key, Token: m.Value.Token, Word: "mark", Ops: []int{m.Index},
			Text: fmt.Sprintf("%s put its token into the storage", client)})
	}
}
