package judge_test

import (
	"bytes"
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/history/logs"
)

// drawHolds is a log of whole holds of a lock that is often held by several.
func drawHolds(t *rapid.T) string {
	start := time.Date(2026, 11, 22, 12, 0, 0, 123_456_789, time.UTC)
	var log strings.Builder
	for i := range rapid.IntRange(1, 60).Draw(t, "holds") {
		at := start.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "at")) * 777 * time.Microsecond)
		held := time.Duration(rapid.IntRange(0, 200).Draw(t, "held")) * 777 * time.Microsecond
		if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
			held *= 20
		}
		until := at.Add(max(held/time.Duration(rapid.IntRange(1, 3).Draw(t, "outlasts")), time.Millisecond))
		fmt.Fprintf(&log, `{"acquired":%q,"valid_until":%q,"releasing":%q,"key":"k%d","token":"t%d","client":"c%d","host":"h"}`+"\n",
			at.Format(time.RFC3339Nano), until.Format(time.RFC3339Nano), at.Add(held).Format(time.RFC3339Nano), rapid.IntRange(0, 2).Draw(t, "key"), i, i%3)
	}
	return log.String()
}

// TestPartsAreJudgedLikeTheWhole: a long log is judged in parts, with the same verdict and the
// same number of violations and holds; its excerpt shows the first of them.
func TestPartsAreJudgedLikeTheWhole(t *testing.T) {
	violated := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		clock := time.Duration(rapid.IntRange(0, 20).Draw(t, "clock error")) * time.Millisecond
		l := importLogs(t, logs.Options{Format: logs.JSONL, NoTTL: true, ClockError: &clock}, []string{"a.log"}, map[string]string{"a.log": drawHolds(t)})
		whole := checker.Check(l.All().History, checker.MutualExclusion, checker.BeliefExclusion)
		var totals checker.Totals
		var about []int
		for makePart := range l.Parts(rapid.IntRange(1, 10).Draw(t, "size")) {
			part := makePart()
			for _, r := range totals.Add(part.History, part.Repeated, part.IsRepeated).Results {
				for _, v := range r.Violations {
					about = append(about, part.Hold(v.Ops[0]), part.Hold(v.Ops[len(v.Ops)-1]))
				}
			}
		}
		report := checker.CheckExcerpt(l.Excerpt(about, 1).History, totals)
		if report.Err() != nil || len(report.Results) != len(whole.Results) {
			t.Fatalf("excerpt: %d results (%v), the whole: %d", len(report.Results), report.Err(), len(whole.Results))
		}
		for i := range whole.Results {
			got, want := &report.Results[i], &whole.Results[i]
			if got.Name != want.Name || got.Count != want.Count || got.Checked != want.Checked || (got.Verdict == checker.Violated) != (want.Verdict == checker.Violated) {
				t.Fatalf("excerpt: %s %s, %d of %d; the whole: %s %s, %d of %d", got.Name, got.Verdict, got.Count, got.Checked, want.Name, want.Verdict, want.Count, want.Checked)
			}
			if want.Verdict == checker.Violated {
				violated[want.Name]++
				if a, b := overlapsOf(got.Violations[:1]), overlapsOf(want.Violations[:1]); !slices.Equal(a, b) {
					t.Fatalf("the excerpt's first violation is %v, the whole's %v", a, b)
				}
			}
		}
	})
	if violated[checker.MutualExclusion.Name] == 0 || violated[checker.BeliefExclusion.Name] == 0 {
		t.Errorf("logs with violations: %v, so that a property was not compared", violated)
	}
}

