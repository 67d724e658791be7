package redlock

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// socket is a connection that reads and writes without telling Go's scheduler about each
// system call. None of them blocks: the socket is non-blocking, and who must wait does so in
// the scheduler, as with any connection. But a write over the loopback, where the kernel delivers
// it within the call, or one on a busy machine, takes longer than the 20 µs after which the
// scheduler would have another thread go on with the goroutines of this one. To wake that
// thread, and to have it take the processor from a master, costs more than it brings.
//
// One goroutine at a time may read, and one may write.
type socket struct {
	net.Conn
	raw syscall.RawConn

	in                []byte // of the read under way
	read              int
	readErr           error
	out               []byte // what the write under way has yet to write
	writeErr          error
	tryRead, tryWrite func(fd uintptr) (done bool) // made once: they would be allocated for each call
}

// quick makes a connection a socket if it is one, and not, say, TLS over one.
func quick(conn net.Conn) net.Conn {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return conn
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return conn
	}
	s := &socket{Conn: conn, raw: raw}
	s.tryRead, s.tryWrite = s.readNow, s.writeNow
	return s
}

func (s *socket) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	s.in, s.read, s.readErr = b, 0, nil
	err := s.raw.Read(s.tryRead)
	s.in = nil
	if err != nil {
		return 0, err
	}
	return s.read, s.readErr
}

func (s *socket) Write(b []byte) (int, error) {
	s.out, s.writeErr = b, nil
	err := s.raw.Write(s.tryWrite)
	if err == nil {
		err = s.writeErr
	}
	n := len(b) - len(s.out)
	s.out = nil
	return n, err
}

// readNow reads what is there; if nothing is, it is called again when something may be.
func (s *socket) readNow(fd uintptr) (done bool) {
	n, wait, err := transfer("read", syscall.SYS_READ, fd, s.in)
	if n == 0 && !wait && err == nil {
		err = io.EOF
	}
	s.read, s.readErr = n, err
	return !wait
}

// writeNow writes what there is room for; if not for all, it is called again when there
// may be more.
func (s *socket) writeNow(fd uintptr) (done bool) {
	for len(s.out) > 0 {
		n, wait, err := transfer("write", syscall.SYS_WRITE, fd, s.out)
		if wait {
			return false
		}
		if err != nil {
			s.writeErr = err
			return true
		}
		s.out = s.out[n:]
	}
	return true
}

// transfer reads into b, which is not empty, or writes it. It says if it would have to wait.
func transfer(name string, number, fd uintptr, b []byte) (n int, wait bool, err error) {
	for {
		r, _, errno := syscall.RawSyscall(number, fd, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		switch errno {
		case syscall.EINTR:
		case syscall.EAGAIN:
			return 0, true, nil
		case 0:
			return int(r), false, nil
		default:
			return 0, false, os.NewSyscallError(name, errno)
		}
	}
}
