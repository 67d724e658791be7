package history

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestConcurrent checks that, with concurrent recorders, indices have no gaps, times
// never decrease, and the file, the observers and the callers see the same order.
func TestConcurrent(t *testing.T) {
	const writers, each = 8, 100
	var file bytes.Buffer
	var clock time.Duration // under the recorder's lock; a real clock would show stalls of a busy machine
	r, err := NewRecorder(&file, Header{}, func() time.Duration { clock++; return clock })
	if err != nil {
		t.Fatal(err)
	}
	var seen, again []Op
	r.Observe(func(op Op) { seen = append(seen, op) })
	r.Observe(func(op Op) {
		if len(seen) != len(again)+1 {
			t.Error("the second observer was called before the first")
		}
		again = append(again, op)
	})
	var all sync.WaitGroup
	returned := make([][]Op, writers)
	for w := range writers {
		all.Go(func() {
			for range each {
				returned[w] = append(returned[w], r.Record(Op{Process: "c" + strconv.Itoa(w), Type: Info, F: FPaused}))
			}
		})
	}
	all.Wait()
	h, err := Read(&file) // checks indices and times
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Ops) != writers*each || r.Len() != writers*each || r.Err() != nil {
		t.Fatalf("%d operations, Len %d, Err %v", len(h.Ops), r.Len(), r.Err())
	}
	if !slices.Equal(h.Ops, seen) || !slices.Equal(h.Ops, again) {
		t.Error("an observer saw another order than the file has")
	}
	for w, ops := range returned {
		for i, op := range ops {
			if h.Ops[op.Index] != op {
				t.Fatalf("Record returned %+v, the file has %+v", op, h.Ops[op.Index])
			}
			if i > 0 && ops[i-1].Index >= op.Index {
				t.Fatalf("c%d's operations are out of order", w)
			}
		}
	}
}

// disk is a writer that accepts room bytes, the last of them as a partial write, and then is full.
type disk struct {
	bytes.Buffer
	room int
}

var errFull = errors.New("no space left")

func (d *disk) Write(p []byte) (int, error) {
	if len(p) > d.room {
		n, _ := d.Buffer.Write(p[:d.room])
		d.room = 0
		return n, errFull
	}
	d.room -= len(p)
	return d.Buffer.Write(p)
}

// TestFullDisk checks that Err returns the first failed write, observers still get operations,
// and the lines before the failure can be read, even if the disk has room again later.
func TestFullDisk(t *testing.T) {
	line := len(`{"index":0,"time":0,"process":"c1","type":"info","f":"paused"}` + "\n")
	d := &disk{room: 1 << 20}
	r, err := NewRecorder(d, Header{}, func() time.Duration { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	d.room = 2*line + 10
	seen := 0
	r.Observe(func(Op) { seen++ })
	for i := range 4 {
		if op := r.Record(Op{Process: "c1", Type: Info, F: FPaused}); op.Index != i {
			t.Errorf("operation %d has the index %d", i, op.Index)
		}
	}
	first := r.Err()
	d.room = 1 << 20
	r.Record(Op{Process: "c1", Type: Info, F: FPaused})
	if !errors.Is(first, errFull) || !strings.Contains(first.Error(), "operation 2") || r.Err() != first {
		t.Errorf("Err is %v, was %v", r.Err(), first)
	}
	h, err := Read(&d.Buffer)
	if err != nil || len(h.Ops) != 2 || !h.Torn {
		t.Errorf("read %+v, %v", h, err)
	}
	if seen != 5 || r.Len() != 5 {
		t.Errorf("observers saw %d operations, Len is %d", seen, r.Len())
	}

	if _, err := NewRecorder(&disk{}, Header{}, nil); !errors.Is(err, errFull) || !strings.Contains(err.Error(), "header") {
		t.Errorf("a header that could not be written: %v", err)
	}
}

// TestUnbuffered checks that each operation is one whole line in one write, before Record returns.
func TestUnbuffered(t *testing.T) {
	var writes []string
	r, err := NewRecorder(writer(func(p []byte) { writes = append(writes, string(p)) }), Header{}, func() time.Duration { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 3; n++ {
		r.Record(Op{Process: "c1", Type: Info, F: FPaused, Error: "two\nlines"})
		if len(writes) != n+1 || strings.Count(writes[n], "\n") != 1 || !strings.HasSuffix(writes[n], "\n") {
			t.Fatalf("after %d operations: %q", n, writes)
		}
	}
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

// TestNothingFollowsTheEndMark checks that operations after the end mark are dropped.
func TestNothingFollowsTheEndMark(t *testing.T) {
	var out bytes.Buffer
	r, err := NewRecorder(&out, Header{}, func() time.Duration { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	r.Record(Op{Process: Harness, Type: Info, F: FEnd})
	before := out.String()
	r.Record(Op{Process: "c1", Type: OK, F: FAcquire})
	if out.String() != before || r.Len() != 1 || r.Err() != nil {
		t.Errorf("%d operations, %v:\n%s", r.Len(), r.Err(), out.String())
	}
}

// TestRecordAtKeepsTheTimeOfTheEvent checks that the line of an event that is recorded late shows
// when it happened, to the millisecond.
func TestRecordAtKeepsTheTimeOfTheEvent(t *testing.T) {
	now := time.Duration(0)
	r := NewMemory(Header{}, func() time.Duration { return now })
	for _, late := range []time.Duration{0, time.Millisecond, 2 * time.Second} {
		happened := now
		now += late
		if op := r.RecordAt(Op{F: FVote}, happened); op.Time-op.Value.Delay != happened || op.Value.Delay != late {
			t.Errorf("recorded %v late: time %v, delay %v", late, op.Time, op.Value.Delay)
		}
	}
	if op := r.RecordAt(Op{F: FVote}, now+1); op.Value.Delay != 0 {
		t.Errorf("an event of the future: delay %v", op.Value.Delay)
	}
}

// An event that is recorded late has a delay, and a slow write of the recorder itself is recorded
// as a stall.
func TestRecorderRecordsItsOwnDelay(t *testing.T) {
	now := 10 * time.Second
	var file bytes.Buffer
	slow := time.Duration(0)
	r, err := NewRecorder(writer(func(p []byte) { now += slow; file.Write(p) }), Header{}, func() time.Duration { return now })
	if err != nil {
		t.Fatal(err)
	}
	vote := func(ago time.Duration) {
		r.RecordAt(Op{Process: "m1", Type: OK, F: FVote, Key: "k0", Value: &Value{Token: "t", Client: "c1", Command: CommandSet}}, now-ago)
	}
	vote(900 * time.Microsecond)
	vote(1500 * time.Millisecond)
	slow = 25 * time.Millisecond
	vote(0)
	slow = 2 * time.Second
	vote(0)
	slow = 0
	vote(0)
	h, err := Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	var delays, stalls []time.Duration
	for _, op := range h.Ops {
		if op.F == FStall {
			stalls = append(stalls, op.Value.Took)
			continue
		}
		delays = append(delays, op.Value.Delay)
	}
	if want := []time.Duration{0, 1500 * time.Millisecond, 0, 0, 0}; !slices.Equal(delays, want) {
		t.Errorf("delays %v, want %v", delays, want)
	}
	if want := []time.Duration{2 * time.Second}; !slices.Equal(stalls, want) {
		t.Errorf("stalls %v, want %v", stalls, want)
	}
}
