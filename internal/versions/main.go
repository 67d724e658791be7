//go:build linux

// Command versions measures this version of lockpick beside that of a commit, in turns on one machine, and prints the
// table of docs/performance.md.
//
//	go run ./internal/versions -against db03500a [-rounds 5]
//
// Each row runs the same command of both versions. Processor time is that of the command in all its threads, so that
// other programs on the machine change it little; the median of the rounds is printed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	against := flag.String("against", "", "the commit to compare with")
	rounds := flag.Int("rounds", 5, "how often each command runs")
	flag.Parse()
	if *against == "" {
		fmt.Fprintln(os.Stderr, "versions: name a commit, as in -against HEAD~1")
		os.Exit(64)
	}
	if err := compare(*against, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "versions:", err)
		os.Exit(1)
	}
}

// version is a built lockpick.
type version struct {
	source, program string
	store           string
}

// compare builds both versions, measures all rows, and prints them as a table.
func compare(commit string, rounds int) error {
	tmp, err := os.MkdirTemp("", "versions")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	here, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	before, now := version{filepath.Join(tmp, "source"), filepath.Join(tmp, "before"), filepath.Join(tmp, "store-before")},
		version{here, filepath.Join(tmp, "now"), filepath.Join(tmp, "store-now")}
	if err := os.Mkdir(before.source, 0o755); err != nil {
		return err
	}
	if out, err := exec.Command("sh", "-c", `git archive "$1" | tar x -C "$2"`, "sh", commit, before.source).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	for _, v := range []version{before, now} {
		build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", v.program, "./cmd/lockpick")
		build.Dir = v.source
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	in, err := makeInputs(before, tmp)
	if err != nil {
		return err
	}
	all := rows(in)
	values := make([][2][]float64, len(all))
	for round := range rounds {
		for i, r := range all {
			if r.once && round > 0 {
				continue
			}
			for side, v := range []version{before, now} {
				x, err := r.measure(v)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", r.what, filepath.Base(v.program), err)
				}
				values[i][side] = append(values[i][side], x)
			}
		}
		fmt.Fprintf(os.Stderr, "versions: round %d of %d is done\n", round+1, rounds)
	}
	fmt.Printf("| what | %s | this version | ratio |\n|---|--:|--:|--:|\n", commit)
	for i, r := range all {
		a, b := median(values[i][0]), median(values[i][1])
		fmt.Printf("| %s | "+r.format+" | "+r.format+" | %.2f |\n", r.what, a, b, b/a)
	}
	return nil
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// used is what a command took.
type used struct {
	processor time.Duration
	memory    float64 // bytes, at most
	out       []byte
}

// run runs a command of a version. An exit code of 1 or 2 is a verdict. processors is the number of processors that it may
// use; 0: all.
func (v version) run(processors int, args ...string) (used, error) {
	c := exec.Command(v.program, append(args, "--store", v.store)...)
	if processors > 0 {
		c.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", processors))
	}
	var problems strings.Builder
	c.Stderr = &problems
	out, err := c.Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && (exit.ExitCode() == 1 || exit.ExitCode() == 2)) {
		return used{}, fmt.Errorf("lockpick %s: %w: %s", strings.Join(args, " "), err, problems.String())
	}
	u := used{processor: c.ProcessState.UserTime() + c.ProcessState.SystemTime(), out: out}
	if r, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.memory = float64(r.Maxrss) * 1024
	}
	return u, nil
}
