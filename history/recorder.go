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
	line      []byte   // room for the operation that is being written
	kept      *History // instead of w: the header
	pool      *Pool    // of kept, until History is called
	shared    bool     // the pool is used again, and so is the memory of kept
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

// NewMemory returns a recorder that keeps its history in memory: for the many runs of a
// search, of which few are ever written. Callers of Record must not change an operation's
// Value afterwards.
func NewMemory(h Header, now func() time.Duration) *Recorder {
	r := NewPooled(h, now, pools.Get().(*Pool))
	r.shared = false
	return r
}

// pools are of recorders from NewMemory: only their slices of operations are used again.
var pools = sync.Pool{New: func() any { return &Pool{} }}

// NewPooled is NewMemory in the memory of the pool's previous history, which nobody may use any
// more: neither its operations nor their values.
func NewPooled(h Header, now func() time.Duration, pool *Pool) *Recorder {
	h.Format = FormatVersion
	pool.reset()
	return &Recorder{kept: &History{Header: h}, pool: pool, shared: true, now: now}
}

// History returns the history of a recorder from NewMemory; nil for other recorders. The
// recorder must not be used afterwards.
func (r *Recorder) History() *History {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pool == nil {
		return r.kept
	}
	r.kept.Ops, r.kept.Ended = r.pool.ops, r.ended
	if !r.shared {
		r.kept.Ops = r.pool.leave()
		pools.Put(r.pool)
	}
	r.pool = nil
	return r.kept
}

// Value returns a new Value for an operation to be recorded. A recorder that keeps all
// values allocates many at a time.
func (r *Recorder) Value() *Value {
	if r.kept == nil {
		return &Value{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pool == nil { // the history was taken
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
// and returns it. A failed write is kept and reported by Err: the processes that
// record could do nothing about it. Nothing is written after it, so that the lines
// before it stay a readable history with a torn end.
//
// The end mark (FEnd of the harness) is the last line: an operation that comes after it, such as the late
// return of a call that hung, is dropped.
func (r *Recorder) Record(op Op) Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.record(op, r.now())
}

// RecordAt records an event that happened at an earlier time of the run: Delay in the
// operation's Value says how much earlier.
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
	// leastDelay is the shortest delay that is recorded of a vote or a look: less is noise, and
	// would cost a number in most lines.
	leastDelay = time.Millisecond
	// longWrite is how long it takes to write a line before that counts as a stall.
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

// stall records that a write took long: all callers of the recorder had to wait.
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

// Seal ends the history: later operations are dropped, as after the end mark.
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
