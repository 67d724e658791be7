package locks

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"lockpick/reports/term"
)

// storedLocks is what three masters store, one of which could not be read completely.
func storedLocks() *Result {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	end := now.Add(9 * time.Second)
	const token = "9b2f4c1de2a34f6e8b7a1234567890ab"
	return &Result{
		At: now, Quorum: 2, Notes: []string{"a note"},
		Servers: []Server{
			{Name: "m1", Address: "10.0.0.1:6379", Server: "redis 7.0.15", Keys: 1200, Complete: true, Blocked: 2},
			{Name: "m2", Address: "10.0.0.2:6379", Server: "valkey 8.0.1", Keys: 100000},
			{Name: "m3", Address: "10.0.0.3:6379", Error: "SCAN: connection refused\x1b[2J"},
		},
		Locks: []Lock{
			{Key: "lock:orders", Certain: true, Waiters: []string{"a", "b"}, Listen: 3, Holders: []Holder{{Owner: token, State: Held, On: []string{"m1", "m2"}, Left: 8432 * time.Millisecond, Untouched: 21 * time.Second, Set: 1568 * time.Millisecond}}},
			{Key: "report\x1b[2J", Certain: true, Holders: []Holder{{Owner: token + ":1", Mode: "read", Count: 2, State: LeftBehind, On: []string{"m1"}, Left: 3 * time.Minute}, {Owner: "\xff", State: Passing, On: []string{"m2"}, Left: 300 * time.Millisecond}}, More: 2},
			{Key: "k0", Problems: []string{"no TTL"}, Holders: []Holder{{State: Unclear, On: []string{"m2"}, Endless: true, Stored: &end}}},
		},
	}
}

// TestTerminal compares the list of locks in two widths with testdata/terminal.txt. No line is longer than the terminal.
func TestTerminal(t *testing.T) {
	datadriven.RunTest(t, "testdata/terminal.txt", func(t *testing.T, d *datadriven.TestData) string {
		var opt term.Options
		d.ScanArgs(t, "width", &opt.Width)
		var b bytes.Buffer
		if err := Terminal(&b, storedLocks(), opt); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if twwidth.Width(strings.TrimSuffix(line, "\n")) > opt.Width {
				t.Errorf("longer than %d columns: %s", opt.Width, line)
			}
		}
		return b.String()
	})
}
