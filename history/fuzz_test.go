package history

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"lockpick/internal/inputs"
)

// FuzzRead checks that no input makes Read panic. A history that Read accepts is in order and
// within bounds, every view can be built from it, and it survives being written and read again.
// Scan must yield the operations that Read keeps.
func FuzzRead(f *testing.F) {
	f.Fuzz(checkRead)
}

func checkRead(t *testing.T, input []byte) {
	h, err := Read(bytes.NewReader(input))
	if err != nil {
		if text := err.Error(); !strings.HasPrefix(text, "history: ") || strings.Contains(text, "\n") {
			t.Fatalf("not a sentence that says where: %q", text)
		}
		return
	}
	for i := range h.Ops {
		if op := &h.Ops[i]; op.Index != i || op.Time < 0 || op.Time > MaxTime || i > 0 && op.Time < h.Ops[i-1].Time {
			t.Fatalf("operation %d is %+v", i, op)
		}
	}
	views(t, h.Ops)
	n := 0
	scanned, err := Scan(bytes.NewReader(input), func(op *Op) error {
		if !reflect.DeepEqual(*op, h.Ops[n]) {
			t.Fatalf("scanned %+v, read %+v", op, h.Ops[n])
		}
		n++
		return nil
	})
	if err != nil || n != len(h.Ops) || scanned.Torn != h.Torn || !reflect.DeepEqual(scanned.Problems, h.Problems) {
		t.Fatalf("scanned %d operations of %d: %v", n, len(h.Ops), err)
	}
	again, err := Read(bytes.NewReader(encoded(t, h)))
	if err != nil {
		t.Fatal(err)
	}
	if again.Torn || !reflect.DeepEqual(encoded(t, again), encoded(t, h)) {
		t.Fatalf("written, and read again, it is\n%s\nand was\n%s", encoded(t, again), encoded(t, h))
	}
}

// FuzzLine checks that the decoder parses any line as encoding/json does.
func FuzzLine(f *testing.F) {
	f.Fuzz(checkLine)
}

func checkLine(t *testing.T, line []byte) {
	var d decoder
	same(t, &d, line)
}

func encoded(t *testing.T, h *History) []byte {
	t.Helper()
	header, err := json.Marshal(h.Header)
	if err != nil {
		t.Fatal(err)
	}
	b := append(header, '\n')
	for i := range h.Ops {
		if b, err = appendOp(b, &h.Ops[i]); err != nil {
			t.Fatal(err)
		}
		b = append(b, '\n')
	}
	return b
}

// views builds all views of a history and checks their invariants.
func views(t *testing.T, ops []Op) {
	t.Helper()
	calls := CallsOf(ops)
	for i := range ops {
		if at, ok := calls.Began(i); at > ops[i].Time || ok != calls.Completed(i) && ok {
			t.Fatalf("line %d began at %v", i, at)
		}
	}
	ids := map[int]bool{}
	for _, l := range Leases(ops) {
		if ids[l.ID] || l.Invoked > l.Acquired() || l.ReleaseIndex >= 0 && l.Released < l.Acquired() {
			t.Fatalf("%+v", l)
		}
		ids[l.ID] = true
		var before time.Duration
		for _, s := range l.Holds() {
			if s.From < before {
				t.Fatalf("the holds of %+v overlap", l)
			}
			before = max(s.From, s.To)
		}
	}
	Votes(ops)
	Faults(ops)
}

// TestManyInputs runs the fuzz tests on many more inputs.
func TestManyInputs(t *testing.T) {
	t.Run("FuzzRead", func(t *testing.T) {
		inputs.Try(t, "FuzzRead", nil, checkRead)
	})
	t.Run("FuzzLine", func(t *testing.T) {
		inputs.Try(t, "FuzzLine", nil, checkLine)
	})
}
