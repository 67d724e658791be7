package shadow

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// line is a command in the output of MONITOR.
type line struct {
	time int64  // of the master's clock, µs: after the command was executed; of a script, before
	db   int    // database after the command
	addr string // host:port, or unix:path; empty: a script called the command
	args []string
}

// inScript is what MONITOR writes in place of an address for a command that a script has called.
const inScript = "lua"

var errLine = errors.New("not a line of MONITOR")

// parseLine parses a line of MONITOR, such as
//
//	1700000000.123456 [0 127.0.0.1:6379] "SET" "k" "a\x00\"b"
func parseLine(b []byte) (line, error) {
	var l line
	stamp, rest, ok := bytes.Cut(b, []byte(" ["))
	seconds, fraction, dotted := bytes.Cut(stamp, []byte("."))
	end := bytes.Index(rest, []byte(`] "`)) // an IPv6 address has brackets, too, but a colon follows them
	if !ok || !dotted || len(fraction) != 6 || end < 0 {
		return l, errLine
	}
	s, err1 := strconv.ParseUint(string(seconds), 10, 40)
	us, err2 := strconv.ParseUint(string(fraction), 10, 40)
	db, addr, ok := strings.Cut(string(rest[:end]), " ")
	n, err3 := strconv.ParseUint(db, 10, 31)
	if err := errors.Join(err1, err2, err3); err != nil || !ok || addr == "" {
		return l, errLine
	}
	l.time, l.db, l.addr = int64(s)*1e6+int64(us), int(n), addr
	if addr == inScript {
		l.addr = ""
	}
	for rest = rest[end+2:]; ; rest = rest[1:] {
		arg, n, ok := unquote(rest)
		if !ok {
			return l, errLine
		}
		l.args = append(l.args, arg)
		rest = rest[n:]
		if len(rest) == 0 {
			return l, nil
		}
		if rest[0] != ' ' {
			return l, errLine
		}
	}
}

// unquote decodes the quoted string at the beginning of b, and returns how many bytes it takes.
func unquote(b []byte) (s string, n int, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return "", 0, false
	}
	plain := bytes.IndexAny(b[1:], `"\`)
	if plain < 0 {
		return "", 0, false
	}
	if b[1+plain] == '"' {
		return string(b[1 : 1+plain]), plain + 2, true
	}
	text := append(make([]byte, 0, 2*plain+16), b[1:1+plain]...)
	for n = 1 + plain; n < len(b); n++ {
		switch {
		case b[n] == '"':
			return string(text), n + 1, true
		case b[n] != '\\':
			text = append(text, b[n])
		case n+3 < len(b) && b[n+1] == 'x':
			x, err := strconv.ParseUint(string(b[n+2:n+4]), 16, 8)
			if err != nil {
				return "", 0, false
			}
			text = append(text, byte(x))
			n += 3
		case n+1 < len(b):
			n++
			text = append(text, unescape(b[n]))
		default:
			return "", 0, false
		}
	}
	return "", 0, false
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'a':
		return '\a'
	case 'b':
		return '\b'
	}
	return c
}
