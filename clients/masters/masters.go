// Package masters starts lockpick masters for Go tests: Redis masters with a nemesis. See docs/masters.md.
package masters

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Masters are running masters, with the addresses at which each client (c1, c2, …) reaches them.
type Masters struct {
	API     string
	Clients map[string][]string
}

// Fields are those of a fault ("fault", "masters", "for") or of an event ("event", "client", "key", "token", "ttl_ms").
type Fields map[string]any

// Start starts lockpick masters ($LOCKPICK, or lockpick) with flags. They end with the test, which fails if what it reported was violated.
func Start(t testing.TB, flags ...string) (m *Masters) {
	cmd := exec.Command(cmp.Or(os.Getenv("LOCKPICK"), "lockpick"), append([]string{"masters", "--json"}, flags...)...)
	cmd.Stderr = t.Output()
	_, err := cmd.StdinPipe() // its end ends the masters, also if this process is killed
	out, err2 := cmd.StdoutPipe()
	lines := json.NewDecoder(out)
	if err := cmp.Or(err, err2, cmd.Start(), lines.Decode(&m)); err != nil {
		t.Fatalf("%v did not start: %v", cmd, err)
	}
	t.Cleanup(func() {
		m.Call(t, "POST /stop", nil)
		var result struct{ Verdict, Why string }
		if err := lines.Decode(&result); err != nil || result.Verdict == "violated" {
			t.Error(result.Why, err)
		}
		_ = cmd.Wait() // its exit code is the verdict, too
	})
	return m
}

// Call sends a request: POST /faults, DELETE /faults, POST /events.
func (m *Masters) Call(t testing.TB, request string, fields Fields) {
	t.Helper()
	body, err := json.Marshal(fields)
	method, path, _ := strings.Cut(request, " ")
	r, err2 := http.NewRequest(method, m.API+path, bytes.NewReader(body))
	if err := cmp.Or(err, err2); err != nil {
		t.Fatal(err)
	}
	if answer, err := http.DefaultClient.Do(r); err != nil {
		t.Fatal(err)
	} else if says, err := io.ReadAll(answer.Body); cmp.Or(err, answer.Body.Close()) != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(string(says), err)
	}
}
