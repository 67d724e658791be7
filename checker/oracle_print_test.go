package checker_test

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"lockpick/checker"
	"lockpick/history"
)

// TestPrintedHistoriesCanBePasted: a history that a failed comparison prints is the same history as a case of a golden file.
func TestPrintedHistoriesCanBePasted(t *testing.T) {
	seeded(t, oracleHistories()/10, *oracleSeed, func(r *rapid.T) {
		h, _ := drawHistory(r)
		header, text := checker.WriteHeader(h.Header), checker.WriteHistory(h)
		again, err := checker.ParseCase(t, header, text)
		if err != nil {
			r.Fatalf("%v in\n%s\n%s", err, header, text)
		}
		if !reflect.DeepEqual(again.Header, h.Header) {
			r.Fatalf("the header %+v is read as %+v", h.Header, again.Header)
		}
		if len(again.Ops) != len(h.Ops) {
			r.Fatalf("%d lines are read as %d:\n%s\n%s", len(h.Ops), len(again.Ops), header, text)
		}
		for i := range h.Ops {
			if got, want := plain(again.Ops[i]), plain(h.Ops[i]); !reflect.DeepEqual(got, want) {
				r.Fatalf("line %d is %+v %+v, and read as %+v %+v:\n%s\n%s", i, want, want.Value, got, got.Value, header, text)
			}
		}
	})
}

// plain returns the operation with a value, which says nothing if the operation has none.
func plain(op history.Op) history.Op {
	if op.Value == nil {
		op.Value = &history.Value{}
	}
	return op
}
