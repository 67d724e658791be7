package redlock

import (
	"context"
	"net"

	"github.com/redis/go-redis/v9"

	"lockpick/redlock/internal/transport"
)

// BoundedDialer returns a Dialer for a client that only the lock uses. It protects the program
// from a master that replies with nonsense, or with malice:
//
//	o := &redis.Options{Addr: "10.0.0.1:6379"}
//	o.Dialer = redlock.BoundedDialer(o)
//	master := redis.NewClient(o)
//
// go-redis allocates as many bytes as a reply announces, reads a line of any length, and follows
// arrays of any depth. One such reply of one master can end the whole program. Connections of
// this Dialer check each reply before go-redis reads it. A reply of more than 1 MiB, of more than
// 8,192 elements, with a line of more than 64 KiB, or with arrays that are nested deeper than 8, is
// an error of Read: the vote of that master is an error, and the connection ends.
//
// It connects like the Dialer of the options, or like go-redis if they have none. New leaves the
// clients that it is given as they are, so without this Dialer nothing is bounded.
func BoundedDialer(o *redis.Options) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return transport.BoundedDialer(o)
}
