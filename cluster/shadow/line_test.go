package shadow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strconv"
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

func (l line) String() string {
	addr := l.addr
	if addr == "" {
		addr = inScript
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d.%06d [%d %s]", l.time/1e6, l.time%1e6, l.db, addr)
	for _, a := range l.args {
		b.WriteString(" " + quote(a))
	}
	return b.String()
}

func TestParseLine(t *testing.T) {
	for text, want := range map[string]line{
		`1700000000.000001 [0 127.0.0.1:6379] "PING"`:           {1700000000000001, 0, "127.0.0.1:6379", []string{"PING"}},
		`1700000000.123456 [15 lua] "SET" "" "a\"b\\\x00\r\n"`:  {1700000000123456, 15, "", []string{"SET", "", "a\"b\\\x00\r\n"}},
		`1.000000 [0 [::1]:6379] "GET" "] \"k"`:                 {1000000, 0, "[::1]:6379", []string{"GET", `] "k`}},
		`1.000000 [0 unix:/run/a b.sock] "GET" "\xff\t\a\b\xZ"`: {},
		`1.000000 [0 unix:/run/a b.sock] "GET" "\xff\t\a\b"`:    {1000000, 0, "unix:/run/a b.sock", []string{"GET", "\xff\t\a\b"}},
	} {
		got, err := parseLine([]byte(text))
		if (err != nil) != (want.args == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "OK", "1700000000.1 [0 a:1] \"PING\"", `1.000000 [0 a:1] `, `1.000000 [0 a:1] PING`, `1.000000 [0] "PING"`, `1.000000 [x a:1] "PING"`,
		`1.000000 [0 a:1] "PING`, `1.000000 [0 a:1] "PING\`, `1.000000 [0 a:1] "PING" `, `1.000000 [0 a:1] "PING""a"`, `-1.000000 [0 a:1] "PING"`, `1.000000 [-1 a:1] "PING"`,
	} {
		if l, err := parseLine([]byte(text)); err == nil {
			t.Errorf("%q: %+v, and no error", text, l)
		}
	}
}

// FuzzParseLine: a line that can be parsed is the same after it was written and parsed again.
func FuzzParseLine(f *testing.F) {
	f.Add([]byte(`1700000000.123456 [0 127.0.0.1:6379] "SET" "k" "v\"\x00\n" "NX" "PX" "100"`))
	f.Add([]byte(`1700000000.123456 [0 lua] "EVAL" "return 1" "0"`))
	f.Add([]byte(`1700000000.123456 [3 unix:/a] "GET" "\\"`))
	f.Fuzz(checkLine)
}

func checkLine(t *testing.T, text []byte) {
	before := bytes.Clone(text)
	l, err := parseLine(text)
	if !bytes.Equal(before, text) {
		t.Fatalf("%q was changed to %q", before, text)
	}
	if err != nil {
		return
	}
	if len(l.args) == 0 {
		t.Fatalf("%q has no command", text)
	}
	again, err := parseLine([]byte(l.String()))
	if err != nil || !reflect.DeepEqual(again, l) {
		t.Fatalf("%q is %+v, and %q is %+v, %v", text, l, l.String(), again, err)
	}
}

// FuzzReader: whatever a server sends, nothing panics, and it makes no difference how it is cut.
func FuzzReader(f *testing.F) {
	f.Add([]byte("+OK\r\n>4\r\n$8\r\npmessage\r\n$16\r\n__keyspace@*__:*\r\n$16\r\n__keyspace@0__:k\r\n$3\r\nset\r\n"), uint8(3))
	f.Add([]byte("%1\r\n+a\r\n*-1\r\n|1\r\n+a\r\n:1\r\n-ERR x\r\n_\r\n$-1\r\n#t\r\n,1.5\r\n"), uint8(1))
	f.Fuzz(checkReader)
}

func checkReader(t *testing.T, sent []byte, size uint8) {
	whole := readAll(bytes.NewReader(sent))
	pieces := readAll(&pieces{sent, int(size)%17 + 1})
	if whole != pieces {
		t.Fatalf("%q in pieces of %d: %s; in one piece: %s", sent, int(size)%17+1, pieces, whole)
	}
}

func readAll(r io.Reader) string {
	var b strings.Builder
	for reader := newReader(r); ; {
		v, err := reader.next()
		if err != nil {
			fmt.Fprint(&b, err)
			return b.String()
		}
		e, isEvent := v.event()
		fmt.Fprintf(&b, "%s, %v, %v\n", v.describe(), e, isEvent)
		if v.isLine() {
			l, err := parseLine(v.text)
			fmt.Fprintln(&b, l, err)
		}
	}
}

func (v value) describe() string {
	s := string(v.kind) + strconv.Quote(string(v.text))
	for _, e := range v.elems {
		s += " " + e.describe()
	}
	return s
}

// pieces is a reader that returns few bytes at a time.
type pieces struct {
	left []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.left[:min(p.size, len(p.left))])
	p.left = p.left[n:]
	return n, nil
}

// TestManyInputs is the same of many more inputs: valid and broken lines and values.
func TestManyInputs(t *testing.T) {
	random := inputs.Random(t)
	inputs.Count(t, "FuzzParseLine", func() any { return randomLine(random) }, func(t *testing.T, input any) {
		checkLine(t, []byte(input.(string)))
		checkReader(t, []byte("+"+input.(string)+"\r\n"), uint8(random.IntN(256)))
	})
}

// randomLine returns a line of MONITOR, which is broken in half of the cases.
func randomLine(random *rand.Rand) string {
	l := line{time: random.Int64N(2e15), db: random.IntN(16), addr: []string{"", "127.0.0.1:1", "[::1]:1", "unix:/a"}[random.IntN(4)]}
	for range 1 + random.IntN(4) {
		arg := make([]byte, random.IntN(8))
		for i := range arg {
			arg[i] = byte(random.IntN(256))
			if random.IntN(2) == 0 {
				arg[i] = `"\x ]n`[random.IntN(6)]
			}
		}
		l.args = append(l.args, string(arg))
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

func TestReaderBoundsWhatAServerSends(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	r := newReader(strings.NewReader("+" + long + "xyz\r\n+OK\r\n"))
	if v, err := r.next(); err != nil || !v.cut || len(v.text) != maxLine-1 {
		t.Errorf("a line of %d bytes: %d of them, cut %v, %v", maxLine+6, len(v.text), v.cut, err)
	}
	if v, err := r.next(); err != nil || v.cut || string(v.text) != "OK" {
		t.Errorf("after it: %q, %v", v.text, err)
	}
	for _, sent := range []string{"$99999999999\r\n", "*99999999999\r\n", "$-2\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", "\r\n", "x\r\n"} {
		if v, err := newReader(strings.NewReader(sent)).next(); err == nil {
			t.Errorf("%q is %v", sent, v.describe())
		}
	}
	endless := io.MultiReader(strings.NewReader("*1000000000\r\n"), repeat("+"+strings.Repeat("y", 1000)+"\r\n"))
	if _, err := newReader(endless).next(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("an endless reply: %v", err)
	}
}

// repeat is a reader that sends a text again and again.
type repeat string

func (r repeat) Read(b []byte) (int, error) {
	n := 0
	for n+len(r) <= len(b) {
		n += copy(b[n:], r)
	}
	return n, nil
}
