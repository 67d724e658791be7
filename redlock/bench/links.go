package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"time"
)

// linkKind is a kind of link between a version of the lock and the masters.
type linkKind struct {
	name  string
	delay time.Duration // one way
	tls   bool
}

var linkKinds = []linkKind{
	{name: "loopback"},
	{name: "0.5 ms round trip", delay: 250 * time.Microsecond},
	{name: "5 ms round trip", delay: 2500 * time.Microsecond},
	{name: "TLS", tls: true},
}

// link puts a proxy before each master if the kind of link needs one.
func (b *bench) link(kind linkKind) (addrs []string, stop func(), err error) {
	if kind.delay == 0 && !kind.tls {
		return b.addrs, func() {}, nil
	}
	var config *tls.Config
	if kind.tls {
		if config, err = selfSigned(); err != nil {
			return nil, nil, err
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	for _, to := range b.addrs {
		requests, replies := newLine(ctx, kind.delay), newLine(ctx, kind.delay)
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			stop()
			return nil, nil, err
		}
		context.AfterFunc(ctx, func() { ln.Close() })
		if config != nil {
			ln = tls.NewListener(ln, config)
		}
		addrs = append(addrs, ln.Addr().String())
		go func() {
			for {
				from, err := ln.Accept()
				if err != nil {
					return
				}
				master, err := net.Dial("tcp", to)
				if err != nil {
					from.Close()
					continue
				}
				go requests.carry(master, from)
				go replies.carry(from, master)
			}
		}()
	}
	return addrs, stop, nil
}

// line carries the bytes of all connections to one master in one direction, and delays each of
// them. The kernel wakes it: the runtime's timers would be late by up to a millisecond on an
// idle machine, which is more than the shortest delay.
type line struct {
	delay time.Duration
	late  chan chunk
}

type chunk struct {
	to net.Conn
	b  []byte // nil: the connection ends
	at time.Time
}

func newLine(ctx context.Context, delay time.Duration) *line {
	l := &line{delay, make(chan chunk, 1<<14)}
	go func() {
		for {
			select {
			case c := <-l.late:
				sleepUntil(c.at)
				if c.b == nil {
					c.to.Close()
				} else {
					_, _ = c.to.Write(c.b) // if the connection is broken, its reader ends as well
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return l
}

// carry copies the bytes of one connection to another.
func (l *line) carry(to, from net.Conn) {
	if l.delay == 0 {
		_, _ = io.Copy(to, from)
		to.Close()
		return
	}
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			l.late <- chunk{to, bytes.Clone(buffer[:n]), time.Now().Add(l.delay)}
		}
		if err != nil {
			l.late <- chunk{to: to, at: time.Now().Add(l.delay)}
			return
		}
	}
}

func selfSigned() (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, nil
}
