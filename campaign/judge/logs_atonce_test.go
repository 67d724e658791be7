package judge

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockpick/history/logs"
)

// TestPartsJudgedAtOnceAreJudgedInTurn: several parts of a log at a time show the same violations in the same order, and
// the same totals, as one part after the other.
func TestPartsJudgedAtOnceAreJudgedInTurn(t *testing.T) {
	violations, parts := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		start := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
		var log strings.Builder
		for i := range rapid.IntRange(1, 80).Draw(t, "holds") {
			at := start.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "at")) * time.Millisecond)
			held := time.Duration(rapid.IntRange(1, 150).Draw(t, "held")) * time.Millisecond
			fmt.Fprintf(&log, `{"acquired":%q,"releasing":%q,"key":"k%d","token":"t%d","client":"c%d","host":"h"}`+"\n",
				at.Format(time.RFC3339Nano), at.Add(held).Format(time.RFC3339Nano), rapid.IntRange(0, 2).Draw(t, "key"), i, i%3)
		}
		im, err := logs.New(logs.Options{Format: logs.JSONL, NoTTL: true, ClockError: new(time.Duration)})
		if err != nil {
			t.Fatal(err)
		}
		if err := im.Read("a.log", strings.NewReader(log.String())); err != nil {
			t.Fatal(err)
		}
		l, err := im.Log()
		if err != nil {
			t.Fatal(err)
		}
		size := rapid.IntRange(1, 10).Draw(t, "size")
		found, totals, err := checkParts(l, size, 1)
		if err != nil {
			t.Fatal(err)
		}
		foundAtOnce, totalsAtOnce, err := checkParts(l, size, 4)
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
