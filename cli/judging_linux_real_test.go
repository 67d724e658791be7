//go:build real

package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"lockpick/internal/waittest"
)

// TestAnInterruptWhileALongHistoryIsRead: check, report and export end at once, with exit code 2 and no verdict, while
// they are busy with a history that takes minutes.
func TestAnInterruptWhileALongHistoryIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "history.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriterSize(f, 1<<20)
	fmt.Fprintln(out, `{"lockpick_history":2,"name":"long","lock":"redlock","driver":"sim","masters":5,"quorum":3,"clients":2,"keys":1,"ttl":2000000000,"started":"2026-11-26T00:00:00Z"}`)
	for i := range 5_000_000 {
		fmt.Fprintf(out, `{"index":%d,"time":%d,"process":"m1","type":"info","f":"stall","value":{"took":1}}`+"\n", i, i*1000)
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check", path}, {"show", dir}, {"show", path, "--story"}, {"show", path, "--as", "mermaid"}} {
		cmd := exec.CommandContext(t.Context(), binary, args...)
		var said bytes.Buffer
		cmd.Stderr, cmd.Stdout = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "the history is open", func() bool {
			all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", cmd.Process.Pid))
			for _, fd := range all {
				if to, _ := os.Readlink(fd); to == path {
					return true
				}
			}
			return cmd.Process.Signal(syscall.Signal(0)) != nil
		})
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != exitUndecided || !strings.Contains(said.String(), "interrupted before there was anything to judge") {
			t.Errorf("%v: exit %d, want %d:\n%s", args, code, exitUndecided, &said)
		}
	}
}
