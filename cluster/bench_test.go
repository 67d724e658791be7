package cluster

import (
	"io"
	"net"
	"testing"
	"time"
)

// BenchmarkLinkLatency says what a link costs a request and its reply, as a
// ratio to the same connection without a link, measured in turns so that a busy
// host slows down both.
func BenchmarkLinkLatency(b *testing.B) {
	direct, linked := bothWays(b)
	message := make([]byte, 64)
	ask := func(c net.Conn) time.Duration {
		began := time.Now()
		if _, err := c.Write(message); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, message); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
	var without, with time.Duration
	for b.Loop() {
		without += ask(direct)
		with += ask(linked)
	}
	b.ReportMetric(float64(with)/float64(without), "ratio")
	b.ReportMetric(float64((with-without).Microseconds())/float64(b.N), "added-µs/op")
}

// BenchmarkLinkThroughput says how much longer a megabyte takes there and back.
func BenchmarkLinkThroughput(b *testing.B) {
	direct, linked := bothWays(b)
	block := make([]byte, 1<<20)
	send := func(c net.Conn) time.Duration {
		began := time.Now()
		sent := make(chan error, 1)
		go func() {
			_, err := c.Write(block)
			sent <- err
		}()
		if _, err := io.CopyN(io.Discard, c, int64(len(block))); err != nil {
			b.Fatal(err)
		}
		if err := <-sent; err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
	var without, with time.Duration
	for b.Loop() {
		without += send(direct)
		with += send(linked)
	}
	b.ReportMetric(float64(with)/float64(without), "ratio")
	b.ReportMetric(float64(len(block))*float64(b.N)/with.Seconds()/1e6, "MB/s")
}

// bothWays connects to an echo server directly and through a link.
func bothWays(b *testing.B) (direct, linked net.Conn) {
	b.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				io.Copy(c, c)
				c.Close()
			}()
		}
	}()
	direct, err = net.Dial("tcp", ln.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { direct.Close() })
	return direct, dial(b, linkTo(b, ln.Addr().String()))
}
