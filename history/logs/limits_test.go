package logs

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
)

// endless is a reader that repeats a text after a first one, and counts the bytes read.
type endless struct {
	first, text string
	read, limit int
}

func (e *endless) Read(b []byte) (int, error) {
	if e.first != "" {
		n := copy(b, e.first)
		e.first = e.first[n:]
		return n, nil
	}
	if e.read >= e.limit {
		return 0, io.EOF
	}
	n := copy(b, e.text[e.read%len(e.text):])
	for n < len(b) {
		n += copy(b[n:], e.text)
	}
	e.read += n
	return n, nil
}

// TestQuoteWithoutEndIsRefusedEarly checks that the rest of the file is not read into memory.
func TestQuoteWithoutEndIsRefusedEarly(t *testing.T) {
	for _, c := range []struct{ name, start, want string }{
		{"row", "key,client,acquired,releasing\nk,c,1700000000.1,1700000000.2\nk,\"c", `big.csv: the row after the one in line 2 is longer than 16 MiB: probably a quote (") in it has no end`},
		{"header", "key,client,\"acquired", "big.csv: the line of column names is longer than 16 MiB: is this CSV?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			im, err := New(Options{Format: CSV, NoTTL: true})
			if err != nil {
				t.Fatal(err)
			}
			in := &endless{first: c.start, text: "some more text\n", limit: 1 << 30}
			if err := im.Read("big.csv", in); err == nil || err.Error() != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
			if in.read > 2*MaxLine {
				t.Errorf("%d bytes were read", in.read)
			}
		})
	}
}

// TestLongLineIsSkipped checks that an overlong line is read to its end and counted, but not kept.
func TestLongLineIsSkipped(t *testing.T) {
	for _, format := range []Format{JSONL, OTLP} {
		t.Run(string(format), func(t *testing.T) {
			im, err := New(Options{Format: format})
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := im.Read("a.log", &endless{first: `{"x":"`, text: "0123456789abcdef", limit: 256 << 20}); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 128<<20 {
				t.Errorf("%d MiB were allocated for a line of 256 MiB", used>>20)
			}
			if n := im.flaws[tooLong].count; n != 1 {
				t.Errorf("%d long lines, want 1", n)
			}
		})
	}
}

// TestLongValuesAreLeftOut checks that overlong values are not kept, since a million of them would
// fill the memory.
func TestLongValuesAreLeftOut(t *testing.T) {
	long := strings.Repeat("k", MaxValue+1)
	for _, f := range []string{"key", "token", "client", "host"} {
		im, err := New(Options{Format: JSONL})
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]string{"key": "k", "token": "t", "client": "c", "host": "h"}
		for range 2 {
			line := fmt.Sprintf(`{"acquired":1700000000,"releasing":1700000001,"key":%q,"token":%q,"client":%q,"host":%q}`+"\n", values["key"], values["token"], values["client"], values["host"])
			if err := im.Read("a.log", strings.NewReader(line)); err != nil {
				t.Fatal(err)
			}
			values[f] = long
		}
		if im.events.n != 1 || im.flaws[longValue].count != 1 {
			t.Errorf("a long %s: %d events and %d long values, want 1 and 1", f, im.events.n, im.flaws[longValue].count)
		}
	}
}

// TestTooManyEventsAreRefused checks that the error says what to do, and that reading stops.
func TestTooManyEventsAreRefused(t *testing.T) {
	im, err := New(Options{Format: JSONL, NoTTL: true})
	if err != nil {
		t.Fatal(err)
	}
	im.maxEvents = 1000
	in := &endless{text: `{"acquired":1700000000,"releasing":1700000001,"key":"k","token":"t"}` + "\n", limit: 1 << 30}
	err = im.Read("a.log", in)
	if err == nil || !strings.Contains(err.Error(), "check fewer files, or a shorter time") {
		t.Fatalf("error %v", err)
	}
	if in.read > 1<<20 {
		t.Errorf("%d bytes were read", in.read)
	}
}

// TestMessagesAreShort checks that no value of a hostile log makes an error message long.
func TestMessagesAreShort(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	for _, c := range []struct {
		o    Options
		text string
	}{
		{Options{Format: JSONL}, fmt.Sprintf(`{"event":%q,"time":1}`, long)},
		{Options{Format: JSONL}, fmt.Sprintf(`{"event":"acquired","time":%q,"key":"k","token":"t"}`, "2026-11-22T12:00:00"+strings.Repeat(" ", 1<<20))},
		{Options{Format: JSONL, Map: map[string]string{"key": "nowhere"}}, fmt.Sprintf(`{%q:1}`, long)},
		{Options{Format: JSONL, Map: map[string]string{"key": "nowhere"}}, "{" + strings.Repeat(`"a":1,`, 1000) + `"b":2}`},
		{Options{Format: CSV}, long + ";b"},
		{Options{Format: CSV, Map: map[string]string{"key": "nowhere"}}, strings.Repeat(strings.Repeat("c", 500)+",", 1000)},
		{Options{Format: CSV, Map: map[string]string{"key": "nowhere"}}, func() string {
			var b strings.Builder
			for i := range 10_000 {
				fmt.Fprintf(&b, "column %d,", i)
			}
			return b.String()
		}()},
	} {
		im, err := New(c.o)
		if err != nil {
			t.Fatal(err)
		}
		if err = im.Read("a.log", strings.NewReader(c.text)); err == nil {
			_, err = im.Log()
		}
		if err == nil {
			t.Errorf("%.50s: no error", c.text)
		} else if n := len(err.Error()); n > 4000 {
			t.Errorf("%.50s: the message has %d bytes: %.200s", c.text, n, err)
		}
	}
}

// TestTimesOfTheSameMagnitudeHaveOneUnit checks that the ranges of the units do not overlap.
func TestTimesOfTheSameMagnitudeHaveOneUnit(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 123_456_789, time.UTC)
	for i, u := range units {
		n := at.UnixNano() / int64(u.unit)
		got, unit, err := (&Options{}).parseTime(fmt.Append(nil, n))
		if want := at.Truncate(u.unit).UnixNano(); err != nil || unit != i || int64(got) != want {
			t.Errorf("%d is %d in unit %d (%v), want %d in %s", n, got, unit, err, want, u.name)
		}
	}
}
