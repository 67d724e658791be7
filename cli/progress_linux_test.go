package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	sys "golang.org/x/sys/unix"
)

// onTerminal runs the program with stderr on a pseudo-terminal of so many columns, and returns what it wrote there.
func onTerminal(t *testing.T, columns int, args ...string) string {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no pseudo-terminals: ", err)
	}
	defer master.Close()
	fd := int(master.Fd())
	number, err := sys.IoctlGetInt(fd, sys.TIOCGPTN)
	err = errors.Join(err, sys.IoctlSetPointerInt(fd, sys.TIOCSPTLCK, 0), sys.IoctlSetWinsize(fd, sys.TIOCSWINSZ, &sys.Winsize{Row: 24, Col: uint16(columns)}))
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Dir, cmd.Stderr = t.TempDir(), slave
	if err := errors.Join(cmd.Start(), slave.Close()); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	_, _ = io.Copy(&out, master) // ends with an error once the program has ended
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return out.String()
}

// TestProgressFitsTheTerminal: each redraw of the progress stays on its line, so that the next one replaces it.
func TestProgressFitsTheTerminal(t *testing.T) {
	escape := regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")
	for _, columns := range []int{60, 80, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			out := onTerminal(t, columns, "audit", "--lock", "redlock", "--only", "quiet,slow-links", "--budget", "full")
			drawn := 0
			for _, line := range strings.Split(out, "\n") {
				for _, redraw := range strings.Split(strings.TrimSuffix(line, "\r"), "\r") {
					if !strings.Contains(redraw, "schedules") {
						continue
					}
					drawn++
					if n := utf8.RuneCountInString(escape.ReplaceAllString(redraw, "")); n >= columns {
						t.Errorf("%d columns on a terminal of %d: %q", n, columns, redraw)
					}
				}
			}
			if drawn < 10 {
				t.Errorf("only %d redraws were seen:\n%q", drawn, out)
			}
			if lines := strings.Count(out, "\n"); lines > 5 {
				t.Errorf("%d lines stay on the screen:\n%q", lines, out)
			}
		})
	}
}
