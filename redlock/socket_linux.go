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
	n, errno := transfer(syscall.SYS_READ, fd, s.in)
	switch {
	case errno == syscall.EAGAIN:
		return false
	case errno != 0:
		s.readErr = os.NewSyscallError("read", errno)
	case n == 0:
		s.readErr = io.EOF
	}
	s.read = n
	return true
}

// writeNow writes what there is room for; if not for all, it is called again when there
// may be more.
func (s *socket) writeNow(fd uintptr) (done bool) {
	for len(s.out) > 0 {
		n, errno := transfer(syscall.SYS_WRITE, fd, s.out)
		switch {
		case errno == syscall.EAGAIN:
			return false
		case errno != 0:
			s.writeErr = os.NewSyscallError("write", errno)
			return true
		}
		s.out = s.out[n:]
	}
	return true
}

// transfer reads into b, which is not empty, or writes it.
func transfer(how, fd uintptr, b []byte) (n int, errno syscall.Errno) {
	for {
		r, _, errno := syscall.RawSyscall(how, fd, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		switch errno {
		case syscall.EINTR:
		case 0:
			return int(r), 0
		default:
			return 0, errno
		}
	}
}
