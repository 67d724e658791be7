package logs

import (
	"fmt"
	"testing"
)

// TestEventsAndTextsAreKept: lists of any length return what was added, and take little memory for a few.
func TestEventsAndTextsAreKept(t *testing.T) {
	var es events
	var ts texts
	const n = 3*chunk + 1
	var where []uint64
	for i := range n {
		if es.add().at = int64(i); i%100 == 0 { // the last event is dropped, as im.drop does
			es.n--
			es.add().at = int64(i)
		}
		where = append(where, ts.add(fmt.Appendf(nil, "%01000d", i)))
		if i == 2 && (len(es.chunks[0]) > 100 || cap(ts.chunks[0]) > 10_000) {
			t.Fatalf("three events take %d, and their texts %d bytes", len(es.chunks[0]), cap(ts.chunks[0]))
		}
	}
	for i := range n {
		if got := es.at(i).at; got != int64(i) {
			t.Fatalf("event %d is %d", i, got)
		}
		if got, want := ts.at(where[i]), fmt.Sprintf("%01000d", i); got != want {
			t.Fatalf("text %d is %s", i, got)
		}
	}
	if len(es.chunks) != 4 || len(ts.chunks) > 60 {
		t.Errorf("%d chunks of events, %d of texts", len(es.chunks), len(ts.chunks))
	}
}
