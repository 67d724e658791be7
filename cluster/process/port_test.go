package process

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

func TestPortsLieOutsideTheRangeOfOutgoingConnections(t *testing.T) {
	var reserved Ports
	defer reserved.Release()
	ports, err := reserved.Take(20)
	if err != nil {
		t.Fatal(err)
	}
	lo, hi, ok := outgoingPorts()
	seen := map[int]bool{}
	for _, p := range ports {
		if seen[p] {
			t.Errorf("port %d twice", p)
		}
		seen[p] = true
		if ok && p >= lo && p <= hi {
			t.Errorf("port %d lies between %d and %d", p, lo, hi)
		}
	}
}

// TestNobodyElseGetsThePortOfAMaster: neither another cluster of this process nor one of another process, until it is given
// back. Nobody listens on it meanwhile, as if its master was down.
func TestNobodyElseGetsThePortOfAMaster(t *testing.T) {
	var mine Ports
	ports, err := mine.Take(1)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := func() string {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), portEnv+"="+strconv.Itoa(ports[0]))
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	if free, err := reserve(ports[0]); free || err != nil {
		t.Errorf("another cluster gets it: %t, %v", free, err)
	}
	if got := elsewhere(); got != "false <nil>" {
		t.Errorf("another process gets it: %s", got)
	}
	mine.Release()
	if got := elsewhere(); got != "true <nil>" {
		t.Errorf("another process does not get it once it is given back: %s", got)
	}
}
