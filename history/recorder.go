package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Recorder writes a history as it happens. It is safe for concurrent use: one
// mutex gives every operation its index and its time, so the order of the lines
// is the order of the times.
type Recorder struct {
	mu        sync.Mutex
	w         io.Writer
	line      []byte   // buffer for the operation that is being written
	kept      *History // if there is no w: the history in memory
	pool      *Pool    // the memory of kept, until History is called
	shared    bool     // the caller reuses the pool, and with it the memory of kept
	now       func() time.Duration
	next      int
	ended     bool // the end mark is recorded
	err       error
	observers []func(Op)
	stalled   time.Duration // total duration of slow writes
}

// NewRecorder writes the header to w and returns a recorder whose times come
// from now (time since the run began). Each operation is one Write call on w,
// unbuffered: recorded lines survive if the harness is killed.
func NewRecorder(w io.Writer, h Header, now func() time.Duration) (*Recorder, error) {
	h.Format = FormatVersion
	r := &Recorder{w: w, now: now}
	line, err := json.Marshal(h)
	if err == nil {
		_, err = w.Write(append(line, '\n'))
	}
	if err != nil {
		return nil, fmt.Errorf("history: write the header: %w", err)
	}
	return r, nil
}

// NewMemory returns a recorder that keeps its history in memory: a search makes many runs,
// and few of their histories are ever written. Callers of Record must not change an operation's
// Value afterwards.
func NewMemory(h Header, now func() time.Duration) *Recorder {
	r := NewPooled(h, now, pools.Get().(*Pool))
	r.shared = false
	return r
}

// pools holds the pools of recorders from NewMemory, which reuse only the slices of operations.
var pools = sync.Pool{New: func() any { return &Pool{} }}

// NewPooled is like NewMemory, but reuses the memory of the pool's previous history. The caller
// must no longer use the operations of that history or their values.
func NewPooled(h Header, now func() time.Duration, pool *Pool) *Recorder {
	h.Format = FormatVersion
	pool.reset()
	return &Recorder{kept: &History{Header: h}, pool: pool, shared: true, now: now}
}

// History returns the history of a recorder from NewMemory or NewPooled, and nil for other
// recorders. The caller must not use the recorder afterwards.
func (r *Recorder) History() *History {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pool == nil {
		return r.kept
	}
	r.kept.Ops, r.kept.Ended = r.pool.ops, r.ended
	if !r.shared {
		r.kept.Ops = r.pool.detach()
		pools.Put(r.pool)
	}
	r.pool = nil
	return r.kept
}

// Value returns a new Value for an operation to be recorded. A recorder in memory allocates many
// values at a time.
func (r *Recorder) Value() *Value {
	if r.kept == nil {
		return &Value{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pool == nil { // History was called
		return &Value{}
	}
	return r.pool.value()
}

// Observe registers f to be called with each operation, in order, before Record
// returns. f must not block and must not record.
func (r *Recorder) Observe(f func(Op)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.observers = append(r.observers, f)
}

// Record stamps the operation with the next index and the time now, appends it
// and returns it. If a write fails, Err returns the error, since the processes that
// record could do nothing about it. The recorder then writes no more lines, so that
// the lines before the failure stay a readable history with a torn end.
//
// The end mark (FEnd of the harness) is the last line: Record drops any later operation,
// such as the late return of a call that hung.
func (r *Recorder) Record(op Op) Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.record(op, r.now())
}

// RecordAt records an event that happened at an earlier time of the run. It sets Delay in the
// operation's Value to the difference.
func (r *Recorder) RecordAt(op Op, happened time.Duration) Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if op.Value == nil {
		op.Value = &Value{}
	}
	if late := now - happened; late >= leastDelay || late > 0 && !op.observed() {
		op.Value.Delay = late
	}
	return r.record(op, now)
}

const (
	// leastDelay is the shortest delay that is recorded for a vote or a snapshot: a shorter one is
	// noise, and would cost a number in most lines.
	leastDelay = time.Millisecond
	// longWrite is the duration beyond which writing a line counts as a stall.
	longWrite = 30 * time.Millisecond
)

// record records an operation at a time. The caller holds r.mu.
func (r *Recorder) record(op Op, now time.Duration) Op {
	op.Index, op.Time = r.next, now
	if r.ended {
		return op
	}
	r.ended = op.endsHistory()
	r.next++
	switch {
	case r.pool != nil:
		r.pool.ops = append(r.pool.ops, op)
	case r.kept != nil:
		panic("history: an operation is recorded after the history was taken")
	case r.err == nil:
		if err := r.write(&op); err != nil {
			r.err = fmt.Errorf("history: write operation %d: %w", op.Index, err)
		}
	}
	for _, f := range r.observers {
		f(op)
	}
	r.stall(now)
	return op
}

// Stalled returns the total time that slow writes have made callers of the recorder wait so far.
// It waits for the write that is in progress.
func (r *Recorder) Stalled() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stalled
}

// stall records that a write took long, because all callers of the recorder had to wait for it.
func (r *Recorder) stall(since time.Duration) {
	if r.w == nil || r.ended || r.err != nil {
		return
	}
	now := r.now()
	if took := now - since; took >= leastDelay {
		r.stalled += took
	}
	if now-since <= longWrite {
		return
	}
	op := Op{Index: r.next, Time: now, Process: Harness, Type: Info, F: FStall, Value: &Value{Took: now - since}}
	r.next++
	if err := r.write(&op); err != nil {
		r.err = fmt.Errorf("history: write operation %d: %w", op.Index, err)
	}
	for _, f := range r.observers {
		f(op)
	}
}

// Seal ends the history: the recorder drops later operations, as after the end mark.
func (r *Recorder) Seal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}

// Len returns the number of operations recorded.
func (r *Recorder) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.next
}

// Err returns the first error of a write, or nil.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

func (r *Recorder) write(op *Op) (err error) {
	if r.line, err = appendOp(r.line[:0], op); err != nil {
		return err
	}
	r.line = append(r.line, '\n')
	_, err = r.w.Write(r.line)
	return err
}

// WriteFile writes a history that was kept in memory into a file.
func WriteFile(path string, h *History) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	at := time.Duration(0)
	recorder, err := NewRecorder(file, h.Header, func() time.Duration { return at })
	if err != nil {
		return err
	}
	for _, op := range h.Ops {
		at = op.Time
		recorder.Record(op)
	}
	return recorder.Err()
}
