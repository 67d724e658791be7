package facts

import (
	"time"

	"lockpick/history"
)

// CalledAt returns when the operation that ended in the line at index began.
func (r *Run) CalledAt(index int) (time.Duration, bool) {
	i, _ := r.History.Position(index)
	return r.calls.Began(i)
}

// CallOf returns the line of the call that ended in the line at index.
func (r *Run) CallOf(index int) (int, bool) {
	i, _ := r.History.Position(index)
	n, known := r.calls.Invocation(i)
	if !known {
		return 0, false
	}
	return r.History.IndexAt(n), true
}

// Returned returns when a call returned and the line that shows it, or the end of the history and
// -1 if the call never returned.
func (r *Run) Returned(call *history.Op) (time.Duration, int) {
	for op := range r.following(call.Process, call.Index) {
		if op.F == call.F && op.Type != history.Invoke || op.F == history.FCrash {
			return op.Time, op.Index
		}
	}
	return r.End, -1
}

// Written reports whether a write that a client began succeeded: a client may begin a write
// and then give it up because its lease is over.
func (r *Run) Written(invoke *history.Op) bool {
	for op := range r.following(invoke.Process, invoke.Index) {
		if op.F == history.FWrite {
			return op.Type == history.OK
		}
	}
	return false
}

// SentWrite returns when a client sent the write that was applied, and the line that shows it.
func (r *Run) SentWrite(apply *history.Op) (time.Duration, int, bool) {
	before, _ := r.History.Position(apply.Index)
	for i := before - 1; i >= 0; i-- {
		op := r.History.OpAt(i)
		if op.F == history.FWrite && op.Type == history.Invoke && op.Key == apply.Key && op.Value != nil &&
			op.Value.Token == apply.Value.Token && op.Value.Value == apply.Value.Value && op.Value.Fenced == apply.Value.Fenced {
			return op.Time, op.Index, true
		}
	}
	return 0, 0, false
}

// MarkOf returns the last operation before a write that stored the write's token in the storage.
func (r *Run) MarkOf(write *history.Op) *history.Op {
	before, _ := r.History.Position(write.Index)
	for i := before - 1; i >= 0; i-- {
		op := r.History.OpAt(i)
		if op.F == history.FMark && op.Key == write.Key && op.Value != nil && op.Value.Token == write.Value.Token {
			return op
		}
	}
	return nil
}
