package watch

import (
	"io"
	"net"
	"slices"
	"testing"
	"time"
)

// BenchmarkAddedLatency sends 20,000 commands a second, half of them a lock's, on 20 connections
// to a real Redis, directly and through a watch, and reports the 99th percentiles of their
// replies' times.
func BenchmarkAddedLatency(b *testing.B) {
	w := watching(b, 1, Options{})
	direct := w.proxies[0].target.To
	for range b.N {
		var p50, p99 [2][]float64
		for range 5 { // in turn, so that both meet the same machine
			for i, address := range []string{direct, w.addresses[0]} {
				all := paced(b, address, 20, 20_000, time.Second)
				p50[i] = append(p50[i], us(all[len(all)/2]))
				p99[i] = append(p99[i], us(all[len(all)*99/100]))
			}
		}
		for i, name := range []string{"direct", "watched"} {
			slices.Sort(p50[i])
			slices.Sort(p99[i])
			b.ReportMetric(p50[i][2], name+"-p50-µs")
			b.ReportMetric(p99[i][2], name+"-p99-µs")
		}
		b.ReportMetric(p99[1][2]-p99[0][2], "added-p99-µs")
	}
	m, _, _, _ := w.tap.Status()
	b.ReportMetric(float64(m.Bytes), "missed-bytes")
}

func us(d time.Duration) float64 { return float64(d) / 1e3 }

// paced sends commands on several connections at a rate, and returns the times of their replies
// in order.
func paced(b *testing.B, address string, conns, rate int, d time.Duration) []time.Duration {
	each := make(chan []time.Duration, conns)
	for i := range conns {
		c, err := net.Dial("tcp", address)
		if err != nil {
			b.Fatal(err)
		}
		go func() {
			defer c.Close()
			var took []time.Duration
			set := []byte("*6\r\n$3\r\nSET\r\n$4\r\nlock\r\n$26\r\nABCDEFGHIJKLMNOPQRSTUVWXYZ\r\n$2\r\nNX\r\n$2\r\nPX\r\n$4\r\n1000\r\n")
			get := []byte("*2\r\n$3\r\nGET\r\n$4\r\nlock\r\n")
			reply := make([]byte, 256)
			// The connections' groups are spread evenly.
			begin := time.Now().Add(time.Duration(i) * 10 * time.Second / time.Duration(rate))
			for n := 0; ; n++ {
				// In groups of ten milliseconds: a sleep is not more exact than that on a busy machine.
				if n%10 == 0 {
					next := begin.Add(time.Duration(n) * time.Second * time.Duration(conns) / time.Duration(rate))
					if next.Sub(begin) > d {
						break
					}
					time.Sleep(time.Until(next))
				}
				command := set
				if n%2 == 1 {
					command = get
				}
				at := time.Now()
				if _, err := c.Write(command); err != nil {
					break
				}
				if _, err := c.Read(reply); err != nil && err != io.EOF {
					break
				}
				took = append(took, time.Since(at))
			}
			each <- took
		}()
	}
	var all []time.Duration
	for range conns {
		all = append(all, <-each...)
	}
	slices.Sort(all)
	return all
}
