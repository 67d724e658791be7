package workload

import (
	"errors"
	"sync"

	"lockpick/history"
)

// Resource is the resource that the lock guards: a register per key, and a fenced copy of each
// register, which rejects writes with a lower fencing token than the highest one so far. It is
// linearizable: there is one mutex, and each write is recorded at the moment at which it is
// applied.
//
// Every write goes to both registers, so one run shows the effect of a stale write (L4), and
// whether fencing would have prevented it (L5).
//
// With compare-and-set a register also has a mark, which is the token that was written last by
// Mark. The register applies a write only with that token (antirez, "Is Redlock safe?"). A mark
// is never removed, only replaced.
type Resource struct {
	record func(history.Op) history.Op
	cas    bool
	mu     sync.Mutex
	plain  map[string]int64
	fenced map[string]int64  // the highest fencing token so far
	marks  map[string]string // with compare-and-set: the mark of the register
}

// ErrMarked says that the resource refused a write because its mark is not the writer's token.
var ErrMarked = errors.New("refused: the resource carries another's token")

// NewResource makes a Resource that records its operations with record. cas selects
// compare-and-set.
func NewResource(cas bool, record func(history.Op) history.Op) *Resource {
	return &Resource{record: record, cas: cas, plain: map[string]int64{}, fenced: map[string]int64{}, marks: map[string]string{}}
}

// Mark writes a token into the register. With compare-and-set, the register applies only writes
// with that token from now on.
func (r *Resource) Mark(key, token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.marks[key] = token
	r.note(history.FMark, key, history.OK, &history.Value{Token: token})
}

// Read returns the plain register's value.
func (r *Resource) Read(key string) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.plain[key]
}

// Write applies a write to the plain register, or returns ErrMarked. A write with a fencing
// token is also applied to the copy, unless the copy has seen a higher token; the copy ignores
// marks.
func (r *Resource) Write(key, token string, fence, value int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var refused error
	if r.cas && r.marks[key] != token {
		refused = ErrMarked
	}
	verdict := history.Fail
	if refused == nil {
		r.plain[key] = value
		verdict = history.OK
	}
	r.note(history.FApply, key, verdict, &history.Value{Token: token, Fence: fence, Value: value})
	if fence == 0 {
		return refused
	}
	verdict = history.Fail
	if fence >= r.fenced[key] {
		r.fenced[key] = fence
		verdict = history.OK
	}
	r.note(history.FApply, key, verdict, &history.Value{Token: token, Fence: fence, Value: value, Fenced: true})
	return refused
}

func (r *Resource) note(f, key string, t history.Type, v *history.Value) {
	r.record(history.Op{Process: history.Resource, Type: t, F: f, Key: key, Value: v})
}
