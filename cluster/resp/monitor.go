package resp

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// MonitorLine is a command in the output of MONITOR.
type MonitorLine struct {
	Time int64  // of the master's clock, µs: after the command was executed; of a script, before
	DB   int    // database after the command
	Addr string // host:port, or unix:path; empty: a script called the command
	Args []string
}

// inScript is what MONITOR writes in place of an address for a command that a script has called.
const inScript = "lua"

var errMonitor = errors.New("not a line of MONITOR")

// ParseMonitor parses a line of MONITOR, such as
//
//	1700000000.123456 [0 127.0.0.1:6379] "SET" "k" "a\x00\"b"
func ParseMonitor(b []byte) (MonitorLine, error) {
	var l MonitorLine
	stamp, rest, ok := bytes.Cut(b, []byte(" ["))
	seconds, fraction, dotted := bytes.Cut(stamp, []byte("."))
	end := bytes.Index(rest, []byte(`] "`)) // an IPv6 address has brackets, too, but a colon follows them
	if !ok || !dotted || len(fraction) != 6 || end < 0 {
		return l, errMonitor
	}
	s, err1 := strconv.ParseUint(string(seconds), 10, 40)
	us, err2 := strconv.ParseUint(string(fraction), 10, 40)
	db, addr, ok := strings.Cut(string(rest[:end]), " ")
	n, err3 := strconv.ParseUint(db, 10, 31)
	if err := errors.Join(err1, err2, err3); err != nil || !ok || addr == "" {
		return l, errMonitor
	}
	l.Time, l.DB, l.Addr = int64(s)*1e6+int64(us), int(n), addr
	if addr == inScript {
		l.Addr = ""
	}
	for rest = rest[end+2:]; ; rest = rest[1:] {
		arg, n, ok := unquote(rest)
		if !ok {
			return l, errMonitor
		}
		l.Args = append(l.Args, arg)
		rest = rest[n:]
		if len(rest) == 0 {
			return l, nil
		}
		if rest[0] != ' ' {
			return l, errMonitor
		}
	}
}

// unquote decodes the quoted string at the beginning of b, and returns how many bytes it takes.
func unquote(b []byte) (s string, n int, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return "", 0, false
	}
	if plain := bytes.IndexAny(b[1:], `"\`); plain >= 0 && b[1+plain] == '"' {
		return string(b[1 : 1+plain]), plain + 2, true
	}
	n, text, ok := quoted(b[1:], '"')
	return string(text), n + 1, ok
}
