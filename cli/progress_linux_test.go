package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	sys "golang.org/x/sys/unix"
)

// onTerminal runs the program with stderr on a pseudo-terminal of so many columns until that is enough, interrupts it,
// and returns what it wrote there.
func onTerminal(t *testing.T, columns int, enough func(out string) bool, args ...string) string {
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
	var out []byte
	interrupted := false
	for piece := make([]byte, 4096); ; {
		n, err := master.Read(piece)
		if out = append(out, piece[:n]...); err != nil { // the program has ended
			break
		}
		if !interrupted && enough(string(out)) {
			interrupted = true
			if err := cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); !interrupted {
		t.Fatalf("it ended before it had written enough: %v\n%s", err, out)
	}
	return string(out)
}

// TestProgressFitsTheTerminal: each redraw of the progress stays on its line, so that the next one replaces it.
func TestProgressFitsTheTerminal(t *testing.T) {
	escape := regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")
	for _, columns := range []int{60, 80, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			redraws := func(out string) (all []string) {
				for _, line := range strings.Split(out, "\n") {
					for _, redraw := range strings.Split(strings.TrimSuffix(line, "\r"), "\r") {
						if strings.Contains(redraw, "schedules") {
							all = append(all, redraw)
						}
					}
				}
				return all
			}
			enough := func(out string) bool { return len(redraws(out)) > 10 }
			out := onTerminal(t, columns, enough, "audit", "--lock", "redlock", "--only", "quiet,slow-links", "--budget", "full")
			for _, redraw := range redraws(out) {
				if n := utf8.RuneCountInString(escape.ReplaceAllString(redraw, "")); n >= columns {
					t.Errorf("%d columns on a terminal of %d: %q", n, columns, redraw)
				}
			}
			if lines := strings.Count(out, "\n"); lines > 5 {
				t.Errorf("%d lines stay on the screen:\n%q", lines, out)
			}
		})
	}
}
