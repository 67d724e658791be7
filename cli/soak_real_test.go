//go:build real && linux

package cli

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	soakVirtual = flag.Duration("soak.virtual", 0, "TestSoak: the virtual time of a simulated run with 50 clients and all faults (0: none)")
	soakReal    = flag.Duration("soak.real", 0, "TestSoak: the real time of such a run on processes (0: none)")
)

// soakFaults are all that masters without replicas can have.
const soakFaults = "pause,kill,shutdown,powercut,clock,slow-fsync,lying-fsync,full-disk,memory,partition,slow,reset,client-pause,client-kill,client-clock"

// TestSoak: a long run needs no more memory at its end than after a quarter of it, within 10 %. What
// its judgement takes is told. Faults that break a correct lock may: this is about the harness.
func TestSoak(t *testing.T) {
	for _, c := range []struct {
		driver string
		lasts  time.Duration
	}{
		{"sim", *soakVirtual},
		{"process", *soakReal},
	} {
		t.Run(c.driver, func(t *testing.T) {
			if c.lasts == 0 {
				t.Skipf("it takes long: make soak runs it (-soak.virtual, -soak.real)")
			}
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), binary, "run", "--name", "soak", "--driver", c.driver, "--faults", soakFaults, "--nemesis", "random",
				"--interval", "30s", "--persistence", "always", "--clients", "50", "--keys", "200", "--ttl", "1m", "--hold", "20s..50s", "--time-limit", c.lasts.String())
			var out bytes.Buffer
			cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			over := make(chan error)
			go func() { over <- cmd.Wait() }()
			var working, judging []int // kB
			for done := false; !done; {
				select {
				case <-over:
					done = true
				case <-time.After(time.Second): // between two looks
					now := resident(cmd.Process.Pid)
					if recorded(dir) {
						working = append(working, now)
					} else {
						judging = append(judging, now)
					}
				}
			}
			code := cmd.ProcessState.ExitCode()
			t.Logf("exit code %d\n%s", code, out.String())
			if code == exitHarness || code == exitUsage || len(working) < 8 {
				t.Fatalf("exit code %d after %d looks", code, len(working))
			}
			quarter := len(working) / 4
			early, late := median(working[quarter:2*quarter]), median(working[3*quarter:])
			t.Logf("%v: %d MB in the second quarter, %d MB in the last one; at most %d MB while it was judged; the history has %d MB",
				c.lasts, early/1024, late/1024, slices.Max(append(judging, 0))/1024, sizeOf(dir)>>20)
			if float64(late) > 1.1*float64(early) {
				t.Errorf("memory grew from %d to %d kB", early, late)
			}
		})
	}
}

var residentLine = regexp.MustCompile(`VmRSS:\s+([0-9]+) kB`)

// resident is how much memory a process has, in kB.
func resident(pid int) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if found := residentLine.FindSubmatch(status); found != nil {
		n, _ := strconv.Atoi(string(found[1]))
		return n
	}
	return 0
}

// recorded says that a run's history still grows.
func recorded(dir string) bool {
	grows, _ := filepath.Glob(filepath.Join(dir, "store", "*soak*", "history.jsonl"))
	if len(grows) == 0 {
		return false
	}
	info, err := os.Stat(grows[0])
	return err == nil && time.Since(info.ModTime()) < 3*time.Second
}

func sizeOf(dir string) (bytes int64) {
	files, _ := filepath.Glob(filepath.Join(dir, "store", "*soak*", "history.jsonl*"))
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && !strings.HasSuffix(f, ".tmp") {
			bytes += info.Size()
		}
	}
	return bytes
}

func median(x []int) int {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}
