//go:build real

package process

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lockpick/cluster"
)

// BenchmarkShim says what the shim costs: SETs of 20 connections at once, of a server
// with it as a ratio to one without it. An iteration is four short rounds, without,
// with, with, without (ABBA), so that whatever else the machine does meanwhile, and
// does more and more of, is done to both. Each gives two ratios, of which the median
// is told, and between which bounds that of all such rounds lies with 95 % confidence:
//
//	cpu-ratio    of the CPU time of the server process for a SET: what the shim itself costs
//	time-ratio   of the time that the SETs took, which a busy machine blurs
//
// It takes some fifty iterations: go test ./cluster -run '^$' -bench Shim -benchtime 50x
func BenchmarkShim(b *testing.B) {
	needs(b, "process")
	for _, p := range []cluster.Persistence{cluster.None, cluster.Everysec, cluster.Always} {
		b.Run(string(p), func(b *testing.B) {
			with := benchMaster(b, p)
			if err := with.cluster.Shim(); err != nil {
				b.Skip(err)
			}
			b.Setenv("CC", "none")
			b.Setenv("XDG_CACHE_HOME", b.TempDir())
			without := benchMaster(b, p)
			with.sets(b) // the first round of each pays for what later ones find
			without.sets(b)
			var cpu, took []float64
			var all cost
			for b.Loop() {
				a1, b1, b2, a2 := without.sets(b), with.sets(b), with.sets(b), without.sets(b)
				cpu = append(cpu, float64(b1.cpu+b2.cpu)/float64(a1.cpu+a2.cpu))
				took = append(took, float64(b1.took+b2.took)/float64(a1.took+a2.took))
				all = cost{all.took + b1.took + b2.took, all.cpu + b1.cpu + b2.cpu}
			}
			n := float64(2 * b.N * benchConns * benchSets)
			b.ReportMetric(n/all.took.Seconds(), "SET/s")
			b.ReportMetric(all.cpu.Seconds()*1e6/n, "cpu-µs/SET")
			for what, ratios := range map[string][]float64{"cpu": cpu, "time": took} {
				low, median, high := medianOf(ratios)
				b.ReportMetric(median, what+"-ratio")
				b.ReportMetric(low, what+"-ratio-low")
				b.ReportMetric(high, what+"-ratio-high")
			}
		})
	}
}

// medianOf is the median and its 95 % confidence interval, which order statistics give
// whatever the distribution: with fewer than six values it is all of them.
func medianOf(x []float64) (low, median, high float64) {
	slices.Sort(x)
	n := len(x)
	off := int(math.Ceil(0.98 * math.Sqrt(float64(n)))) // 1.96 times √n/2 ranks from the middle
	return x[max(0, n/2-off)], (x[(n-1)/2] + x[n/2]) / 2, x[min(n-1, (n-1)/2+off)]
}

const benchConns, benchSets = 20, 200

// benched is a server that is asked for SETs.
type benched struct {
	cluster *group
	conns   []net.Conn
	info    *bufio.Reader // of the first connection, beside the SETs
}

func benchMaster(b *testing.B, p cluster.Persistence) *benched {
	c, err := Start(context.Background(), cluster.Config{Masters: 1, Persistence: p})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	x := &benched{cluster: c.(*group)}
	for range 1 + benchConns {
		x.conns = append(x.conns, dial(b, x.cluster.masters[0].now()))
	}
	x.info = bufio.NewReader(x.conns[0])
	return x
}

// cost is what a round of SETs took.
type cost struct{ took, cpu time.Duration }

// sets sends every connection's SETs, each after the reply to the one before.
func (x *benched) sets(b *testing.B) cost {
	before, began := x.cpu(b), time.Now()
	var all sync.WaitGroup
	for i, c := range x.conns[1:] {
		all.Go(func() {
			command := fmt.Appendf(nil, "SET key%d token-of-a-lock PX 30000\r\n", i)
			reply := make([]byte, len("+OK\r\n"))
			for range benchSets {
				if _, err := c.Write(command); err != nil {
					b.Error(err)
					return
				}
				if _, err := c.Read(reply); err != nil || string(reply) != "+OK\r\n" {
					b.Errorf("%q, %v", reply, err)
					return
				}
			}
		})
	}
	all.Wait()
	return cost{time.Since(began), x.cpu(b) - before}
}

// cpu is the CPU time that the server has used, all its threads and the kernel's work
// for it, to the microsecond.
func (x *benched) cpu(b *testing.B) time.Duration {
	fmt.Fprintf(x.conns[0], "INFO cpu\r\n")
	length, err := x.info.ReadString('\n')
	n, wrong := strconv.Atoi(strings.Trim(length, "$\r\n"))
	if err != nil || wrong != nil {
		b.Fatalf("%q, %v", length, err)
	}
	var sum float64
	for left := n + 2; left > 0; {
		line, err := x.info.ReadString('\n')
		if err != nil {
			b.Fatal(err)
		}
		left -= len(line)
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_sys" || name == "used_cpu_user" {
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				b.Fatal(err)
			}
			sum += seconds
		}
	}
	return time.Duration(sum * float64(time.Second))
}
