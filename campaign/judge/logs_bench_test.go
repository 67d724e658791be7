package judge_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"lockpick/campaign/judge"
	"lockpick/history/logs"
)

// BenchmarkLogs reads and judges a log of a hundred thousand lines.
func BenchmarkLogs(b *testing.B) {
	const lines, keys = 100_000, 1000
	var log bytes.Buffer
	start := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for i := range lines / 2 {
		at := start.Add(time.Duration(i) * time.Millisecond)
		for _, e := range []struct {
			name string
			at   time.Time
		}{{"acquired", at}, {"releasing", at.Add(700 * time.Millisecond)}} {
			fmt.Fprintf(&log, `{"level":"info","time":%q,"msg":"lock","event":%q,"key":"order:%d","token":"%032x","client":"worker-%d","host":"web-%d","valid_until":%q}`+"\n",
				e.at.Format(time.RFC3339Nano), e.name, i%keys, i, i%50, i%20, at.Add(10*time.Second).Format(time.RFC3339Nano))
		}
	}
	clock := 10 * time.Millisecond
	b.ReportAllocs()
	b.SetBytes(int64(log.Len()))
	for b.Loop() {
		im, err := logs.New(logs.Options{Format: logs.JSONL, ClockError: &clock})
		if err != nil {
			b.Fatal(err)
		}
		if err := im.Read("app.log", bytes.NewReader(log.Bytes())); err != nil {
			b.Fatal(err)
		}
		l, err := im.Log()
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := judge.Logs(l); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(lines*b.N)/b.Elapsed().Seconds(), "lines/s")
}
