package cluster

import (
	"bytes"
	"io"
	"net"
	"strings"
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
	addr := serve(b, func(c net.Conn) { io.Copy(c, c) })
	direct, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { direct.Close() })
	return direct, dial(b, linkTo(b, addr))
}

// serve has handle serve each connection to a port of loopback, and returns its address.
func serve(b testing.TB, handle func(net.Conn)) (addr string) {
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
				defer c.Close()
				handle(c)
			}()
		}
	}()
	return ln.Addr().String()
}

// BenchmarkObservedLink says what it costs that an observer follows a link, as a ratio to the same link without: of one
// command and its reply, and of 1,000 commands in a pipeline.
func BenchmarkObservedLink(b *testing.B) {
	set := "*6\r\n$3\r\nSET\r\n$2\r\nk0\r\n$32\r\n0123456789abcdef0123456789abcdef\r\n$2\r\nNX\r\n$2\r\nPX\r\n$4\r\n2000\r\n"
	get := "*2\r\n$3\r\nGET\r\n$6\r\nanswer\r\n"
	value := "*2\r\n$3\r\nSET\r\n$4000\r\n" + strings.Repeat("x", 4000) + "\r\n"
	for _, x := range []struct {
		name, commands string
		replies        int // bytes
	}{
		{"a command", set, len("+OK\r\n")},
		{"a pipeline of small commands", strings.Repeat(get, 1000), 1000 * len("+OK\r\n")},
		{"a pipeline of large values", strings.Repeat(value, 1000), 1000 * len("+OK\r\n")},
	} {
		b.Run(x.name, func(b *testing.B) {
			server := okServer(b, strings.Count(x.commands, "\n")*len("+OK\r\n")/x.replies)
			bare, observed := linkTo(b, server), linkTo(b, server)
			votes := 0
			observed.Observe(Observer{Opened: func(string) {}, Exchange: func(Exchange) { votes++ }, Lost: func(why error) { b.Error(why) }})
			one, other := dial(b, bare), dial(b, observed)
			ask := func(c net.Conn) time.Duration {
				began := time.Now()
				go io.WriteString(c, x.commands)
				if _, err := io.CopyN(io.Discard, c, int64(x.replies)); err != nil {
					b.Fatal(err)
				}
				return time.Since(began)
			}
			var without, with time.Duration
			for b.Loop() {
				without += ask(one)
				with += ask(other)
			}
			b.ReportMetric(float64(with)/float64(without), "ratio")
		})
	}
}

// okServer replies +OK to each command. Each command has the given number of lines.
func okServer(b testing.TB, lines int) (addr string) {
	b.Helper()
	return serve(b, func(c net.Conn) {
		in := make([]byte, 64<<10)
		for read := 0; ; read %= lines {
			n, err := c.Read(in)
			if err != nil {
				return
			}
			read += bytes.Count(in[:n], []byte("\n"))
			io.WriteString(c, strings.Repeat("+OK\r\n", read/lines))
		}
	})
}
