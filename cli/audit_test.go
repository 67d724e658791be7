package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"lockpick/search"
)

// TestAudit audits a lock that is wrong on purpose, with each form of the card and a baseline, and
// replays what is broken.
func TestAudit(t *testing.T) {
	dir := t.TempDir()
	args := []string{"audit", "--lock", "redlock-weak-token", "--only", "overrun,restart-forgets", "--most", "2", "--junit", "audit.xml", "--html", "card.html", "--markdown", "card.md", "--baseline", "baseline.json"}
	out, stderr, code := lockpick(t, dir, args...)
	if code != exitViolated || !strings.HasPrefix(out, "BROKEN  redlock-weak-token: broken in 1 of 2 situations; breaks without persistence") || !strings.Contains(stderr, "wrote the baseline baseline.json") {
		t.Fatalf("exit %d\n%s\n%s", code, out, stderr)
	}
	for file, says := range map[string]string{
		"audit.xml": `errors="0"`, "card.html": `id="restart-forgets"`, "card.md": "| work longer than the lease | ✗ |", "baseline.json": `"outcome": "broken"`,
	} {
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !strings.Contains(string(b), says) {
			t.Errorf("%s does not say %s (%v)", file, says, err)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "card.html"))
	if err != nil {
		t.Fatal(err)
	}
	links := strings.Split(string(page), `href="store/`)[1:]
	if len(links) == 0 {
		t.Error("the page leads to no run")
	}
	for _, part := range links {
		if _, err := os.Stat(filepath.Join(dir, "store", part[:strings.IndexByte(part, '"')])); err != nil {
			t.Errorf("a cell of the page leads nowhere: %v", err)
		}
	}
	_, command, _ := strings.Cut(out, "Replay: lockpick ")
	command, _, _ = strings.Cut(command, "\n")
	if out, stderr, code := lockpick(t, dir, strings.Fields(command)...); code != exitViolated {
		t.Errorf("%s: exit %d\n%s\n%s", command, code, out, stderr)
	}
	first, err := filepath.Glob(filepath.Join(dir, "store", "*-audit-*", "*-overrun"))
	if err != nil || len(first) != 1 {
		t.Fatalf("%v, %v", first, err)
	}
	if difference, err := search.SameHistory(first[0], filepath.Join(dir, "store", "latest")); difference != "" || err != nil {
		t.Errorf("the replay made another history (%v): %s", err, difference)
	}

	out, stderr, code = lockpick(t, dir, args...)
	if code != exitHolds || !strings.Contains(out, "Nothing changed since the baseline baseline.json.") {
		t.Errorf("the same again: exit %d\n%s\n%s", code, out, stderr)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "audit.xml")); err != nil || !strings.Contains(string(b), `failures="0"`) {
		t.Errorf("what was broken before fails in JUnit (%v)", err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "baseline.json"))
	if err != nil {
		t.Fatal(err)
	}
	better := strings.ReplaceAll(string(b), `"broken"`, `"safe"`)
	if err := os.WriteFile(filepath.Join(dir, "baseline.json"), []byte(better), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, stderr, code := lockpick(t, dir, args...); code != exitViolated || !strings.Contains(out, "newly broken") {
		t.Errorf("newly broken: exit %d\n%s\n%s", code, out, stderr)
	}
	args[2] = "textbook"
	if out, stderr, code := lockpick(t, dir, args...); code != exitUsage || !strings.Contains(stderr, `the baseline is of the lock "redlock-weak-token"`) {
		t.Errorf("the baseline of another lock: exit %d\n%s\n%s", code, out, stderr)
	}
}

// TestAuditInScripts: --json prints one object, and what is safe exits with 0.
func TestAuditInScripts(t *testing.T) {
	dir := t.TempDir()
	stdout, stderr, code := lockpick(t, dir, "audit", "--lock", "textbook", "--only", "overrun", "--json")
	var got struct {
		Verdict    string
		Situations []struct{ Cells []struct{ Outcome string } }
		Page       string
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	if code != exitHolds || got.Verdict != "holds" || len(got.Situations) != 1 || len(got.Situations[0].Cells) != 9 {
		t.Errorf("exit %d, %+v\n%s", code, got, stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, got.Page)); err != nil {
		t.Error(err)
	}
}

// TestAuditBadInput: each is bad usage, and says what to do.
func TestAuditBadInput(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "junk.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "redis.yaml"), []byte("faults: [kill]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for says, args := range map[string][]string{
		`--lock: "nolock" is unknown`:                 {"--lock", "nolock"},
		`--only: "noise" is unknown`:                  {"--only", "noise"},
		`--budget: "huge" is unknown`:                 {"--budget", "huge"},
		`--driver: "cloud" is unknown`:                {"--driver", "cloud"},
		`--client: no command is given`:               {"--client", " "},
		`--client: clients that are processes need`:   {"--client", "true", "--driver", "sim"},
		`only --masters 1 can be asked for`:           {"--masters", "3"},
		`--update-baseline needs --baseline FILE`:     {"--update-baseline"},
		`redis.yaml describes no service`:             {"redis.yaml"},
		`junk.json is not a result of lockpick audit`: {"--baseline", "junk.json"},
	} {
		if out, stderr, code := lockpick(t, dir, append([]string{"audit"}, args...)...); code != exitUsage || !strings.Contains(stderr, says) {
			t.Errorf("%v: exit %d, want %q\n%s\n%s", args, code, says, out, stderr)
		}
	}
}

// TestAuditInterrupted: an audit that is interrupted prints what is known.
func TestAuditInterrupted(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), binary, "audit", "--lock", "textbook", "--budget", "full", "--workers", "1")
	var stdout bytes.Buffer
	cmd.Dir, cmd.Stdout = dir, &stdout
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "schedules; now") { // it is under way
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	for lines.Scan() { // until it has ended
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitUndecided || !strings.HasPrefix(stdout.String(), "INTERRUPTED  textbook") || !strings.Contains(stdout.String(), "run the audit to its end") {
		t.Errorf("exit %d\n%s", code, stdout.String())
	}
}
