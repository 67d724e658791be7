//go:build real

package process

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"lockpick/cluster"
)

// BenchmarkAccount says what the account of masters costs: clients acquire and release by SET NX PX and a
// script, on masters with an account and on masters without one, in turns of a second. An iteration has four
// turns: without, with, with, without.
//
//	go test ./cluster/process -run '^$' -bench Account -benchtime 5x
//
// commands/s-ratio is the median of the throughput with the account to that without it; cpu-percent is the
// additional CPU time of this process, in percent of a core. delay is the time from the reply at the client
// to the step of the account; it is negative if the step comes first.
func BenchmarkAccount(b *testing.B) {
	needs(b, "process")
	for _, bench := range []struct {
		masters, clients, rate int // commands/s of all clients; 0: as many as possible
	}{{5, 10, 2000}, {5, 10, 0}, {1, 16, 0}} {
		name := fmt.Sprintf("%d masters/%d commands a second", bench.masters, bench.rate)
		if bench.rate == 0 {
			name = fmt.Sprintf("%d masters/saturated", bench.masters)
		}
		b.Run(name, func(b *testing.B) {
			w := accountLoad{masters: bench.masters, clients: bench.clients, rate: bench.rate}
			bare, followed := w.start(b, false), w.start(b, true)
			var ratios []float64
			var without, with float64
			for b.Loop() {
				n1, c1 := w.turn(b, bare)
				n2, c2 := w.turn(b, followed)
				n3, c3 := w.turn(b, followed)
				n4, c4 := w.turn(b, bare)
				ratios = append(ratios, float64(n2+n3)/float64(n1+n4))
				without, with = without+float64(c1+c4), with+float64(c2+c3)
				w.bare, w.followed = w.bare+n1+n4, w.followed+n2+n3
			}
			low, median, high := medianOf(ratios)
			b.ReportMetric(low, "commands/s-ratio-low")
			b.ReportMetric(median, "commands/s-ratio")
			b.ReportMetric(high, "commands/s-ratio-high")
			seconds := float64(2*b.N) * turn.Seconds()
			b.ReportMetric(float64(w.bare)/seconds, "bare-commands/s")
			b.ReportMetric(float64(w.followed)/seconds, "followed-commands/s")
			b.ReportMetric(100*(with-without)/1e9/seconds, "cpu-percent")
			for what, delays := range map[string][]time.Duration{"SET": w.delays, "EVAL": w.scripts} {
				slices.Sort(delays)
				for _, p := range []int{1, 50, 99} {
					b.ReportMetric(delays[len(delays)*p/100].Seconds()*1000, fmt.Sprintf("%s-delay-p%d-ms", what, p))
				}
			}
		})
	}
}

const turn = time.Second

type accountLoad struct {
	masters, clients, rate int
	bare, followed         int // commands
	serial                 atomic.Int64

	mu              sync.Mutex
	seen            map[string]time.Time // by kind of change and token: when the account had the step
	delays, scripts []time.Duration      // of SET, and of EVAL
}

// start starts masters, and connects the clients to each.
func (w *accountLoad) start(b *testing.B, account bool) [][]net.Conn {
	c, err := Start(context.Background(), cluster.Config{Masters: w.masters, Persistence: cluster.None})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	w.seen = map[string]time.Time{}
	if account {
		err := c.(cluster.Accountable).Account(func(_ int, x cluster.Executed) {
			if len(x.Changes) == 1 {
				now, c := time.Now(), x.Changes[0]
				w.mu.Lock()
				defer w.mu.Unlock()
				w.seen[string(c.Kind)+c.Value+c.Before] = now
			}
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	all := make([][]net.Conn, w.clients)
	for i := range all {
		for m := range w.masters {
			l, err := c.Link(fmt.Sprintf("c%d", i+1), m)
			if err != nil {
				b.Fatal(err)
			}
			conn, err := net.Dial("tcp", l.Addr())
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { conn.Close() })
			all[i] = append(all[i], conn)
		}
	}
	return all
}

// turn runs the load for a second. It returns the number of commands and the CPU time of this process.
func (w *accountLoad) turn(b *testing.B, clients [][]net.Conn) (commands int, cpu time.Duration) {
	before, until := cpuTime(), time.Now().Add(turn)
	var total atomic.Int64
	var all sync.WaitGroup
	for i, conns := range clients {
		all.Go(func() {
			readers := make([]*bufio.Reader, len(conns))
			for m, c := range conns {
				readers[m] = bufio.NewReader(c)
			}
			pause := time.Duration(0)
			if w.rate > 0 {
				pause = time.Duration(2*len(conns)*len(clients)) * time.Second / time.Duration(w.rate)
			}
			replied := map[string]time.Time{}
			next := time.Now().Add(pause * time.Duration(i) / time.Duration(len(clients)))
			for ; time.Now().Before(until); next = next.Add(pause) {
				if pause > 0 {
					time.Sleep(time.Until(next))
				}
				token, key := fmt.Sprintf("%032d", w.serial.Add(1)), fmt.Sprintf("lock:%d", i)
				for _, args := range [][]string{
					{"SET", key, token, "NX", "PX", "10000"},
					{"EVAL", releaseScript, "1", key, token},
				} {
					var text strings.Builder
					fmt.Fprintf(&text, "*%d\r\n", len(args))
					for _, a := range args {
						fmt.Fprintf(&text, "$%d\r\n%s\r\n", len(a), a)
					}
					for _, c := range conns {
						fmt.Fprint(c, text.String())
					}
					for _, r := range readers {
						if _, err := r.ReadString('\n'); err != nil {
							b.Error(err)
							return
						}
						total.Add(1)
					}
					kind := cluster.Created
					if args[0] == "EVAL" {
						kind = cluster.Deleted
					}
					replied[string(kind)+token] = time.Now()
				}
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			for change, at := range replied {
				seen, ok := w.seen[change]
				if !ok {
					continue
				}
				if strings.HasPrefix(change, string(cluster.Created)) {
					w.delays = append(w.delays, seen.Sub(at))
				} else {
					w.scripts = append(w.scripts, seen.Sub(at))
				}
				delete(w.seen, change)
			}
		})
	}
	all.Wait()
	return int(total.Load()), cpuTime() - before
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
