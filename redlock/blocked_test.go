package redlock_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/internal/waittest"
	"lockpick/redlock"
)

// A connection on which even writing blocks holds up nobody for longer than the timeout,
// and is given up.
func TestBlockedWrite(t *testing.T) {
	s := newServer(t)
	block := make(chan struct{})
	first := true
	l := s.locksWith(redis.Options{Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		var d net.Dialer
		c, err := d.DialContext(ctx, network, addr)
		if err != nil || !first {
			return c, err
		}
		first = false
		return &blocking{Conn: c, block: block, deadline: make(chan struct{})}, nil
	}}, redlock.WithTimeout(100*time.Millisecond))
	pair(t, l)
	close(block)
	waittest.Returns("failing after the timeout", func() {
		if _, err := l.TryLock(t.Context(), "k"); !errors.Is(err, redlock.ErrNoQuorum) {
			t.Error(err)
		}
	})
	waittest.Until(t, "the master votes again", func() bool {
		lease, err := l.TryLock(t.Context(), "k")
		return err == nil && lease.Unlock(t.Context()) == nil
	})
}

// blocking is a connection whose writes block from some moment on, until their deadline.
type blocking struct {
	net.Conn
	block, deadline chan struct{}
}

func (b *blocking) Write(p []byte) (int, error) {
	select {
	case <-b.block:
		<-b.deadline
		return 0, errSilent
	default:
		return b.Conn.Write(p)
	}
}

func (b *blocking) SetWriteDeadline(at time.Time) error {
	select {
	case <-b.block:
		if !at.IsZero() {
			close(b.deadline)
		}
		return nil
	default:
		return b.Conn.SetWriteDeadline(at)
	}
}
