package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// webLogs are the logs of two hosts whose clients take turns, as docs/logging.md has them; with
// overlap, one acquires 400 ms before the other releases.
func webLogs(overlap bool) (a, b string) {
	var files [2]strings.Builder
	start := time.Date(2026, 11, 22, 12, 0, 0, 123_456_789, time.UTC)
	for i := range 40 {
		at := start.Add(time.Duration(i) * 2 * time.Second)
		end := at.Add(time.Second)
		if overlap && i == 20 {
			end = at.Add(2400 * time.Millisecond)
		}
		for _, e := range []struct {
			event string
			at    time.Time
		}{{"acquired", at}, {"releasing", end}} {
			fmt.Fprintf(&files[i%2], `{"time":%q,"event":%q,"key":"orders","token":"t%d","client":"w%d","host":"web-%d","valid_until":%q}`+"\n",
				e.at.Format(time.RFC3339Nano), e.event, i, i%2, i%2+1, at.Add(10*time.Second).Format(time.RFC3339Nano))
		}
	}
	return files[0].String(), files[1].String()
}

// writeLogs writes one file with gzip and the other with zstd.
func writeLogs(t *testing.T, dir string, a, b string) {
	t.Helper()
	var z bytes.Buffer
	g := gzip.NewWriter(&z)
	_, err := g.Write([]byte(a))
	if err := errors.Join(err, g.Close(), os.WriteFile(filepath.Join(dir, "web-1.log.gz"), z.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	s, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "web-2.log.zst"), s.EncodeAll([]byte(b), nil), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestCheckLogs is what somebody sees who checks the logs of two hosts.
func TestCheckLogs(t *testing.T) {
	dir := t.TempDir()
	writeLogs(t, dir, "", "")
	check := func(want int, args ...string) (stdout, stderr string) {
		t.Helper()
		stdout, stderr, code := lockpick(t, dir, append([]string{"check", "--format", "jsonl"}, args...)...)
		if code != want {
			t.Fatalf("check %v: exit %d, want %d\n%s%s", args, code, want, stdout, stderr)
		}
		return stdout, stderr
	}
	wants := func(text string, parts ...string) {
		t.Helper()
		joined := strings.Join(strings.Fields(text), " ")
		for _, p := range parts {
			if !strings.Contains(joined, p) {
				t.Errorf("no %q in\n%s", p, text)
			}
		}
	}
	_, stderr := check(exitUsage, "web-1.log.gz")
	wants(stderr, "the log is empty")

	a, b := webLogs(false)
	writeLogs(t, dir, a, b)
	out, _ := check(exitHolds, "--clock-error", "50ms", "web-1.log.gz", "web-2.log.zst")
	wants(out, "HOLDS L2 mutual exclusion: no two of 40 holds overlapped", "-v says why")
	_, stderr = check(exitUndecided, "web-1.log.gz", "web-2.log.zst")
	wants(stderr, "INCONCLUSIVE", "40 holds by a clock whose error is not known prove nothing: add --clock-error")
	_, stderr = check(exitUndecided, "--clock-error", "50ms", "--property", "L4", "web-1.log.gz", "web-2.log.zst")
	wants(stderr, "logs of a lock show its leases and critical sections, and nothing else")

	a, b = webLogs(true)
	writeLogs(t, dir, a, b)
	out, _ = check(exitViolated, "--clock-error", "50ms", "--keep", "web-1.log.gz", "web-2.log.zst")
	wants(out, "VIOLATED L2 mutual exclusion: 1 of 40 holds", "according to web-1.log.gz:21, 2026-11-22T12:00:40.123456789Z", "according to web-2.log.zst:21", "report.html")
	out, _ = check(exitUndecided, "--clock-error", "300ms", "web-1.log.gz", "web-2.log.zst")
	wants(out, "UNKNOWN L2", "Possible violations web-2/w1 was granted orders at 2026-11-22T12:00:42.123456789Z (web-2.log.zst:21) while web-1/w0 held it (web-1.log.gz:21), for 400ms more")
	out, _ = check(exitUndecided, "--clock-error", "300ms", "--json", "web-1.log.gz", "web-2.log.zst")
	var got struct {
		Verdict       string
		PossibleCount int `json:"possible_count"`
		Possible      []struct{ Key, Earlier, Later string }
		Counts        map[string]int
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Verdict != "unknown" || got.PossibleCount != 1 || got.Possible[0].Later != "web-2.log.zst:21" || got.Counts["granted"] != 40 {
		t.Errorf("%v: %+v in\n%s", err, got, out)
	}

	// What was kept is told like a run. By itself it proves violations only.
	story, _, code := lockpick(t, dir, "show", "latest", "--story")
	if code != 0 {
		t.Errorf("report --story: exit %d\n%s", code, story)
	}
	wants(story, "web-2/w1 was granted orders", "according to web-1.log.gz:21")
	if _, stderr, code := lockpick(t, dir, "check", "latest"); code != exitViolated {
		t.Errorf("check latest: exit %d, want %d\n%s", code, exitViolated, stderr)
	}
	page, err := os.ReadFile(filepath.Join(dir, "store", "latest", "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	wants(string(page), "according to web-1.log.gz:21", "acquired: web-1.log.gz:21", "all others")

	// A worker that goes on after the end of its lease, while another is inside.
	var late strings.Builder
	for i := range 20 {
		at := time.Date(2026, 11, 22, 12, 0, 30*i, 123456789, time.UTC)
		line := func(event string, after time.Duration, more string) {
			fmt.Fprintf(&late, `{"time":%q,"event":%q,"key":"orders","token":"t%d","client":"w%d"%s}`+"\n", at.Add(after).Format(time.RFC3339Nano), event, i, i%2, more)
		}
		line("acquired", 0, fmt.Sprintf(`,"valid_until":%q`, at.Add(29990*time.Millisecond).Format(time.RFC3339Nano)))
		if i == 7 {
			line("releasing", 35*time.Second, "")
		} else {
			line("releasing", 29980*time.Millisecond, "")
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "late.log"), []byte(late.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ = check(exitViolated, "--clock-error", "50ms", "late.log")
	wants(out, "VIOLATED L3 one client at a time in the critical section: 1 of 20 critical sections began while another client was still in one", "1 hold outlasted its lease",
		"L2 mutual exclusion holds", "explains why w1 still acted on its lease")

	// Lines of another form, of workers that write no token.
	var workers [2]strings.Builder
	for i := range 40 {
		at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC).Add(time.Duration(i) * 5 * time.Second)
		for w, does := range []string{"Extending lock by 60 seconds.", "Extending lock by 60 seconds."} {
			switch {
			case w == 1 && i == 20, w == 0 && i == 0:
				does = "Acquired lock"
			case w == 1 && i < 20, w == 0 && i > 8 && i < 24: // the first one hangs, and goes on after its lease
				does = "Acquiring lock..."
			}
			fmt.Fprintf(&workers[w], "[%s: DEBUG/MainProcess] beat: %s\n", at.Add(time.Duration(w)*time.Second).Format("2006-01-02 15:04:05,000"), does)
		}
	}
	for w := range workers {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("worker-%d.txt", w)), []byte(workers[w].String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pattern := []string{"check", "--pattern", `^\[(?P<time>\S+ \S+): .* (?P<event>Acquired|Extending) lock`, "--map", "key=@beat,client=@file", "--event", "acquired=Acquired",
		"--event", "extended=Extending", "--ttl", "60s", "--zone", "UTC", "--call-time", "1s", "--clock-error", "50ms", "worker-0.txt", "worker-1.txt"}
	stdout, stderr, code := lockpick(t, dir, pattern...)
	if code != exitViolated {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	wants(stdout, "VIOLATED L2", "35 lines not of the pattern, left out")
	for says, args := range map[string][]string{
		`the group "worker" is not a field: add --map FIELD=worker`:    {"--pattern", `(?P<worker>\S+)`, "worker-0.txt"},
		"--format text: add --pattern":                                 {"--format", "text", "worker-0.txt"},
		"--pattern: error parsing regexp":                              {"--pattern", "(", "worker-0.txt"},
		"--map client=who: the pattern has no group (?P<who>":          {"--pattern", `(?P<time>\S+)`, "--map", "client=who", "worker-0.txt"},
		`matches no line of the log; the first is worker-0.txt:1: "[2`: {"--pattern", `(?P<time>\d+T\S+)`, "worker-0.txt"},
		"--pattern is for --format text, not jsonl":                    {"--pattern", `(?P<time>\S+)`, "--format", "jsonl", "worker-0.txt"},
	} {
		if _, stderr, code := lockpick(t, dir, append([]string{"check"}, args...)...); code != exitUsage || !strings.Contains(stderr, says) {
			t.Errorf("%v: exit %d\n%s", args, code, stderr)
		}
	}

	// Mistakes: a compressed file that was cut off, a name that is nowhere, an unknown host.
	whole, err := os.ReadFile(filepath.Join(dir, "web-1.log.gz"))
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, "cut.log.gz"), whole[:len(whole)/2], 0o600)); err != nil {
		t.Fatal(err)
	}
	_, stderr = check(exitUsage, "cut.log.gz")
	wants(stderr, "cut.log.gz: the compressed data ends too early: the file was cut off, or is still being written")
	_, stderr = check(exitUsage, "--map", "token=tokn", "web-1.log.gz")
	wants(stderr, `--map token=tokn: no line has a field "tokn" (did you mean "token"?); the fields of the log are "time", "event", "key", "token", "client", "host", "valid_until"`)
	_, stderr = check(exitUsage, "--clock-error", "web-3=5ms", "web-1.log.gz", "web-2.log.zst")
	wants(stderr, `no line is by a host of this name; the hosts are "web-1", "web-2"`)
	_, stderr = check(exitUsage, "--clock-error", "host=web-1:5ms", "web-1.log.gz")
	wants(stderr, "write --clock-error web-1=5ms")

	// Standard input, beside a file.
	cmd := exec.CommandContext(t.Context(), binary, "check", "--format", "jsonl", "--clock-error", "50ms", "-", "web-2.log.zst")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(a)
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exitViolated {
		t.Errorf("from standard input: %v\n%s", err, text)
	}
	wants(string(text), "according to stdin:21")
}

// TestInterruptedCheckOfLogsEndsAtOnce: also while standard input has nothing to read.
func TestInterruptedCheckOfLogsEndsAtOnce(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	cmd := exec.CommandContext(t.Context(), binary, "check", "--format", "jsonl", "-")
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = reader, &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	reader.Close()
	// More than a pipe holds: when it is written, the program is reading, and so hears signals.
	if _, err := writer.WriteString(strings.Repeat(`{"level":"info"}`+"\n", 20_000)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitUndecided || !strings.Contains(out.String(), "interrupted before there was anything to judge") {
		t.Errorf("exit %d, want %d\n%s", code, exitUndecided, out.String())
	}
}

// TestCheckMonitor: what redis-cli printed of MONITOR is linted, the files of several masters in the order of time.
func TestCheckMonitor(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, bare bool) {
		var b strings.Builder
		b.WriteString("OK\n")
		for i := range 12 {
			fmt.Fprintf(&b, "17000000%02d.000400 [0 10.1.0.%d:40005] \"SET\" \"order-lock\" \"5d9dc9f81818e811892f902bd23f08%02d\" \"PX\" \"5000\" \"NX\"\n", 10+3*i, i%3, i)
			if bare && i%4 == 3 {
				fmt.Fprintf(&b, "17000000%02d.000400 [0 10.1.0.%d:40005] \"DEL\" \"order-lock\"\n", 12+3*i, i%3)
				continue
			}
			fmt.Fprintf(&b, "17000000%02d.000400 [0 10.1.0.%d:40005] \"EVAL\" \"if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end\" \"1\" \"order-lock\" \"5d9dc9f81818e811892f902bd23f08%02d\"\n", 12+3*i, i%3, i)
			fmt.Fprintf(&b, "17000000%02d.000400 [0 lua] \"get\" \"order-lock\"\n17000000%02d.000400 [0 lua] \"del\" \"order-lock\"\n", 12+3*i, 12+3*i)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("good.txt", false)
	write("bad.txt", true)
	for _, c := range []struct {
		files []string
		want  int
		says  string
	}{
		{[]string{"good.txt"}, exitHolds, "12 leases"},
		{[]string{"bad.txt"}, exitViolated, "bare-delete (3 times)"},
		{[]string{"good.txt", "good.txt", "bad.txt"}, exitViolated, "3 masters"},
		{[]string{"good.txt", "--json"}, exitHolds, `"leases": 12`},
		{[]string{"good.txt", "--property", "L2"}, exitUsage, "no property is judged"},
		{[]string{"web.txt"}, exitUsage, "no such file"},
		{[]string{"/dev/zero"}, exitUsage, "a line is longer than 16 MiB"},
		{[]string{"/dev/null"}, exitUsage, "no line is a command as redis-cli prints it"},
	} {
		stdout, stderr, code := lockpick(t, dir, append([]string{"check", "--format", "monitor"}, c.files...)...)
		if code != c.want || !strings.Contains(stdout+stderr, c.says) {
			t.Errorf("%v: exit %d, want %d and %q\n%s%s", c.files, code, c.want, c.says, stdout, stderr)
		}
	}
	for _, command := range []string{"search", "claims"} {
		if _, stderr, code := lockpick(t, dir, command, "/dev/zero"); code != exitUsage || !strings.Contains(stderr, "it is not a regular file") {
			t.Errorf("%s of a device without an end: exit %d\n%s", command, code, stderr)
		}
	}
}
