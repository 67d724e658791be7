package main

import (
	"bytes"
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
		if _, err := r.goTest(fmt.Sprintf("fuzzing with %d inputs: %s", inputs, t.name), "", nil, "-run", "^$",
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
	err = r.list(append([]string{"-json=ImportPath,Dir,TestGoFiles,XTestGoFiles"}, packages...), func(d *json.Decoder) error {
		var pkg struct {
			ImportPath, Dir           string
			TestGoFiles, XTestGoFiles []string
		}
		if err := d.Decode(&pkg); err != nil {
			return err
		}
		for _, file := range append(pkg.TestGoFiles, pkg.XTestGoFiles...) {
			text, err := os.ReadFile(filepath.Join(pkg.Dir, file))
			if err != nil {
				return err
			}
			for _, m := range fuzzFunction.FindAllSubmatch(text, -1) {
				targets = append(targets, fuzzTarget{pkg.ImportPath, string(m[1])})
			}
		}
		return nil
	})
	return targets, err
}

// list runs go list, and calls next for each package with a decoder that stands before it.
func (r *runner) list(args []string, next func(*json.Decoder) error) error {
	cmd := exec.CommandContext(r.ctx, "go", append([]string{"list"}, args...)...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w: %s", err, said.String())
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		if err := next(d); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("go list: %w", err)
		}
	}
}
