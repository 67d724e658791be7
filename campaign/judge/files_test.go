package judge_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/history"
	"lockpick/internal/processor"
	"lockpick/internal/racetest"
)

// checkLines is how many lines TestPackedFileStaysSmall checks: make nightly checks ten million.
var checkLines = flag.Int("check.lines", 250_000, "lines of the history that TestPackedFileStaysSmall checks")

// longRun is the campaign of which the figures of docs/simulator.md tell.
func longRun(limit time.Duration) scenario.Scenario {
	s := scenario.Defaults()
	s.Driver, s.Persistence, s.Faults = scenario.Sim, "always", []string{"kill", "pause", "partition", "client-pause"}
	s.Seed, s.TimeLimit = 1, limit
	return s.WithRequirements()
}

// lengthen writes a history of at least so many lines: a recorded one again and again, each time
// later, with other tokens and other faults.
func lengthen(out io.Writer, h *history.History, lines int) error {
	var now time.Duration
	header := h.Header
	r, err := history.NewRecorder(out, header, func() time.Duration { return now })
	if err != nil {
		return err
	}
	period := h.Ops[len(h.Ops)-1].Time + 10*h.Header.TTL
	faults := 0
	for i := range h.Ops {
		if v := h.Ops[i].Value; v != nil {
			faults = max(faults, v.ID)
		}
	}
	for round := 0; r.Len() < lines; round++ {
		last := r.Len()+len(h.Ops) >= lines
		shift, suffix := time.Duration(round)*period, fmt.Sprintf("-%d", round)
		for i := range h.Ops {
			op := h.Ops[i]
			if !last && (op.F == history.FHealed || op.F == history.FEnd) {
				continue
			}
			now = op.Time + shift
			if op.Value != nil {
				v := *op.Value
				if v.Token != "" {
					v.Token += suffix
				}
				if v.ValidUntil != 0 {
					v.ValidUntil += shift
				}
				if v.ID != 0 {
					v.ID += round * faults
				}
				v.Keys, v.Expires = maps.Clone(v.Keys), maps.Clone(v.Expires)
				for k, token := range v.Keys {
					v.Keys[k] = token + suffix
				}
				for k := range v.Expires {
					v.Expires[k] += shift
				}
				op.Value = &v
			}
			r.Record(op)
		}
	}
	return r.Err()
}

// simulated returns the history of a simulated run.
func simulated(tb testing.TB, s scenario.Scenario) *history.History {
	tb.Helper()
	h, err := campaign.Record(tb.Context(), s, campaign.Simulation{}.Driver(), campaign.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

// historyFile writes a history into a file and returns its path.
func historyFile(tb testing.TB, h *history.History) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), judge.HistoryFile)
	if err := history.WriteFile(path, h); err != nil {
		tb.Fatal(err)
	}
	return path
}

// longHistory writes a simulated history of at least so many lines into a file.
func longHistory(tb testing.TB, lines int) string {
	tb.Helper()
	h := simulated(tb, longRun(min(30*time.Minute, time.Duration(lines/200)*time.Second)))
	path := filepath.Join(tb.TempDir(), judge.HistoryFile)
	file, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	if err := errors.Join(lengthen(file, h, lines), file.Close()); err != nil {
		tb.Fatal(err)
	}
	return path
}

// checkEnv names, in the environment of a process of this test binary, the history to check.
const checkEnv = "LOCKPICK_TEST_CHECK"

// checked is what such a process says.
type checked struct {
	Lines    int
	Judged   int // properties
	Violated []string
	CPU      time.Duration
	Memory   int64 // in use at most, in bytes
}

// checkAndTell checks a file and prints what checked says.
func checkAndTell(path string) error {
	h, r, err := judge.PackedFile(path)
	if err != nil {
		return err
	}
	x := checked{Lines: h.Lines(), Judged: len(r.Verdicts), CPU: processor.Time()}
	for _, v := range r.Verdicts {
		if v.Verdict == checker.Violated {
			x.Violated = append(x.Violated, v.Name)
		}
	}
	if x.Memory, err = mostMemory(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(x)
}

// mostMemory is how much memory this program has had in use at most. (What the system says of a
// process that has ended includes the memory of the process that started it.)
func mostMemory() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kB int64
	_, err = fmt.Sscan(rest, &kB)
	return kB << 10, err
}

// checkInProcess checks a file in a process of its own, with one processor.
func checkInProcess(tb testing.TB, path string) checked {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), checkEnv+"="+path, "GOMAXPROCS=1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("%v\n%s", err, stderr.String())
	}
	var x checked
	if err := json.Unmarshal(out, &x); err != nil {
		tb.Fatal(err)
	}
	return x
}

