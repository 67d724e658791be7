package checker

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"lockpick/history"
)

// record makes a history of at least n operations on one key, as a run of five
// clients and five masters records it: each acquire with five votes, a critical
// section, a release with five votes, and other clients' failed attempts between.
// Without votes it has only acquires and releases.
func record(n int, votes bool) []history.Op {
	ops := make([]history.Op, 0, n+64)
	now := time.Duration(0)
	add := func(process, f string, typ history.Type, v *history.Value) {
		now += 10 * time.Microsecond
		ops = append(ops, history.Op{Index: len(ops), Time: now, Process: process, Type: typ, F: f, Key: "k0", Value: v})
	}
	vote := func(client, token, command string, yes bool) {
		for m := 1; votes && m <= 5; m++ {
			add(fmt.Sprintf("m%d", m), history.FVote, history.OK, &history.Value{Client: client, Token: token, Command: command, Yes: yes, Took: time.Millisecond})
		}
	}
	waiting := map[string]bool{}
	for i := 0; len(ops) < n; i++ {
		c, token := fmt.Sprintf("c%d", i%5+1), fmt.Sprintf("t%d", i)
		if !waiting[c] {
			add(c, history.FAcquire, history.Invoke, nil)
		}
		waiting[c] = false
		vote(c, token, history.CommandSet, true)
		add(c, history.FAcquire, history.OK, &history.Value{Token: token, ValidUntil: now + 2*time.Second})
		if votes {
			add(c, history.FEnter, history.Info, &history.Value{Token: token})
			if i%4 == 0 {
				other := fmt.Sprintf("c%d", (i+2)%5+1)
				if !waiting[other] {
					add(other, history.FAcquire, history.Invoke, nil)
					vote(other, "f"+token, history.CommandSet, false)
					add(other, history.FAcquire, history.Fail, nil)
				}
			}
			add(c, history.FLeave, history.Info, &history.Value{Token: token})
		}
		for j := 1; j < 5; j++ { // all other clients wait in their acquires, so no epoch can be cut
			if other := fmt.Sprintf("c%d", (i+j)%5+1); !votes && !waiting[other] {
				add(other, history.FAcquire, history.Invoke, nil)
				waiting[other] = true
			}
		}
		add(c, history.FRelease, history.Invoke, &history.Value{Token: token})
		vote(c, token, history.CommandRelease, true)
		add(c, history.FRelease, history.OK, &history.Value{Token: token})
	}
	return ops
}

// BenchmarkCheck100k judges 100,000 recorded operations on one key, and reports
// the memory that the process obtained from the system, in MB.
func BenchmarkCheck100k(b *testing.B) {
	for _, bench := range []struct {
		name  string
		votes bool
	}{{"votes", true}, {"locksOnly", false}} {
		b.Run(bench.name, func(b *testing.B) {
			h := &history.History{Ops: record(100_000, bench.votes)}
			b.ReportAllocs()
			for b.Loop() {
				rep := Check(h)
				if r := rep.Result(MutualExclusion); r.Count > 0 || rep.Err() != nil {
					b.Fatalf("%s: %s", r.Verdict, r.Why)
				}
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.Sys)/1e6, "MB-of-system")
			b.ReportMetric(float64(len(h.Ops)), "operations")
		})
	}
}

// BenchmarkCheckBroken judges a lock that grants everything to everyone: the key
// is never free, so the history cannot be cut.
func BenchmarkCheckBroken(b *testing.B) {
	ops := record(100_000, true)
	for i := range ops {
		if ops[i].F == history.FRelease && i > 50_000 {
			ops[i].F = history.FRead
		}
	}
	h := &history.History{Ops: ops}
	b.ReportAllocs()
	for b.Loop() {
		rep := Check(h)
		if r := rep.Result(MutualExclusion); r.Verdict != Violated || rep.Err() != nil {
			b.Fatalf("%s: %s", r.Verdict, r.Why)
		}
	}
}

// BenchmarkWatch measures the cost of one observed operation.
func BenchmarkWatch(b *testing.B) {
	ops := record(100_000, true)
	var w Watch
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		w.Observe(ops[i%len(ops)])
		i++
	}
}
