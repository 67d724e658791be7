package logs

import (
	"strings"
	"testing"
	"time"

	"lockpick/history"
	"lockpick/internal/inputs"
)

// judgeable checks the invariants of a log with arbitrary lines.
func judgeable(t *testing.T, o Options, input string) {
	clock, call := 10*time.Millisecond, 5*time.Millisecond
	o.ClockError, o.CallTime, o.TTLUnit, o.Zone = &clock, &call, time.Millisecond, time.UTC
	im, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := im.Read("fuzz.log", strings.NewReader(input)); err != nil {
		return
	}
	if err := im.unfound(); err != nil && strings.Contains(err.Error(), "\n") {
		t.Fatalf("not a sentence: %q", err)
	}
	for f := range im.there {
		im.there[f] = true // avoid the error of unfound, to fuzz the rest, too
	}
	l, err := im.Log()
	if err != nil {
		if strings.Contains(err.Error(), "\n") {
			t.Fatalf("not a sentence: %q", err)
		}
		return
	}
	for i := range l.holds.n {
		h := l.holds.at(i)
		exact := l.exact(h)
		certain, why := l.certain(h)
		if why == sure && (certain.from() < exact.from() || certain.to > exact.to || certain.to <= certain.from()) {
			t.Fatalf("hold %d is certain from %d to %d, but lasts from %d to %d", i, certain.from(), certain.to, exact.from(), exact.to)
		}
	}
	h := l.All()
	for i := range h.Ops {
		op := &h.Ops[i]
		if op.Index != i || op.Time < 0 || i > 0 && op.Time < h.Ops[i-1].Time {
			t.Fatalf("operation %d is %+v", i, op)
		}
		if op.Value != nil && op.Value.ValidUntil < 0 {
			t.Fatalf("operation %d is valid until %v", i, op.Value.ValidUntil)
		}
	}
	judged := 0
	for _, lease := range history.Leases(h.Ops) {
		for _, hold := range lease.Holds() {
			if !hold.Empty() {
				judged++
				break
			}
		}
	}
	if judged != l.Judged {
		t.Fatalf("the history has %d holds, the log %d that are certain", judged, l.Judged)
	}
	inParts := 0
	for makePart := range l.Parts(2) {
		part := makePart()
		for i := range part.Ops {
			if part.Ops[i].F == history.FAcquire && part.Ops[i].Type == history.OK {
				inParts++
			}
		}
		inParts -= part.Repeated
	}
	if inParts != l.Judged {
		t.Fatalf("the parts have %d holds, the log %d that are certain", inParts, l.Judged)
	}
	l.Possible(3)
}

// FuzzJSONLines checks that no input panics, and that each certain hold lies within its exact form.
func FuzzJSONLines(f *testing.F) {
	for _, s := range seedsJSONLines {
		f.Add(s)
	}
	f.Fuzz(checkJSONLines)
}

func checkJSONLines(t *testing.T, input string) {
	judgeable(t, Options{Format: JSONL, NoTTL: true}, input)
	judgeable(t, Options{Format: JSONL, TTL: time.Second, Map: map[string]string{"key": "@k", "token": "a.b", "client": "a"}}, input)
}

// FuzzOTLP checks the same for spans.
func FuzzOTLP(f *testing.F) {
	for _, s := range seedsOTLP {
		f.Add(s)
	}
	f.Fuzz(checkOTLP)
}

func checkOTLP(t *testing.T, input string) {
	judgeable(t, Options{Format: OTLP, TTL: time.Second}, input)
	judgeable(t, Options{Format: OTLP, NoTTL: true, Map: map[string]string{"releasing": "end"}}, input)
}

// FuzzCSV checks the same for CSV rows.
func FuzzCSV(f *testing.F) {
	for _, s := range seedsCSV {
		f.Add(s)
	}
	f.Fuzz(checkCSV)
}

func checkCSV(t *testing.T, input string) {
	judgeable(t, Options{Format: CSV, NoTTL: true}, input)
	judgeable(t, Options{Format: CSV, TTL: time.Second, Delimiter: ';', Map: map[string]string{"host": "@file"}}, input)
}

