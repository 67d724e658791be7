package redlock

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// How connections are opened. Two may be under way at a time. The patient one waits
// for as long as a dial may take: it is answered the moment that a stopped master goes
// on, and on slow networks. The eager one is given up soon and begun again: it gets
// through when a network that has lost everything is back, which the patient one would
// learn only when its packets are sent again.
const (
	eagerFor   = 50 * time.Millisecond
	patientFor = 5 * time.Second
	probeApart = 25 * time.Millisecond
	// kickApart is how soon after one dial the next may be, if somebody waits.
	kickApart = 2 * time.Millisecond
)

// probe opens connections until the lane has one that answers, or rests, or ctx ends.
func (l *lane) probe(ctx context.Context, stop context.CancelFunc) {
	defer l.masters.goroutines.Done()
	defer stop()
	type outcome struct {
		p       *pipe
		err     error
		patient bool
		began   time.Duration
	}
	outcomes := make(chan outcome)
	running := 0
	launch := func(patient bool) {
		running++
		limit := eagerFor
		if patient {
			limit = patientFor
		}
		began := l.masters.now()
		go func() {
			p, err := l.open(ctx, limit)
			outcomes <- outcome{p, err, patient, began}
		}()
	}
	defer func() { // those that are still under way come too late
		stop()
		for ; running > 0; running-- {
			if o := <-outcomes; o.p != nil {
				o.p.free()
			}
		}
	}()
	patient, eager := false, false
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var latest time.Duration
	for {
		if !patient || !eager {
			launch(!patient)
			if patient {
				eager = true
			}
			patient = true
			latest = l.masters.now()
		}
		timer.Reset(probeApart/2 + rand.N(probeApart)) // so that many clients do not knock in step
		for again := false; !again; {
			kick := l.kick
			if running > 0 {
				kick = nil // an answer is on its way already
			}
			select {
			case o := <-outcomes:
				running--
				if o.patient {
					patient = false
				} else {
					eager = false
				}
				if o.err == nil {
					if !l.adopt(o.p) {
						o.p.free()
					}
					return
				}
				if ctx.Err() != nil {
					return
				}
				if o.patient || !timedOut(o.err) {
					l.refused(o.err, o.began)
				}
			case <-kick:
				if wait := kickApart - (l.masters.now() - latest); wait > 0 {
					timer.Reset(wait)
				} else {
					again = true
				}
			case <-timer.C:
				again = true
			case <-ctx.Done():
				return
			}
		}
		if l.rest() {
			return
		}
	}
}

func timedOut(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}

// open makes a connection that has answered. go-redis dials and introduces it (TLS,
// credentials, database, OnConnect), in a client that has nothing but this connection,
// and from then on it is the lane's alone.
func (l *lane) open(ctx context.Context, limit time.Duration) (*pipe, error) {
	opt := *l.masters.options[l.index]
	limit = min(limit, opt.DialTimeout)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := opt.Dialer(ctx, opt.Network, opt.Addr)
	if err != nil {
		return nil, err
	}
	given := false
	opt.Dialer = func(context.Context, string, string) (net.Conn, error) {
		if given {
			return nil, errors.New("the connection has ended")
		}
		given = true
		return conn, nil
	}
	client := redis.NewClient(&opt)
	sticky := client.Conn()
	// Who waits for a reply is not woken by the end of ctx, but by that of the connection.
	wanted := context.AfterFunc(ctx, func() { _ = conn.Close() })
	free := func() {
		_ = conn.Close() // each of them may have been closed by another
		_ = sticky.Close()
		_ = client.Close()
	}
	prune, err := greet(ctx, sticky)
	if err == nil {
		err = conn.SetDeadline(time.Time{}) // go-redis has set one
	}
	if !wanted() { // whatever it says about a closed connection
		err = context.Cause(ctx)
	}
	if err != nil {
		free()
		return nil, err
	}
	return &pipe{lane: l, conn: quick(conn), free: free, prune: prune, wake: make(chan struct{}, 1), left: l.masters.now()}, nil
}

// greet makes sure that the master answers, and asks it for commands that delete a key
// if it has a value: they are cheaper than a script. A master that does not know them,
// or says nothing about its commands, gets the script.
func greet(ctx context.Context, conn *redis.Conn) (form, error) {
	var known *redis.Cmd
	var ping *redis.StatusCmd
	_, _ = conn.Pipelined(ctx, func(p redis.Pipeliner) error { // each reply is looked at
		known = p.Do(ctx, "command", "info", "delex", "delifeq")
		ping = p.Ping(ctx)
		for _, s := range scripts { // one that is not loaded, or is forgotten, is sent when it is needed
			p.Do(ctx, "script", "load", s.Text)
		}
		return nil
	})
	if err := ping.Err(); err != nil && !strings.HasPrefix(err.Error(), "NOPERM") {
		return byHash, err
	}
	infos, _ := known.Slice()
	for i, f := range []form{delex, delifeq} {
		if len(infos) == 2 && infos[i] != nil {
			return f, nil
		}
	}
	return byHash, nil
}
