package doctest

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// output is what a command prints with --json.
func output(t *testing.T, into any, flags string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, append(strings.Fields(flags), "--json", "--store", t.TempDir())...)
	out, err := cmd.Output()
	if cmd.ProcessState.ExitCode() >= 64 {
		t.Fatalf("lockpick %s: %v", flags, err)
	}
	if err := json.Unmarshal(out, into); err != nil {
		t.Fatalf("lockpick %s: %v\n%s", flags, err, out)
	}
}

// explored is what explore finds of some planted bugs and broken assumptions.
func explored(t *testing.T) []string {
	lines := []string{"| what is wrong | flags | found in schedule | shrunk to |", "|---|---|---|---|"}
	for _, c := range [][2]string{
		{"a restart without persistence", "--faults kill,partition"},
		{"a clock that jumps", "--persistence always --faults clock --clock +60s"},
		{"a restart delay below the TTL", "--faults kill,partition --restart-delay 1s"},
		{"a quorum of N/2 with N = 4", "--lock redlock-quorum-half --masters 4 --persistence always --faults none"},
	} {
		var x struct {
			Found []struct {
				Schedule int `json:"schedule"`
				Shrunk   struct {
					Minimal                  bool
					Faults, Clients, Masters int
				} `json:"counterexample"`
			} `json:"violations"`
		}
		output(t, &x, "explore --seed 1 "+c[1])
		if len(x.Found) == 0 {
			t.Fatalf("explore %s finds nothing", c[1])
		}
		f := x.Found[0]
		if !f.Shrunk.Minimal {
			t.Skipf("explore %s: shrinking ran out of real time: the machine is too busy to say how small it gets", c[1])
		}
		lines = append(lines, fmt.Sprintf("| %s | `%s` | %d | faults %d, clients %d, masters %d |", c[0], c[1], f.Schedule, f.Shrunk.Faults, f.Shrunk.Clients, f.Shrunk.Masters))
	}
	return lines
}

// exhausted is how large some searches are.
func exhausted(t *testing.T) []string {
	lines := []string{"| bounds | states | simulations |", "|---|---|---|"}
	for _, c := range [][2]string{
		{"the default, no fault", "--faults none"},
		{"the default, persistence always: one kill", "--persistence always"},
		{"`late` and `lost`, one of them", "--faults late,lost"},
	} {
		var x struct{ States, Runs int }
		output(t, &x, "exhaust "+c[1])
		lines = append(lines, fmt.Sprintf("| %s | %d | %d |", c[0], x.States, x.Runs))
	}
	return lines
}

// redlockAndOne compares Redlock with one master, as claim 66 does.
func redlockAndOne(t *testing.T) []string {
	var x struct {
		Claims []struct {
			Cases []struct {
				Name    string
				Figures []struct {
					Name             string
					Value, Low, High float64
					N                int
				}
			}
		}
	}
	output(t, &x, "claims --only 66 --evidence none")
	share := func(name, figure string) string {
		for _, c := range x.Claims[0].Cases {
			for _, f := range c.Figures {
				if c.Name == name && f.Name == figure {
					if f.N == 0 {
						return "–"
					}
					return fmt.Sprintf("%.0f %% (%.0f to %.0f) of %d", f.Value, f.Low, f.High, f.N)
				}
			}
		}
		t.Fatalf("claim 66 has no %s of %q", figure, name)
		return ""
	}
	lines := []string{"| share of the conclusive schedules that violate … | Redlock, five masters | one master |", "|---|---|---|"}
	for _, row := range [][3]string{
		{"L2, a master restarts empty about once a second", "restarts", "L2-violated"},
		{"L2, power cuts with `everysec`", "power cuts with everysec", "L2-violated"},
		{"L3, clients stop", "client pauses", "L3-violated"},
		{"L4, clients stop", "client pauses", "L4-violated"},
	} {
		lines = append(lines, fmt.Sprintf("| %s | %s | %s |", row[0], share(row[1]+", Redlock", row[2]), share(row[1]+", one master", row[2])))
	}
	return lines
}