// TestPossibleIsWhatExactTimesWouldConvict: what is possible or certain is what the checker
// finds if every time is right.
func TestPossibleIsWhatExactTimesWouldConvict(t *testing.T) {
	both := 0
	rapid.Check(t, func(t *rapid.T) {
		clock := time.Duration(rapid.IntRange(1, 40).Draw(t, "clock error")) * time.Millisecond
		log := map[string]string{"a.log": drawHolds(t)}
		l := importLogs(t, logs.Options{Format: logs.JSONL, NoTTL: true, ClockError: &clock}, []string{"a.log"}, log)
		_, r, err := judge.Logs(l)
		if err != nil {
			t.Fatal(err)
		}
		exact := exactHistory(l)
		want := checker.Check(exact, checker.MutualExclusion).Results[0].Count
		certain := r.Verdicts[0].Count
		// A hold that certainly overlaps one may possibly overlap another that lasts longer.
		if got := r.PossibleCount; got+certain < want || got > want {
			t.Fatalf("%d possible and %d certain violations, but %d if every time is right", got, certain, want)
		}
		if certain == 0 && r.PossibleCount != want {
			t.Fatalf("%d possible, none certain, but %d if every time is right", r.PossibleCount, want)
		}
		if certain > 0 && r.PossibleCount > 0 {
			both++
		}
	})
	if both == 0 {
		t.Error("no log had both")
	}
}

// exactHistory is the log's holds with every time as it was logged.
func exactHistory(l *logs.Log) *history.History {
	h := l.All().History
	h.Ops = nil
	type line struct {
		op    history.Op
		order int
	}
	var lines []line
	base := h.Header.Started
	for i, hold := range l.Exact() {
		value := &history.Value{Token: hold.Token, ValidUntil: hold.To.Sub(base) + time.Nanosecond}
		op := history.Op{Process: hold.Client, Key: hold.Key, Value: value}
		add := func(at time.Time, typ history.Type, f string) {
			op := op
			op.Time, op.Type, op.F = at.Sub(base), typ, f
			lines = append(lines, line{op, i})
		}
		add(hold.From, history.Invoke, history.FAcquire)
		lines[len(lines)-1].op.Value = nil
		add(hold.From, history.OK, history.FAcquire)
		add(hold.To, history.Invoke, history.FRelease)
		add(hold.To, history.OK, history.FRelease)
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Or(cmp.Compare(a.op.Time, b.op.Time), cmp.Compare(a.order, b.order)) })
	for i := range lines {
		lines[i].op.Index = i
		h.Ops = append(h.Ops, lines[i].op)
	}
	h.Ops = append(h.Ops, history.Op{Index: len(h.Ops), Time: h.Ops[len(h.Ops)-1].Time, Process: history.Harness, Type: history.Info, F: history.FEnd})
	return h
}

// TestLongLogsTakeLittleMemory: what is kept of a line has a bound with which ten million lines
// fit into 2 GB.
func TestLongLogsTakeLittleMemory(t *testing.T) {
	const lines = 200_000
	var log bytes.Buffer
	start := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for i := range lines / 2 {
		at := start.Add(time.Duration(i) * time.Millisecond)
		fmt.Fprintf(&log, `{"time":%q,"event":"acquired","key":"order:%d","token":"%032x","client":"worker-%d","valid_until":%q}`+"\n", at.Format(time.RFC3339Nano), i%100, i, i%7, at.Add(time.Second).Format(time.RFC3339Nano))
		fmt.Fprintf(&log, `{"time":%q,"event":"releasing","key":"order:%d","token":"%032x","client":"worker-%d"}`+"\n", at.Add(50*time.Millisecond).Format(time.RFC3339Nano), i%100, i, i%7)
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	clock := time.Millisecond
	im, err := logs.New(logs.Options{Format: logs.JSONL, ClockError: &clock})
	if err != nil {
		t.Fatal(err)
	}
	before := heap()
	if err := im.Read("app.log", bytes.NewReader(log.Bytes())); err != nil {
		t.Fatal(err)
	}
	read := (heap() - before) / lines
	l, err := im.Log()
	if err != nil {
		t.Fatal(err)
	}
	h, r, err := judge.Logs(l)
	if err != nil {
		t.Fatal(err)
	}
	if r.Overall != checker.Holds || l.Holds != lines/2 || len(h.Ops) > 10_000 {
		t.Errorf("%s with %d holds, %d operations kept: %s", r.Overall, l.Holds, len(h.Ops), r.Why)
	}
	// 64 bytes an event and half a token of 33 bytes; the judging of parts adds a constant.
	if allowed := uint64(2<<30) / 10_000_000; read > allowed/2 {
		t.Errorf("%d bytes a line are kept, and 10⁷ lines shall fit into 2 GB (%d each) with the garbage collector's room", read, allowed)
	}
	runtime.KeepAlive(im)
	runtime.KeepAlive(log)
}
