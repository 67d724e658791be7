//go:build unix

package virtual

import (
	"errors"
	"sync"
	"syscall"
)

// Client libraries check whether an idle connection has ended, or has unexpected bytes, by
// peeking at its socket. Connections in memory have no sockets, so there are three sockets with
// the possible states: quiet, ended and readable. Nothing reads from them.
var sockets = sync.OnceValues(func() (three [3]int, err error) {
	for i := range three {
		pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		if err != nil {
			return three, err
		}
		for _, fd := range pair {
			syscall.CloseOnExec(fd)
			if err := syscall.SetNonblock(fd, true); err != nil {
				return three, err
			}
		}
		switch three[i] = pair[0]; i {
		case ended:
			err = syscall.Close(pair[1])
		case readable:
			_, err = syscall.Write(pair[1], []byte{0})
		}
		if err != nil {
			return three, err
		}
	}
	return three, nil
})

const (
	quiet = iota
	ended
	readable
)

// SyscallConn is for libraries that peek at the socket.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	three, err := sockets()
	return peek{c, three}, err
}

type peek struct {
	c     *conn
	three [3]int
}

var errPeek = errors.New("a connection in memory can only be peeked at")

func (p peek) Control(func(uintptr)) error    { return errPeek }
func (p peek) Write(func(uintptr) bool) error { return errPeek }

// Read calls f with a socket that is in the connection's state.
func (p peek) Read(f func(uintptr) bool) error {
	state := quiet
	p.c.cluster.live.Call(func() {
		switch bytes, over := p.c.stream.Peek(); {
		case bytes:
			state = readable
		case over:
			state = ended
		}
	})
	f(uintptr(p.three[state]))
	return nil
}
