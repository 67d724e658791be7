package history

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestScanIsReadWhateverIsDamaged checks that reading with several goroutines finds the operations and the error that
// reading line by line finds, in histories of several blocks with one damage anywhere.
func TestScanIsReadWhateverIsDamaged(t *testing.T) {
	damages := map[string]func(lines [][]byte, at int) [][]byte{
		"none":             func(lines [][]byte, _ int) [][]byte { return lines },
		"cut":              func(lines [][]byte, at int) [][]byte { return append(lines[:at], lines[at][:len(lines[at])/2]) },
		"not an operation": func(lines [][]byte, at int) [][]byte { lines[at] = []byte("[1]\n"); return lines },
		"an empty line":    func(lines [][]byte, at int) [][]byte { lines[at] = []byte("\n"); return lines },
		"out of order":     func(lines [][]byte, at int) [][]byte { return append(lines, lines[at]) },
		"an unknown field": func(lines [][]byte, at int) [][]byte {
			lines[at] = append([]byte(`{"newer":1,`), lines[at][1:]...)
			return lines
		},
	}
	var names []string
	for name := range damages {
		names = append(names, name)
	}
	slices.Sort(names)
	rapid.Check(t, func(t *rapid.T) {
		file := manyLines(t, rapid.IntRange(1, 4*blockLines).Draw(t, "n"))
		lines := slices.Collect(bytes.Lines(file))
		damage := rapid.SampledFrom(names).Draw(t, "damage")
		content := bytes.Join(damages[damage](lines, rapid.IntRange(1, len(lines)-1).Draw(t, "at")), nil)

		read, wanted := Read(bytes.NewReader(content))
		var ops []Op
		scanned, err := Scan(bytes.NewReader(content), func(op *Op) error {
			ops = append(ops, *op)
			return nil
		})
		if (err == nil) != (wanted == nil) || err != nil && err.Error() != wanted.Error() {
			t.Fatalf("scanning ends with %v, reading with %v", err, wanted)
		}
		if err != nil {
			return
		}
		scanned.Ops = ops
		if !reflect.DeepEqual(scanned, read) {
			t.Fatalf("scanned %d operations, torn %v, %v; read %d, torn %v, %v", len(ops), scanned.Torn, scanned.Problems, len(read.Ops), read.Torn, read.Problems)
		}
	})
}

// TestScanEndsWithItsCaller checks that an error of the caller ends a scan before it has read everything.
func TestScanEndsWithItsCaller(t *testing.T) {
	enough := errors.New("enough")
	n := 0
	_, err := Scan(bytes.NewReader(manyLines(t, 20*blockLines)), func(*Op) error {
		if n++; n == 3*blockLines {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || n != 3*blockLines {
		t.Errorf("scanning ended with %v after %d operations", err, n)
	}
}

// manyLines is a history of n operations.
func manyLines(t rapid.TB, n int) []byte {
	var file bytes.Buffer
	r, err := NewRecorder(&file, Header{Name: "n"}, func() time.Duration { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		r.Record(Op{Process: "c1", Type: Invoke, F: FAcquire, Key: "k0"})
	}
	return file.Bytes()
}
