package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// fuzz tries a number of inputs on each fuzz target. It sets no time, because go test reports a target as
// failed if the time is over while an input is being minimized.
func (r *runner) fuzz(packages []string, inputs int) error {
	if inputs == 0 {
		return nil
	}
	targets, err := r.fuzzTargets(packages)
	if err != nil {
		return err
	}
	for _, t := range targets {
		if _, err := r.goTest(fmt.Sprintf("fuzzing with %d inputs: %s", inputs, t.name), "", "-run", "^$",
			"-fuzz", exactly([]string{t.name}), "-fuzztime", strconv.Itoa(inputs)+"x", "-fuzzminimizetime", "100x", t.pkg); err != nil {
			return err
		}
	}
	return nil
}

// fuzzTarget is a function that go test -fuzz runs.
type fuzzTarget struct{ pkg, name string }

var fuzzFunction = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// fuzzTargets lists the fuzz targets of packages from their source: go test -list would build all tests.
func (r *runner) fuzzTargets(packages []string) (targets []fuzzTarget, err error) {
	cmd := exec.CommandContext(r.ctx, "go", append([]string{"list", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles"}, packages...)...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, said.String())
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var pkg struct {
			ImportPath, Dir           string
			TestGoFiles, XTestGoFiles []string
		}
		if err := d.Decode(&pkg); errors.Is(err, io.EOF) {
			return targets, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		for _, file := range append(pkg.TestGoFiles, pkg.XTestGoFiles...) {
			text, err := os.ReadFile(filepath.Join(pkg.Dir, file))
			if err != nil {
				return nil, err
			}
			for _, m := range fuzzFunction.FindAllSubmatch(text, -1) {
				targets = append(targets, fuzzTarget{pkg.ImportPath, string(m[1])})
			}
		}
	}
}
