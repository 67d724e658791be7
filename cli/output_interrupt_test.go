package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestAnInterruptWhileAFileIsWritten: the next write ends with the cause, and leaves no file.
func TestAnInterruptWhileAFileIsWritten(t *testing.T) {
	told := errors.New("told to stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	path := filepath.Join(t.TempDir(), "trace.json")
	err := writeOutput(path, func(w io.Writer, _ string) error {
		w = &untilDone{ctx, w}
		if _, err := io.WriteString(w, "before"); err != nil {
			t.Error(err)
		}
		cancel(told)
		_, err := io.WriteString(w, "after")
		return err
	})
	if !errors.Is(err, told) {
		t.Errorf("%v, want %v", err, told)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file is left: %v", err)
	}
}
