package shadow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"lockpick/cluster/resp"
	"lockpick/internal/inputs"
)

// FuzzReader: whatever a server sends, nothing panics, and it makes no difference how it is cut.
func FuzzReader(f *testing.F) {
	for i, sent := range readerSeeds {
		f.Add([]byte(sent), uint8(2*i+1))
	}
	f.Fuzz(checkReader)
}

var readerSeeds = []string{
	"+OK\r\n>4\r\n$8\r\npmessage\r\n$16\r\n__keyspace@*__:*\r\n$16\r\n__keyspace@0__:k\r\n$3\r\nset\r\n",
	"%1\r\n+a\r\n*-1\r\n|1\r\n+a\r\n:1\r\n-ERR x\r\n_\r\n$-1\r\n#t\r\n,1.5\r\n",
	"+1700000000.123456 [0 127.0.0.1:6379] \"SET\" \"k\" \"v\\\"\\x00\\n\"\r\n",
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
			l, err := resp.ParseMonitor(v.text)
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

// TestManyInputs is the same of many more inputs.
func TestManyInputs(t *testing.T) {
	random := inputs.Random(t)
	inputs.Try(t, "FuzzReader", inputs.Texts(readerSeeds), func(t *testing.T, b []byte) { checkReader(t, b, uint8(random.IntN(256))) })
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
