package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
)

// Dialer connects to the server at an address.
type Dialer func(ctx context.Context, address string) (net.Conn, error)

// ErrStranger says that a server belongs to another user of this machine.
var ErrStranger = errors.New("the server belongs to another user of this machine")

// Dial connects to an address.
func Dial(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address)
}

// DialOwn connects to an address on this machine, unless another user's server listens there: the port of a master
// that is down is free, and a server of another user that takes it must not be sent the master's password. Root is trusted.
// Where the system does not tell who has a socket (other than Linux), it does the same as Dial.
func DialOwn(ctx context.Context, address string) (net.Conn, error) {
	c, err := Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	if toStranger(c.(*net.TCPConn)) {
		c.Close()
		return nil, fmt.Errorf("connect to %s: %w", address, ErrStranger)
	}
	return c, nil
}
