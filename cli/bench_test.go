package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"lockpick/campaign/judge"
	"lockpick/history"
	"lockpick/reports"
	"lockpick/reports/term"
)

// BenchmarkCheckAndReport100k judges 100,000 recorded operations from their file,
// and writes both reports. peak-MB is the most memory that the process has had.
func BenchmarkCheckAndReport100k(b *testing.B) {
	path := filepath.Join(b.TempDir(), judge.HistoryFile)
	ops := write(b, path, 100_000)
	b.ResetTimer()
	for b.Loop() {
		h, r, err := judge.File(path)
		if err != nil {
			b.Fatal(err)
		}
		if err := reports.HTML(io.Discard, h, r, nil); err != nil {
			b.Fatal(err)
		}
		if err := reports.Terminal(io.Discard, h, r, term.Options{Width: 100}); err != nil {
			b.Fatal(err)
		}
		if r.Counts.Operations != ops {
			b.Fatalf("%d operations were judged, want %d", r.Counts.Operations, ops)
		}
	}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err == nil {
		b.ReportMetric(float64(usage.Maxrss)/1024, "peak-MB")
	}
}

// write records about n operations: five clients who take turns with two keys on five
// masters, with votes, sections, writes and a kill every hundred leases.
func write(b *testing.B, path string, n int) int {
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var now time.Duration
	rec, err := history.NewRecorder(f, history.Header{
		Name: "benchmark", Started: time.Unix(0, 0), Lock: "redlock", Driver: "process", Masters: 5, Quorum: 3,
		Persistence: "always", Clients: 5, Keys: 2, TTL: 2 * time.Second, Faults: []string{"kill"}, Nemesis: "random",
	}, func() time.Duration { now += 100 * time.Microsecond; return now })
	if err != nil {
		b.Fatal(err)
	}
	for lease := 0; rec.Len() < n; lease++ {
		client, key, token := fmt.Sprintf("c%d", lease%5+1), fmt.Sprintf("k%d", lease%2), fmt.Sprintf("%040x", lease)
		record := func(process string, t history.Type, name string, v history.Value) {
			v.Token = token
			rec.Record(history.Op{Process: process, Type: t, F: name, Key: key, Value: &v})
		}
		votes := func(command string) {
			for m := 1; m <= 5; m++ {
				record(fmt.Sprintf("m%d", m), history.OK, history.FVote, history.Value{Client: client, Command: command, Yes: true, Took: time.Millisecond})
			}
		}
		rec.Record(history.Op{Process: client, Type: history.Invoke, F: history.FAcquire, Key: key})
		votes(history.CommandSet)
		record(client, history.OK, history.FAcquire, history.Value{ValidUntil: now + 2*time.Second})
		record(client, history.Info, history.FEnter, history.Value{})
		record(client, history.Invoke, history.FWrite, history.Value{Value: int64(lease)})
		record(history.Resource, history.OK, history.FApply, history.Value{Value: int64(lease)})
		record(client, history.OK, history.FWrite, history.Value{Value: int64(lease)})
		record(client, history.Info, history.FLeave, history.Value{})
		record(client, history.Invoke, history.FRelease, history.Value{})
		votes(history.CommandRelease)
		record(client, history.OK, history.FRelease, history.Value{})
		if lease%100 == 0 {
			fault := history.Value{ID: lease/100 + 1, Masters: []string{"m1"}, TookEffect: true, Evidence: "m1 restarted, kept k0"}
			for _, phase := range []string{history.PhaseInstall, history.PhaseHeal} {
				v := fault
				v.Phase = phase
				rec.Record(history.Op{Process: history.Nemesis, Type: history.OK, F: "kill", Value: &v})
			}
		}
	}
	if err := rec.Err(); err != nil {
		b.Fatal(err)
	}
	return rec.Len()
}
