package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	sys "golang.org/x/sys/unix"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
)

// downloaded makes a run and a catalogue of somebody else, which name a program. The program makes the file started.
func downloaded(t *testing.T) (dir, started string) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed: programs of a scenario are started beside real masters only")
	}
	dir = aRun(t)
	started = filepath.Join(dir, "started")
	program := fmt.Sprintf(`[sh, -c, "touch '%s'; exit 1"]`, started)
	path := filepath.Join(dir, "store", "latest", judge.ScenarioFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "driver:") {
			kept = append(kept, line)
		}
	}
	changed := strings.Join(kept, "\n") + "client: " + program + "\ndriver: auto\n"
	catalogue := `title: x
claims:
  - id: x-1
    slug: x
    claim: A.
    verdict: holds
    basis: theory
    scenario: {driver: process, client: ` + program + `, masters: 3, clients: 2, hold: 1s, time_limit: 1s, faults: [kill]}
    cases:
      - name: a
        shows: B.
        scenario: {persistence: none}
        expect:
          - {property: mutual-exclusion, verdict: violated}
`
	if err := errors.Join(os.WriteFile(path, []byte(changed), 0o600), os.WriteFile(filepath.Join(dir, "claims.yaml"), []byte(catalogue), 0o600)); err != nil {
		t.Fatal(err)
	}
	return dir, started
}

// wasStarted reports whether the program of a downloaded run was started, and forgets it.
func wasStarted(t *testing.T, started string) bool {
	t.Helper()
	err := os.Remove(started)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// TestAProgramOfADownloadedRunIsNotStarted: no command starts it without --trust where there is no terminal, and those
// that would say which program it is.
func TestAProgramOfADownloadedRunIsNotStarted(t *testing.T) {
	dir, started := downloaded(t)
	run, err := filepath.EvalSymlinks(filepath.Join(dir, "store", "latest")) // latest moves on
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		command string
		refused bool
	}{
		{"run RUN/scenario.yaml", true},
		{"run RUN/scenario.yaml --driver process --seed 3", true},
		{"replay RUN --attempts 1", true},
		{"replay RUN --driver process --attempts 1", true},
		{"replay RUN/scenario.yaml --driver process --attempts 1", true},
		{"claims --catalogue claims.yaml --driver process --most 1", true},
		{"claims --catalogue claims.yaml,builtin --only x-1 --driver auto", true},
		{"claims --catalogue claims.yaml --most 1", false},
		{"replay RUN --driver sim", false},
		{"shrink RUN --time-limit 1s", false},
		{"why RUN --points 2 --branches 5", false},
		{"explore RUN/scenario.yaml --schedules 3", false},
		{"check RUN", false},
		{"report RUN", false},
		{"report RUN --story", false},
		{"diff RUN RUN", false},
		{"export RUN --as csv", false},
		{"list runs", false},
		{"prune --older-than 1h", false},
	} {
		_, stderr, code := lockpick(t, dir, strings.Fields(strings.ReplaceAll(c.command, "RUN", run))...)
		if wasStarted(t, started) {
			t.Errorf("%s started the program", c.command)
		}
		if c.refused && (code != exitUsage || !strings.Contains(stderr, `sh -c "touch '`+started) || !strings.Contains(stderr, "--trust")) {
			t.Errorf("%s: exit %d, want %d with the program and --trust:\n%s", c.command, code, exitUsage, stderr)
		}
	}
}

// TestServeStartsNoProgram: whatever is asked of it.
func TestServeStartsNoProgram(t *testing.T) {
	dir, started := downloaded(t)
	run, err := os.Readlink(filepath.Join(dir, "store", "latest"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, "serve", "--listen", "127.0.0.1:0", "--write")
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/store/" + run + "/", "/store/" + run + "/scenario.yaml", "/live/" + run, "/events/" + run, "/diff?run=" + run + "&run=" + run, "/trend?of=redlock", "/label?run=" + run, "/delete?run=" + run} {
		answer, err := http.Get(strings.TrimSpace(address) + path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
	if wasStarted(t, started) {
		t.Error("serve started the program")
	}
}

func TestTrustedProgramsAreStarted(t *testing.T) {
	dir, started := downloaded(t)
	for _, command := range []string{
		"replay store/latest --driver process --attempts 1 --trust",
		"claims --catalogue claims.yaml --driver process --most 1 --trust",
		"run --driver process --clients 1 --masters 1 --time-limit 1s --client " + started + ".sh", // the user named it
	} {
		if err := os.WriteFile(started+".sh", []byte("#!/bin/sh\ntouch '"+started+"'\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, stderr, _ := lockpick(t, dir, strings.Fields(command)...); !wasStarted(t, started) {
			t.Errorf("%s did not start the program:\n%s", command, stderr)
		}
	}
}

// terminalPair opens a pair of a terminal and the program's end of it.
func terminalPair(t *testing.T) (user, program *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal can be opened here: %v", err)
	}
	t.Cleanup(func() { user.Close() })
	n, err := sys.IoctlGetInt(int(user.Fd()), sys.TIOCGPTN)
	if err == nil {
		err = sys.IoctlSetPointerInt(int(user.Fd()), sys.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal can be opened here: %v", err)
	}
	return user, program
}

// TestLockpickAsksAtATerminal: it shows the program, and starts it only after a yes.
func TestLockpickAsksAtATerminal(t *testing.T) {
	dir, started := downloaded(t)
	for answer, want := range map[string]bool{"y\n": true, "n\n": false, "\n": false} {
		user, program := terminalPair(t)
		cmd := exec.CommandContext(t.Context(), binary, "replay", "store/latest", "--driver", scenario.Process, "--attempts", "1")
		cmd.Dir, cmd.Stdin, cmd.Stderr = dir, program, program
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		program.Close()
		said := make(chan string, 1)
		go func() {
			var all bytes.Buffer
			asked := false
			part := make([]byte, 4096)
			for {
				n, err := user.Read(part)
				all.Write(part[:n])
				if !asked && bytes.Contains(all.Bytes(), []byte("[y/N]")) {
					asked = true
					_, _ = user.WriteString(answer)
				}
				if err != nil { // the program's end is closed
					said <- all.String()
					return
				}
			}
		}()
		var text string
		select {
		case text = <-said:
		case <-time.After(time.Minute):
			_ = cmd.Process.Kill()
			t.Fatal("no end within a minute")
		}
		_ = cmd.Wait()
		if got := wasStarted(t, started); got != want || !strings.Contains(text, "touch '"+started) {
			t.Errorf("after the answer %q it was started: %v, want %v; it said:\n%s", answer, got, want, text)
		}
	}
}
