package judge_test

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockpick/campaign/judge"
	"lockpick/history/logs"
)

// TestPartsJudgedAtOnceAreJudgedInTurn: several parts of a log at a time show the same violations in the same order, and
// the same totals, as one part after the other.
func TestPartsJudgedAtOnceAreJudgedInTurn(t *testing.T) {
	violations, parts := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		l := importLogs(t, logs.Options{Format: logs.JSONL, NoTTL: true, ClockError: new(time.Duration)}, []string{"a.log"}, map[string]string{"a.log": drawHolds(t)})
		size := rapid.IntRange(1, 10).Draw(t, "size")
		found, totals, err := judge.CheckParts(l, size, 1)
		if err != nil {
			t.Fatal(err)
		}
		foundAtOnce, totalsAtOnce, err := judge.CheckParts(l, size, 4)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(found, foundAtOnce) {
			t.Fatalf("at once: %v, in turn: %v", foundAtOnce, found)
		}
		if !reflect.DeepEqual(totals, totalsAtOnce) {
			t.Fatalf("at once: %+v, in turn: %+v", totalsAtOnce, totals)
		}
		violations += len(found)
		for range l.Parts(size) {
			parts++
		}
	})
	if violations == 0 || parts < 200 {
		t.Errorf("%d violations in %d parts: nothing was compared", violations, parts)
	}
}