// FuzzTime checks that a parsed time is in range, and equals that of package time if that can parse
// the text.
func FuzzTime(f *testing.F) {
	for _, s := range seedsTime {
		f.Add(s)
	}
	f.Fuzz(checkTime)
}

func checkTime(t *testing.T, text string) {
	at, _, err := (&Options{}).parseTime([]byte(text))
	if err != nil {
		return
	}
	if at < 0 || at.digits() > 9 {
		t.Fatalf("%q is %d", text, at)
	}
	if want, err := time.Parse(time.RFC3339Nano, text); err == nil && want.UnixNano() != int64(at) {
		t.Fatalf("%q is %v, want %v", text, time.Unix(0, int64(at)), want)
	}
}

var seedsJSONLines = []string{
	`{"time":"2026-11-22T12:00:00.100Z","event":"acquired","key":"k","token":"t","valid_until":"2026-11-22T12:00:10Z"}
{"time":1795348801.5,"event":"extended","key":"k","token":"t","ttl":5000}
{"time":1795348802123,"event":"releasing","key":"k","token":"t"}`,
	`{"acquired":1700000000,"released":1.7000000015e9,"key":"k","client":{"a":1},"token":"\u0061","requested":1699999999}`,
	`{"acquired":1700000000,"releasing":1700000009,"key":"k","client":"c"}
{"acquired":1700000001,"releasing":1700000002,"key":"k","client":"d","ttl":"PT1M"}`,
}

var seedsOTLP = []string{
	`{"resourceSpans":[{"resource":{"attributes":[{"key":"host","value":{"stringValue":"h"}}]},"scopeSpans":[{"spans":[{"name":"lock.acquire","startTimeUnixNano":"1700000000000000001","endTimeUnixNano":"1700000000020000000","attributes":[{"key":"key","value":{"stringValue":"k"}},{"key":"token","value":{"intValue":"7"}}]},{"name":"lock.release","startTimeUnixNano":1700000003000000000,"endTimeUnixNano":1700000003001000000,"attributes":[{"key":"key","value":{"stringValue":"k"}},{"key":"token","value":{"intValue":7}}]}]}]}]}`,
	`{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"lock.hold","startTimeUnixNano":"1700000000000000001","endTimeUnixNano":"1700000000020000000","attributes":[{"key":"key","value":{"boolValue":true}},{"key":"client","value":{"doubleValue":1.5}}],"status":{"code":"STATUS_CODE_ERROR"}}]}]}]}`,
}

var seedsCSV = []string{
	"key,token,acquired,releasing,valid_until\nk,t,1700000000.1,1700000001.2,1700000010.3\nk,\"a\nb\",1700000000.4,,1700000012\n",
	"\xef\xbb\xbftime,event,key,client\n2026-11-22 12:00:00,acquired,k,c\n2026-11-22 12:00:01,releasing,k,c\n",
}

var seedsTime = []string{
	"2026-11-22T12:00:00Z", "2026-11-22 12:00:00,123+01:00", "2026-02-29T23:59:59.999999999-0330", "2024-02-29T12:00:60Z",
	"1700000000", "1700000000.123456789", "1700000000123", "1700000000123456", "1700000000123456789", "1.7000000001e9", "-5", "12", "9999999999999999999",
}

// TestManyInputs runs the fuzz tests on many more inputs.
func TestManyInputs(t *testing.T) {
	t.Run("FuzzJSONLines", func(t *testing.T) {
		inputs.Try(t, "FuzzJSONLines", inputs.Texts(seedsJSONLines), func(t *testing.T, b []byte) { checkJSONLines(t, string(b)) })
	})
	t.Run("FuzzOTLP", func(t *testing.T) {
		inputs.Try(t, "FuzzOTLP", inputs.Texts(seedsOTLP), func(t *testing.T, b []byte) { checkOTLP(t, string(b)) })
	})
	t.Run("FuzzCSV", func(t *testing.T) {
		inputs.Try(t, "FuzzCSV", inputs.Texts(seedsCSV), func(t *testing.T, b []byte) { checkCSV(t, string(b)) })
	})
	t.Run("FuzzTime", func(t *testing.T) {
		inputs.Try(t, "FuzzTime", inputs.Texts(seedsTime), func(t *testing.T, b []byte) { checkTime(t, string(b)) })
	})
}
