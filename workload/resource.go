package workload

import (
	"errors"
	"sync"

	"lockpick/history"
)

// Resource is what the lock guards: a register per key, and a fenced copy of each that
// rejects writes whose fencing token is lower than the highest it has seen. It is
// linearizable: one mutex, and each write is recorded the moment it is applied.
//
// Every write goes to both, so one run tells what a stale write does (L4), and
// whether fencing would have stopped it (L5).
//
// With compare-and-set a register also carries a mark, the token of whoever wrote it
// there last, and applies a write only if that is the writer's (antirez, "Is Redlock
// safe?"). Nobody takes a mark away: another's replaces it.
type Resource struct {
	record func(history.Op) history.Op
	cas    bool
	mu     sync.Mutex
	plain  map[string]int64
	fenced map[string]int64  // the highest fencing token seen
	marks  map[string]string // with compare-and-set: whose token it carries
}

// ErrMarked says that a write was refused: the resource carries another's token.
var ErrMarked = errors.New("refused: the resource carries another's token")

// NewResource records with record what becomes of it. cas: it compares and sets.
func NewResource(cas bool, record func(history.Op) history.Op) *Resource {
	return &Resource{record: record, cas: cas, plain: map[string]int64{}, fenced: map[string]int64{}, marks: map[string]string{}}
}

// Mark puts a token into the register: with compare-and-set, from now on only writes
// with that token are applied.
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

// Write applies a write to the plain register, or returns ErrMarked. If it carries a
// fencing token the copy applies it too, unless it has seen a higher one; the copy
// compares nothing else.
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
