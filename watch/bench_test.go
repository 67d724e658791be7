package watch

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/internal/redistest"
)

// BenchmarkAddedLatency sends 20,000 commands a second, half of them a lock's, on 20 connections
// to a real Redis: directly, through a program that only copies, and through a program that
// watches. It reports percentiles of the reply times. It reports the latency that copying adds, too,
// because all programs share the machine's processors.
func BenchmarkAddedLatency(b *testing.B) {
	direct := redistest.Start(b)
	ways := []struct{ name, address string }{{"direct", direct}, {"copied", between(b, "copy", direct)}, {"watched", between(b, "watch", direct)}}
	for range b.N {
		p50, p99 := make([][]float64, len(ways)), make([][]float64, len(ways))
		for range 5 { // in turn, so that all ways meet the same load of the machine
			for i, way := range ways {
				all := paced(b, way.address, 20, 20_000, time.Second)
				p50[i] = append(p50[i], us(all[len(all)/2]))
				p99[i] = append(p99[i], us(all[len(all)*99/100]))
			}
		}
		for i, way := range ways {
			slices.Sort(p50[i])
			slices.Sort(p99[i])
			b.ReportMetric(p50[i][2], way.name+"-p50-µs")
			b.ReportMetric(p99[i][2], way.name+"-p99-µs")
		}
		b.ReportMetric(p99[1][2]-p99[0][2], "copy-added-p99-µs")
		b.ReportMetric(p99[2][2]-p99[0][2], "watch-added-p99-µs")
	}
}

// between starts this test program as a process between clients and a Redis, and returns its address.
func between(b *testing.B, what, to string) string {
	c := exec.Command(os.Args[0], "-test.run", "^$")
	c.Env = append(os.Environ(), "WATCH_BETWEEN="+what, "WATCH_TO="+to)
	c.Stderr = os.Stderr
	stdin, err := c.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { // the process ends when its standard input ends
		stdin.Close()
		c.Wait()
	})
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(address)
}

// standBetween runs in the process that between starts.
func standBetween(what, to string) error {
	var address string
	if what == "copy" {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		go plain(ln, to)
		address = ln.Addr().String()
	} else {
		l, err := NewLint(Options{Masters: 1})
		if err != nil {
			return err
		}
		p, err := NewProxy(0, Target{Listen: "127.0.0.1:0", To: to}, NewTap(l))
		if err != nil {
			return err
		}
		address = p.Addr()
	}
	fmt.Println(address)
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// plain only forwards connections to an address.
func plain(ln net.Listener, to string) {
	for {
		client, err := ln.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", to)
		if err != nil {
			client.Close()
			continue
		}
		for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
			go func() {
				defer way[1].Close()
				// These types prevent splice: a watch has to read and write, too.
				io.CopyBuffer(struct{ io.Writer }{way[1]}, struct{ io.Reader }{way[0]}, make([]byte, 32<<10))
			}()
		}
	}
}

func us(d time.Duration) float64 { return float64(d) / 1e3 }

// paced sends commands on several connections at a rate, and returns the sorted durations until
// their replies.
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
			// Spread the groups of the connections evenly.
			begin := time.Now().Add(time.Duration(i) * 10 * time.Second / time.Duration(rate))
			for n := 0; ; n++ {
				// Send groups of ten commands: shorter sleeps are too inexact on a busy machine.
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