// TestPackedFileStaysSmall: a history of ten million lines is checked within 1.2 GB, a shorter one
// within its share of it and 60 MB.
func TestPackedFileStaysSmall(t *testing.T) {
	racetest.Exclude(t, "it measures memory")
	if testing.Short() {
		t.Skip("a long history takes seconds to write and to check")
	}
	path := longHistory(t, *checkLines)
	x := checkInProcess(t, path)
	rss := x.Memory
	t.Logf("%d lines, %d MB, %.0f B a line, %.0f lines for each second of processor time, %d properties, violated: %v",
		x.Lines, rss/1e6, float64(rss)/float64(x.Lines), float64(x.Lines)/x.CPU.Seconds(), x.Judged, x.Violated)
	if limit := 60e6 + 110*float64(x.Lines); float64(rss) > limit {
		t.Errorf("%d lines took %d MB, and may take %.0f MB", x.Lines, rss/1e6, limit/1e6)
	}
	if x.Lines < *checkLines || x.Judged < 15 {
		t.Errorf("%d lines and %d properties were judged", x.Lines, x.Judged)
	}
}

// BenchmarkPackedFile checks a simulated history of half a million lines, with one processor.
func BenchmarkPackedFile(b *testing.B) {
	path := longHistory(b, 500_000)
	var lines int
	var cpu time.Duration
	var most int64
	for b.Loop() {
		x := checkInProcess(b, path)
		lines, cpu, most = lines+x.Lines, cpu+x.CPU, max(most, x.Memory)
	}
	b.ReportMetric(float64(lines)/cpu.Seconds(), "lines/cpu-s")
	b.ReportMetric(float64(most)*float64(b.N)/float64(lines), "B-RSS/line")
	b.ReportMetric(float64(most)/1e6, "MB-RSS")
}

// TestLongHistoryIsSound: what is lengthened is judged like what it was made from: no property
// is violated only because the same happened again.
func TestLongHistoryIsSound(t *testing.T) {
	h := simulated(t, longRun(20*time.Second))
	once, err := judge.History(h)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), judge.HistoryFile)
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(lengthen(file, h, 3*len(h.Ops)), file.Close()); err != nil {
		t.Fatal(err)
	}
	long, often, err := judge.PackedFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole, again, err := judge.File(path)
	if err != nil {
		t.Fatal(err)
	}
	if long.Lines() != len(whole.Ops) || often.Counts != again.Counts {
		t.Errorf("%d lines, %+v; in memory %d lines, %+v", long.Lines(), often.Counts, len(whole.Ops), again.Counts)
	}
	for i, v := range often.Verdicts {
		if w := again.Verdicts[i]; v.Verdict != w.Verdict || v.Why != w.Why || v.Count != w.Count {
			t.Errorf("%s: %s, in memory %s", v.Name, v.Why, w.Why)
		}
	}
	for i, v := range once.Verdicts {
		if w := often.Verdicts[i]; v.Name != w.Name || v.Verdict != w.Verdict && v.Verdict != checker.Invalid {
			t.Errorf("%s: once %s: %s, often %s: %s", v.Name, v.Verdict, v.Why, w.Verdict, w.Why)
		}
	}
}

// TestPackedFileIsJudgedAsInMemory: what is said of the file is what is said of the history in memory, to the
// last event of every violation: of correct locks and of planted bugs, under all kinds of faults.
func TestPackedFileIsJudgedAsInMemory(t *testing.T) {
	violated := map[string]bool{}
	for i, lock := range []string{"redlock", "single", "textbook-renewing", "redlock-one-token", "redlock-plain-del", "redlock-weak-token",
		"redlock-quorum-half", "redlock-extend-recreates", "redlock-no-rollback", "redlock-renews-untold", "redisson-redlock"} {
		s := longRun(15 * time.Second)
		s.Lock, s.Seed, s.Keys, s.Persistence = lock, uint64(i), 2, "none"
		if s.Faults = [][]string{{"kill", "partition", "client-pause"}, {"clock", "client-kill", "reset", "pause"}}[i%2]; lock == "single" {
			s.Masters = 1
		}
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		h := simulated(t, s.WithRequirements())
		path := historyFile(t, h)
		_, file, err := judge.PackedFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, memory, err := judge.File(path)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(file, memory) {
			t.Errorf("%s: the file's result is\n%+v\nand in memory it is\n%+v", lock, file, memory)
		}
		for _, v := range file.Verdicts {
			violated[v.Name] = violated[v.Name] || v.Verdict == checker.Violated
		}
	}
	n := 0
	for _, bad := range violated {
		if bad {
			n++
		}
	}
	if n < 6 {
		t.Errorf("only %d properties were violated: %v", n, violated)
	}
}

// TestAReportLinksTheHistoryThatExists: the history of a long run is compressed, and has another name then.
func TestAReportLinksTheHistoryThatExists(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, judge.HistoryFile)
	if err := os.WriteFile(path+history.ZstdSuffix, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var r judge.Result
	if r.SetPaths(path); r.History != path+history.ZstdSuffix {
		t.Errorf("the report links %s", r.History)
	}
}
