package shadow

import (
	"bytes"
	"fmt"
	"strconv"
	"testing"

	"lockpick/cluster"
	"lockpick/internal/processor"
)

// lockTraffic returns what a master sends to its account while a lock is acquired, extended and released n times:
// by SET NX PX and two scripts, with their events. It also returns the number of MONITOR's lines.
func lockTraffic(n int) (sent []byte, lines int) {
	var b bytes.Buffer
	line := func(format string, args ...any) {
		lines++
		fmt.Fprintf(&b, "+1700000000.%06d [0 %s\r\n", lines%1_000_000, fmt.Sprintf(format, args...))
	}
	event := func(key, what string) {
		channel := "__keyspace@0__:" + key
		fmt.Fprintf(&b, ">4\r\n$8\r\npmessage\r\n$16\r\n__keyspace@*__:*\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(channel), channel, len(what), what)
	}
	for i := range n {
		key, token, from := "lock:"+strconv.Itoa(i%10), fmt.Sprintf("%040d", i), fmt.Sprintf("127.0.0.1:%d", 40_000+i%16)
		for _, what := range []string{"new", "set", "expire"} {
			event(key, what)
		}
		line(`%s] "SET" "%s" "%s" "NX" "PX" "10000"`, from, key, token)
		for _, script := range []struct{ write, event string }{{`"pexpire" "%s" "10000"`, "expire"}, {`"del" "%s"`, "del"}} {
			line(`%s] "EVALSHA" "%s" "1" "%s" "%s"`, from, token, key, token)
			line(`lua] "get" "%s"`, key)
			event(key, script.event)
			line(`lua] `+script.write, key)
		}
	}
	return b.Bytes(), lines
}

// BenchmarkLines measures the processor time that an account takes for a line of MONITOR with its events: to read,
// parse and follow them.
func BenchmarkLines(b *testing.B) {
	sent, lines := lockTraffic(1000)
	steps, doubts := 0, 0
	g := newGroup(func(x cluster.Executed) {
		steps++
		for _, c := range x.Changes {
			if c.Doubtful != "" {
				doubts++
			}
		}
	}, func(string) {})
	a := &Account{group: g}
	s := &session{name: probePrefix}
	used := processor.Time()
	for b.Loop() {
		r := newReader(bytes.NewReader(sent))
		for v, err := r.next(); err == nil; v, err = r.next() {
			a.handle(s, v, func(error) {})
		}
	}
	if steps < 3*1000 || doubts > 0 {
		b.Fatalf("%d steps, %d of them doubtful", steps, doubts)
	}
	ns := float64((processor.Time() - used).Nanoseconds()) / float64(b.N*lines)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ns, "cpu-ns/line")
	b.ReportMetric(100*ns*2000*1e-9, "core-percent-at-2000-lines/s")
}
