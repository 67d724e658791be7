package workload

import (
	"sync"

	"lockpick/history"
)

// Resource is what the lock guards: a register per key, and a twin of each that
// rejects writes whose fencing token is lower than the highest it has seen. It is
// linearizable: one mutex, and each write is recorded the moment it is applied.
//
// Every write goes to both, so one run tells what a stale write does (L4), and
// whether fencing would have stopped it (L5).
type Resource struct {
	record func(history.Op) history.Op
	mu     sync.Mutex
	plain  map[string]int64
	fenced map[string]int64 // the highest fencing token seen
}

// NewResource records what it applies with record.
func NewResource(record func(history.Op) history.Op) *Resource {
	return &Resource{record: record, plain: map[string]int64{}, fenced: map[string]int64{}}
}

// Read returns the plain register's value.
func (r *Resource) Read(key string) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.plain[key]
}

// Write applies a write to the plain register. If it carries a fencing token the
// twin applies it too, unless it has seen a higher one.
func (r *Resource) Write(key, token string, fence, value int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plain[key] = value
	r.apply(key, history.OK, &history.Value{Token: token, Fence: fence, Value: value})
	if fence == 0 {
		return
	}
	verdict := history.Fail
	if fence >= r.fenced[key] {
		r.fenced[key] = fence
		verdict = history.OK
	}
	r.apply(key, verdict, &history.Value{Token: token, Fence: fence, Value: value, Fenced: true})
}

func (r *Resource) apply(key string, t history.Type, v *history.Value) {
	r.record(history.Op{Process: history.Resource, Type: t, F: history.FApply, Key: key, Value: v})
}
