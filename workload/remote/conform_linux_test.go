package remote

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"lockpick/cluster"
)

// nothing is a cluster without masters.
type nothing struct{ cluster.Cluster }

func (nothing) Masters() []cluster.Master { return nil }

// TestAnInterruptIsNoFailure: a check that is interrupted says nothing about the client.
func TestAnInterruptIsNoFailure(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	var told []string
	asked := filepath.Join(t.TempDir(), "asked")
	if err := syscall.Mkfifo(asked, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		if f, err := os.Open(asked); err == nil { // the client opens it when it is asked to acquire
			f.Close()
			cancel(interrupted)
		}
	}()
	check := Conformance{Masters: nothing{}, Command: []string{"sh", "-c",
		`while read -r l; do case $l in *'"init"'*) echo '{"type":"ok"}';; *) : > "$0";; esac; done`, asked}}
	err := check.Run(ctx, func(f CheckResult) { told = append(told, f.Name+f.Problem) })
	if len(told) != 1 || told[0] != "init" || !errors.Is(err, interrupted) {
		t.Errorf("told %q, error %v", told, err)
	}
}
