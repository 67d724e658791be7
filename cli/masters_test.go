package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/masters"
)

// TestMastersEndWithTheProgramThatStartedThem: it is killed and closes nothing itself; no server is left, and the run has a
// result.
func TestMastersEndWithTheProgramThatStartedThem(t *testing.T) {
	for _, driver := range driversHere(t) {
		t.Run(driver, func(t *testing.T) {
			in, held, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			parent := exec.Command("sleep", "1000") // holds the other end of the pipe
			parent.Stdout = held
			if err := parent.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = parent.Process.Kill(); _ = parent.Wait() }()
			held.Close()

			cmd := exec.CommandContext(t.Context(), binary, "masters", "--json", "--masters", "2", "--driver", driver)
			var stderr bytes.Buffer
			cmd.Dir, cmd.Stdin, cmd.Stderr = t.TempDir(), in, &stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(out)
			line, err := lines.ReadBytes('\n')
			var state masters.State
			if err != nil || json.Unmarshal(line, &state) != nil || state.Driver != driver || len(state.Addresses) != 2 {
				_ = cmd.Process.Kill()
				t.Fatalf("%v: %s\n%s", err, line, &stderr)
			}
			if err := parent.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if _, err := lines.WriteTo(io.Discard); err != nil { // until it ends
				t.Error(err)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != exitUndecided || !strings.Contains(stderr.String(), "stdin was closed") {
				t.Errorf("exit code %d\n%s", code, &stderr)
			}
			for _, address := range append(state.Addresses, strings.Split(state.API, "/")[2]) {
				if c, err := net.Dial("tcp", address); err == nil {
					c.Close()
					t.Errorf("%s is still listened on", address)
				}
			}
			if r, err := judge.ReadResult(filepath.Join(cmd.Dir, state.Run)); err != nil || r.Driver != driver {
				t.Errorf("the run has no result: %v", err)
			}
			if left, err := listed(driver); err != nil || strings.Contains(left, state.Run) {
				t.Errorf("left behind: %s %v", left, err)
			}
		})
	}
}

// listed lists what runs with a driver.
func listed(driver string) (string, error) {
	command := []string{"ps", "-eo", "args"}
	if driver == scenario.Docker {
		command = []string{"docker", "ps", "--no-trunc", "--format", "{{.Mounts}} {{.Command}}"}
	}
	out, err := exec.Command(command[0], command[1:]...).Output()
	return string(out), err
}
