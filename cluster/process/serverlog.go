package process

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// serverLog is a master's log file. The server appends to it over all its starts;
// marks of ours say where each of them begins.
type serverLog struct{ path string }

// create makes the file, so that whoever opens it next is not its owner.
func (j serverLog) create() error {
	f, err := os.OpenFile(j.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("create a master's log: %w", err)
	}
	return f.Close()
}

// write appends text. A log that can not be written must not end a campaign: the
// server itself will complain about it.
func (j serverLog) write(text string) {
	f, err := os.OpenFile(j.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintln(f, strings.TrimRight(text, "\n"))
}

// mark appends a line of ours and says where what follows it begins.
func (j serverLog) mark(format string, args ...any) int64 {
	j.write(fmt.Sprintf("=== %s lockpick: ", time.Now().Format(time.RFC3339Nano)) + fmt.Sprintf(format, args...))
	st, err := os.Stat(j.path)
	if err != nil {
		return 0
	}
	return st.Size()
}

// takenPort says whether the server complained, since that position, that it
// could not listen on its port.
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

// tail is the end of the log, as an error quotes it.
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
	b, _ := io.ReadAll(f)
	all := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	return "\t" + strings.Join(all, "\n\t")
}
