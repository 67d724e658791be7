package resp

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"lockpick/internal/inputs"
)

// quote writes a string as MONITOR does.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\\' || c == '"':
			b.WriteByte('\\')
			b.WriteByte(c)
		case strings.IndexByte("\n\r\t\a\b", c) >= 0:
			b.WriteByte('\\')
			b.WriteByte("nrtab"[strings.IndexByte("\n\r\t\a\b", c)])
		case c < 0x20 || c > 0x7e:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func (l MonitorLine) String() string {
	addr := l.Addr
	if addr == "" {
		addr = inScript
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d.%06d [%d %s]", l.Time/1e6, l.Time%1e6, l.DB, addr)
	for _, a := range l.Args {
		b.WriteString(" " + quote(a))
	}
	return b.String()
}

func TestParseMonitor(t *testing.T) {
	for text, want := range map[string]MonitorLine{
		`1700000000.000001 [0 127.0.0.1:6379] "PING"`:          {1700000000000001, 0, "127.0.0.1:6379", []string{"PING"}},
		`1700000000.123456 [15 lua] "SET" "" "a\"b\\\x00\r\n"`: {1700000000123456, 15, "", []string{"SET", "", "a\"b\\\x00\r\n"}},
		`1.000000 [0 [::1]:6379] "GET" "] \"k"`:                {1000000, 0, "[::1]:6379", []string{"GET", `] "k`}},
		`1.000000 [0 unix:/run/a b.sock] "GET" "\xff\t\a\b"`:   {1000000, 0, "unix:/run/a b.sock", []string{"GET", "\xff\t\a\b"}},
	} {
		got, err := ParseMonitor([]byte(text))
		if (err != nil) != (want.Args == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "OK", "1700000000.1 [0 a:1] \"PING\"", `1.000000 [0 a:1] `, `1.000000 [0 a:1] PING`, `1.000000 [0] "PING"`, `1.000000 [x a:1] "PING"`,
		`1.000000 [0 a:1] "PING`, `1.000000 [0 a:1] "PING\`, `1.000000 [0 a:1] "PING" `, `1.000000 [0 a:1] "PING""a"`, `-1.000000 [0 a:1] "PING"`, `1.000000 [-1 a:1] "PING"`,
	} {
		if l, err := ParseMonitor([]byte(text)); err == nil {
			t.Errorf("%q: %+v, and no error", text, l)
		}
	}
}

// FuzzMonitorLine: a line that can be parsed is the same after it was written and parsed again.
func FuzzMonitorLine(f *testing.F) {
	f.Add([]byte(`1700000000.123456 [0 127.0.0.1:6379] "SET" "k" "v\"\x00\n" "NX" "PX" "100"`))
	f.Add([]byte(`1700000000.123456 [0 lua] "EVAL" "return 1" "0"`))
	f.Add([]byte(`1700000000.123456 [3 unix:/a] "GET" "\\"`))
	f.Fuzz(checkMonitorLine)
}

func checkMonitorLine(t *testing.T, text []byte) {
	before := bytes.Clone(text)
	l, err := ParseMonitor(text)
	if !bytes.Equal(before, text) {
		t.Fatalf("%q was changed to %q", before, text)
	}
	if err != nil {
		return
	}
	if len(l.Args) == 0 {
		t.Fatalf("%q has no command", text)
	}
	again, err := ParseMonitor([]byte(l.String()))
	if err != nil || !reflect.DeepEqual(again, l) {
		t.Fatalf("%q is %+v, and %q is %+v, %v", text, l, l.String(), again, err)
	}
}

// TestManyMonitorLines is the same of many more lines, valid and broken ones.
func TestManyMonitorLines(t *testing.T) {
	random := inputs.Random(t)
	inputs.Count(t, "FuzzMonitorLine", func() any { return randomLine(random) }, func(t *testing.T, input any) {
		checkMonitorLine(t, []byte(input.(string)))
	})
}

// randomLine returns a line of MONITOR, which is broken in half of the cases.
func randomLine(random *rand.Rand) string {
	l := MonitorLine{Time: random.Int64N(2e15), DB: random.IntN(16), Addr: []string{"", "127.0.0.1:1", "[::1]:1", "unix:/a"}[random.IntN(4)]}
	for range 1 + random.IntN(4) {
		arg := make([]byte, random.IntN(8))
		for i := range arg {
			arg[i] = byte(random.IntN(256))
			if random.IntN(2) == 0 {
				arg[i] = `"\x ]n`[random.IntN(6)]
			}
		}
		l.Args = append(l.Args, string(arg))
	}
	b := []byte(l.String())
	for range random.IntN(3) {
		switch at := random.IntN(len(b)); random.IntN(3) {
		case 0:
			b[at] = byte(random.IntN(256))
		case 1:
			b = append(b[:at], b[at+1:]...)
		case 2:
			b = append(b[:at+1], b[at:]...)
		}
	}
	return string(b)
}
