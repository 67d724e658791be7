package campaign

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
)

// errTold is why the tests interrupt a run. It appears in the error of whatever the harness
// cancelled.
var errTold = errors.New("told to stop by the test")

// heard calls a function before each write.
type heard struct {
	io.Writer
	hear func([]byte)
}

func (h heard) Write(b []byte) (int, error) {
	h.hear(b)
	return h.Writer.Write(b)
}

// TestInterruptionIsRecordedFirst interrupts a run in each of its stages. Nothing that the
// harness cancelled may be recorded before the line that says so, and the run is never
// complete.
func TestInterruptionIsRecordedFirst(t *testing.T) {
	t.Parallel()
	onEachDriver(t, func(t *testing.T, driver string) {
		for _, stage := range []Stage{Working, EndingFaults, FinalCheck} {
			t.Run(string(stage), func(t *testing.T) {
				t.Parallel()
				ctx, interrupt := context.WithCancelCause(t.Context())
				defer interrupt(nil)
				s := shortScenario(driver, func(s *scenario.Scenario) {
					s.Keys, s.Clients, s.TimeLimit, s.RestartDelay = 40, 8, 3*time.Second, time.Second
					s.Hold, s.Nemesis, s.Interval = "0s..10ms", scenario.Random, 300*time.Millisecond
					switch {
					case stage == Working:
						s.TimeLimit = time.Hour
					case stage == EndingFaults: // of a fault that lasts for longer than the run
						s.Faults, s.Schedule = nil, []scenario.Step{{Fault: "kill", At: 2500 * time.Millisecond, Masters: []string{"m1"}, For: time.Minute}}
					}
				})
				_, h, r, err := Run(ctx, s, Options{
					Drivers: testDrivers,
					Store:   Store{t.TempDir()},
					slow: func(out io.Writer) io.Writer {
						return heard{out, func(line []byte) {
							if stage == EndingFaults && bytes.Contains(line, []byte(`"phase":"heal"`)) {
								interrupt(errTold)
							}
						}}
					},
					Progress: func(format string, _ ...any) {
						if stage == FinalCheck && strings.Contains(format, "every client visits") {
							interrupt(errTold)
						}
					},
					Live: func(s Status) {
						if s.Stage == stage && s.Granted > 10 {
							interrupt(errTold)
						}
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				if ctx.Err() == nil {
					t.Fatalf("the stage %s was over before it could be interrupted", stage)
				}
				at := slices.IndexFunc(h.Ops, func(op history.Op) bool { return op.F == history.FInterrupted })
				if at < 0 {
					t.Fatal("the history does not say that the run was interrupted")
				}
				if !strings.Contains(h.Ops[at].Error, errTold.Error()) {
					t.Errorf("interrupted by %q, want the cause", h.Ops[at].Error)
				}
				for i, op := range h.Ops {
					if i < at && strings.Contains(op.Error, errTold.Error()) {
						t.Errorf("line %d was cancelled before line %d says that the run was interrupted: %+v", i, at, op)
					}
					if op.F == history.FEnd {
						t.Errorf("line %d of %d is an end mark: the run is not complete", i, len(h.Ops))
					}
				}
				if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "interrupted: "+errTold.Error()) }) {
					t.Errorf("the notes %q do not tell of the interruption", r.Notes)
				}
				if c := r.Conclude(nil); c.Verdict == checker.Holds || c.Verdict == checker.Unknown && !strings.Contains(c.Why, "interrupted") {
					t.Errorf("concluded %+v: an interrupted run never holds", c)
				}
			})
		}
	})
}

// TestEndMarkIsTheLastLine: a complete history ends with the end mark on every driver, and
// without it the run was cut short.
func TestEndMarkIsTheLastLine(t *testing.T) {
	t.Parallel()
	onEachDriver(t, func(t *testing.T, driver string) {
		dir, h, r, err := Run(t.Context(), shortScenario(driver, func(s *scenario.Scenario) { s.TimeLimit, s.Persistence = 2*time.Second, "always" }), Options{Drivers: testDrivers, Store: Store{t.TempDir()}})
		if err != nil {
			t.Fatal(err)
		}
		for i, op := range h.Ops {
			if last := i == len(h.Ops)-1; (op.F == history.FEnd) != last {
				t.Errorf("line %d of %d is %s", i, len(h.Ops), op.F)
			}
		}
		if r.CutShort != "" {
			t.Errorf("cut short: %s", r.CutShort)
		}
		path := filepath.Join(dir, judge.HistoryFile)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(strings.TrimSuffix(string(b), "\n"), "\n")
		if err := os.WriteFile(path, []byte(strings.Join(lines[:len(lines)-1], "")), 0o600); err != nil {
			t.Fatal(err)
		}
		_, r, err = judge.File(path)
		if err != nil {
			t.Fatal(err)
		}
		if c := r.Conclude(nil); c.Verdict != checker.Unknown || !strings.Contains(c.Why, "no end mark") {
			t.Errorf("without its last line: concluded %+v", c)
		}
		if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "no end mark") }) {
			t.Errorf("the notes %q do not say that the history was cut short", r.Notes)
		}
	})
}

// TestHistoryInMemoryIsBounded: a run that is kept in memory ends, as an interrupted one, once its history has too many lines,
// whatever a lock sends. One that is kept in a file goes on.
func TestHistoryInMemoryIsBounded(t *testing.T) {
	defer func(n int) { mostLines = n }(mostLines)
	mostLines = 500
	s := shortScenario(scenario.Sim, func(s *scenario.Scenario) { s.Faults = nil })
	h, err := Record(t.Context(), s.WithRequirements(), Simulation{}.Driver(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(h.Ops); n < mostLines || n > 2*mostLines {
		t.Errorf("the history in memory has %d lines, and may have some %d", n, mostLines)
	}
	r, err := judge.History(h)
	if err != nil {
		t.Fatal(err)
	}
	if v := verdictAt(r, "L2"); v.Verdict != checker.Unknown || !strings.Contains(v.Why, "may have 500: take a shorter time limit") {
		t.Errorf("L2 is %s: %s", v.Verdict, v.Why)
	}
	if h, _ := mustRun(t, s); len(h.Ops) <= 2*mostLines || !h.Ended {
		t.Errorf("the history in a file has %d lines, and its end mark: %v", len(h.Ops), h.Ended)
	}
}
