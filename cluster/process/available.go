package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Available reports whether the driver is likely to work, and why.
func Available(ctx context.Context) (ok bool, why string) { return ServerAvailable(ctx, "") }

// ServerAvailable is Available for masters of another program than redis-server.
func ServerAvailable(ctx context.Context, program string) (ok bool, why string) {
	path, err := ServerPath(program)
	if err != nil {
		return false, err.Error()
	}
	version, err := serverVersion(ctx, path)
	if err != nil {
		return false, err.Error()
	}
	return true, fmt.Sprintf("%s %s at %s", cmp.Or(program, defaultServer), version, path)
}

// OtherServers are the programs of servers that take the settings of redis-server, so that they can be masters.
var OtherServers = []string{"valkey-server", "redict-server", "keydb-server"}

// serverVersion parses the version that the program prints: "Redis server v=7.0.15 sha=…", "Valkey server v=8.0.1 sha=…".
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

// ShimAvailable reports whether the fault shim can be built here, and the reason if it
// cannot. Clock faults, disk faults and power cuts need it. Only starting a server shows
// whether the server can load it; Doctor tries that.
func ShimAvailable(ctx context.Context) (ok bool, why string) {
	if _, err := ShimObject(ctx); err != nil {
		return false, OneLine(err)
	}
	return true, "the shim is built"
}

// OneLine formats an error for a table.
func OneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
