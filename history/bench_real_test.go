//go:build real

package history

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"testing"
	"time"

	"lockpick/internal/processor"

	jsonv2 "github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
	goccy "github.com/goccy/go-json"
)

func BenchmarkDecode(b *testing.B) {
	op := vote()
	line, err := appendOp(nil, &op)
	if err != nil {
		b.Fatal(err)
	}
	line = append(line, '\n')
	run := func(name string, decode func(*Op) error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(line)))
			n, before := 0, processor.Time()
			for b.Loop() {
				var op Op
				if err := decode(&op); err != nil {
					b.Fatal(err)
				}
				n++
			}
			b.ReportMetric(float64((processor.Time()-before).Nanoseconds())/float64(n), "cpu-ns/line")
		})
	}
	var kept, scanned decoder
	scanned.again = &Value{}
	run("kept", func(op *Op) error { return kept.op(line, op) })
	run("scanned", func(op *Op) error { return scanned.op(line, op) })
	run("strict", func(op *Op) error { *op = Op{}; return kept.strict(line, op) })
	run("encoding-json", func(op *Op) error { return json.Unmarshal(line, op) })
	run("json-v2", func(op *Op) error { return jsonv2.Unmarshal(line, op, jsonv1.FormatDurationAsNano(true)) })
	run("goccy", func(op *Op) error { return goccy.Unmarshal(line, op) })
}

func BenchmarkEncode(b *testing.B) {
	op := vote()
	run := func(name string, encode func() error) {
		b.Run(name, func(b *testing.B) {
			n, before := 0, processor.Time()
			for b.Loop() {
				if err := encode(); err != nil {
					b.Fatal(err)
				}
				n++
			}
			b.ReportMetric(float64((processor.Time()-before).Nanoseconds())/float64(n), "cpu-ns/line")
		})
	}
	var room []byte
	run("append", func() (err error) { room, err = appendOp(room[:0], &op); return err })
	run("encoding-json", func() error { _, err := json.Marshal(&op); return err })
	var buffer bytes.Buffer
	run("json-v2", func() error {
		buffer.Reset()
		return jsonv2.MarshalWrite(&buffer, &op, jsonv1.FormatDurationAsNano(true))
	})
	run("goccy", func() error { _, err := goccy.Marshal(&op); return err })
}

// BenchmarkScan scans and reads a whole history: the file that the environment variable
// HISTORY names, or else 100,000 votes.
func BenchmarkScan(b *testing.B) {
	var file bytes.Buffer
	if path := os.Getenv("HISTORY"); path != "" {
		in, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(&file, in); err != nil {
			b.Fatal(err)
		}
	} else {
		r, err := NewRecorder(&file, Header{}, func() time.Duration { return 5 })
		if err != nil {
			b.Fatal(err)
		}
		for range 100_000 {
			r.Record(vote())
		}
	}
	run := func(name string, read func() int) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(file.Len()))
			n, before := 0, processor.Time()
			for b.Loop() {
				n += read()
			}
			used := processor.Time() - before
			b.ReportMetric(float64(n)/used.Seconds(), "lines/cpu-s")
			b.ReportMetric(float64(used.Nanoseconds())/float64(n), "cpu-ns/line")
		})
	}
	run("scan", func() int {
		n := 0
		if _, err := Scan(bytes.NewReader(file.Bytes()), func(*Op) error { n++; return nil }); err != nil {
			b.Fatal(err)
		}
		return n
	})
	run("read", func() int {
		h, err := Read(bytes.NewReader(file.Bytes()))
		if err != nil {
			b.Fatal(err)
		}
		return len(h.Ops)
	})
}
