package history

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestDecodeAsTheStandardLibrary: a line is read as encoding/json reads it, also one in
// which something was changed: what one rejects, the other does too.
func TestDecodeAsTheStandardLibrary(t *testing.T) {
	fast := 0
	rapid.Check(t, func(t *rapid.T) {
		var d decoder
		for range 4 { // with the texts and the room of the lines before
			var op Op
			if rapid.Bool().Draw(t, "plain") {
				op = vote()
			} else {
				fill(t, reflect.ValueOf(&op).Elem())
			}
			line, err := appendOp(nil, &op)
			if err != nil {
				t.Fatal(err)
			}
			line = append(line, '\n')
			for range rapid.IntRange(0, 2).Draw(t, "changes") {
				i := rapid.IntRange(0, len(line)-1).Draw(t, "at")
				with := []byte(rapid.SampledFrom([]string{"", "0", "1", " ", "\"", ",", "}", "null", "\\", "e5", "-", `"index":7,`, `"value":{"took":1},`, "T", "\n"}).Draw(t, "with"))
				line = append(line[:i:i], append(with, line[i+rapid.IntRange(0, 1).Draw(t, "instead"):]...)...)
			}
			var want, got Op
			problem := json.Unmarshal(line, &want)
			if err := d.op(line, &got); (err == nil) != (problem == nil) {
				t.Fatalf("of %q encoding/json says %v, and decoder %v", line, problem, err)
			}
			if problem == nil && !reflect.DeepEqual(got, want) {
				t.Fatalf("%q is read as\n%+v %+v\nby encoding/json, and as\n%+v %+v", line, want, want.Value, got, got.Value)
			}
			d.line, d.at = line, 0
			if d.plain(&Op{}) {
				fast++
			}
		}
	})
	if fast == 0 {
		t.Error("no line was in the plain form")
	}
}

func vote() Op {
	return Op{Index: 123, Time: 1234567890, Process: "m1", Type: OK, F: FVote, Key: "k0", Value: &Value{
		Token: "0123456789012345678901234567890123456789", Client: "c1", Command: CommandSet, Yes: true, Took: 912 * time.Microsecond,
	}}
}

func BenchmarkDecode(b *testing.B) {
	op := vote()
	line, err := appendOp(nil, &op)
	if err != nil {
		b.Fatal(err)
	}
	line = append(line, '\n')
	b.Run("decoder", func(b *testing.B) {
		b.ReportAllocs()
		var d decoder
		for b.Loop() {
			var op Op
			if err := d.op(line, &op); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var op Op
			if err := json.Unmarshal(line, &op); err != nil {
				b.Fatal(err)
			}
		}
	})
}
