package process

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Available says whether Process can be expected to work, and why.
func Available(ctx context.Context) (ok bool, why string) {
	path, err := ServerPath()
	if err != nil {
		return false, err.Error()
	}
	version, err := serverVersion(ctx, path)
	if err != nil {
		return false, err.Error()
	}
	return true, fmt.Sprintf("redis-server %s at %s", version, path)
}

// serverVersion asks the program, which says "Redis server v=7.0.15 sha=…".
func serverVersion(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 5*time.Second, errors.New("no answer within 5s"))
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return "", fmt.Errorf("run %s --version: %w", path, err)
	}
	for _, word := range strings.Fields(string(out)) {
		if v, ok := strings.CutPrefix(word, "v="); ok {
			return v, nil
		}
	}
	return "", fmt.Errorf("run %s --version: it said %q, which tells no version", path, strings.TrimSpace(string(out)))
}

// ShimAvailable says whether the fault shim can be built here, and why not: what clock
// faults, disk faults and power cuts need. Whether a server can load it shows when one
// is started; Doctor tries.
func ShimAvailable(ctx context.Context) (ok bool, why string) {
	if _, err := ShimObject(ctx); err != nil {
		return false, OneLine(err)
	}
	return true, "the shim is built"
}

// OneLine gives an error as a table can show it.
func OneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
