package process

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// serverLog is a master's log file. The server appends to it in all its starts; lines of the
// harness separate them.
type serverLog struct{ path string }

// create creates the file, so that the harness owns it rather than the program that opens it
// next.
func (j serverLog) create() error {
	f, err := os.OpenFile(j.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("create a master's log: %w", err)
	}
	return f.Close()
}

// write appends text. Errors are ignored: a log that cannot be written must not end a campaign,
// and the server reports the same error.
func (j serverLog) write(text string) {
	f, err := os.OpenFile(j.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintln(f, strings.TrimRight(text, "\n"))
}

// mark appends a line of the harness and returns the position after it.
func (j serverLog) mark(format string, args ...any) int64 {
	j.write(fmt.Sprintf("=== %s lockpick: ", time.Now().Format(time.RFC3339Nano)) + fmt.Sprintf(format, args...))
	st, err := os.Stat(j.path)
	if err != nil {
		return 0
	}
	return st.Size()
}

// takenPort reports whether the server has logged, since that position, that it could not
// listen on its port.
func (j serverLog) takenPort(from int64) bool {
	f, err := os.Open(j.path)
	if err != nil {
		return false
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return false
	}
	b, err := io.ReadAll(io.LimitReader(f, 64<<10))
	return err == nil && bytes.Contains(b, []byte("Address already in use"))
}

// tail returns the end of the log, for errors.
func (j serverLog) tail() string {
	const lines, size = 8, 8 << 10
	f, err := os.Open(j.path)
	if err != nil {
		return "\t(" + err.Error() + ")"
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() > size {
		f.Seek(-size, io.SeekEnd)
	}
	b, _ := io.ReadAll(io.LimitReader(f, size)) // the server may be writing more
	all := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	return "\t" + strings.Join(all, "\n\t")
}
