package checker

import (
	"time"

	"lockpick/history"
)

// asked returns when the operation that ended in the line at index began.
func (r *run) asked(index int) (time.Duration, bool) {
	i, _ := r.h.Position(index)
	return r.invocations().Began(i)
}

// called returns the line of the call that ended in the line at index.
func (r *run) called(index int) (int, bool) {
	i, _ := r.h.Position(index)
	n, known := r.invocations().Invocation(i)
	if !known {
		return 0, false
	}
	return r.h.Ops[n].Index, true
}

func (r *run) invocations() *history.Calls {
	return r.calls.get(func() *history.Calls { return history.CallsOf(r.h.Ops) })
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

// written reports whether a write that a client began succeeded: a client may begin a write
// and then give it up because its lease is over.
func (r *run) written(invoke *history.Op) bool {
	for op := range r.following(invoke.Process, invoke.Index) {
		if op.F == history.FWrite {
			return op.Type == history.OK
		}
	}
	return false
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
