package facts

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockpick/history"
)

// TestIntervals checks that the index finds the same intervals as a search through all of them.
func TestIntervals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		moment := rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.IntRange(0, 20).Draw(t, "at")) })
		var spans []history.Span
		for range rapid.IntRange(0, 8).Draw(t, "spans") {
			from := moment.Draw(t, "from")
			spans = append(spans, history.Span{From: from, To: from + moment.Draw(t, "long")})
		}
		x := intervalsOf(append([]history.Span(nil), spans...))
		from, to := moment.Draw(t, "first"), moment.Draw(t, "last")
		want := 0
		for _, s := range spans {
			if Overlap(s.From, s.To, from, to) {
				want++
			}
		}
		got := 0
		x.each(from, to, func(i int) bool {
			if !Overlap(x.spans[i].From, x.spans[i].To, from, to) {
				t.Fatalf("%v does not touch [%d, %d]", x.spans[i], from, to)
			}
			got++
			return true
		})
		if got != want || x.touch(from, to) != (want > 0) {
			t.Fatalf("%d of %v touch [%d, %d], not %d", got, spans, from, to, want)
		}
	})
}

// TestCommandLogsOfOneToken checks that each command log is found if a lock uses one token for all
// keys, so that most logs are looked up in the map far.
func TestCommandLogsOfOneToken(t *testing.T) {
	var ops []history.Op
	for round := range 2 {
		for i := range 3 * near {
			ops = append(ops, history.Op{Index: len(ops), Time: time.Duration(len(ops)), Process: fmt.Sprintf("m%d", i%3+1), Type: history.OK, F: history.FVote, Key: fmt.Sprintf("k%d", i/3),
				Value: &history.Value{Client: "c1", Token: "t", Command: []string{history.CommandSet, history.CommandRelease}[round], Yes: true}})
		}
	}
	tr := New(history.Pack(&history.History{Ops: ops})).CommandLogs()
	if tr.count != 3*near {
		t.Fatalf("%d CommandLogs", tr.count)
	}
	for i := range 3 * near {
		p := Place{fmt.Sprintf("m%d", i%3+1), fmt.Sprintf("k%d", i/3)}
		x := tr.ByID(LogID{p, Party{"c1", "t"}})
		if x == nil || x.number != int32(i) || x.Sets.Len() != 1 || x.Releases.Len() != 1 || x.Extensions.Len() != 0 || x.Sets.At(0).Index != i || x.Releases.At(0).Index != 3*near+i {
			t.Errorf("the command log at %v is %+v", p, x)
		}
	}
	if x := tr.ByID(LogID{Place{"m9", "k0"}, Party{"c1", "t"}}); x != nil {
		t.Errorf("found %+v", x)
	}
}

// TestExtensionsWithoutInvocation checks that an extension without an invocation, as a watchdog
// makes it, is dated by the grant before it, and that the search does not depend on the number of
// lines.
func TestExtensionsWithoutInvocation(t *testing.T) {
	const n = 200_000
	ops := make([]history.Op, 0, n)
	ops = append(ops, history.Op{Process: "c1", Type: history.OK, F: history.FAcquire, Key: "k0", Value: &history.Value{Token: "a", ValidUntil: 10}})
	for i := 1; i < n; i++ {
		ops = append(ops, history.Op{Index: i, Time: time.Duration(i), Process: "c1", Type: history.OK, F: history.FExtend, Key: "k0", Value: &history.Value{Token: "a", ValidUntil: time.Duration(i + 10)}})
	}
	r := New(history.Pack(&history.History{Ops: ops}))
	steps := testing.AllocsPerRun(1, func() { r.CalledAt(n - 1) })
	if began, ok := r.CalledAt(n - 1); ok || began != n-2 || steps > 0 {
		t.Errorf("asked says %v, %v, and allocates %v times", began, ok, steps)
	}
	if l := r.Leases[0]; len(l.Grants) != n {
		t.Errorf("%d grants", len(l.Grants))
	}
}
