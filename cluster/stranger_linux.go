package cluster

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"syscall"
)

// The kernel tells who owns the other end of a connection on this machine (sock_diag(7)). Looking up one socket takes
// microseconds; /proc/net/tcp lists all of them, which takes milliseconds for each connection.

// socketOf describes a socket as the kernel sees it.
type socketOf struct {
	listens bool
	uid     uint32
	inode   uint32 // 0: no process has it (any more, or yet)
}

// The layout of a request and of its reply.
const (
	diagRequest   = syscall.SizeofNlMsghdr + 56
	diagReply     = syscall.SizeofNlMsghdr + 72
	diagFamily    = 20 // SOCK_DIAG_BY_FAMILY
	diagListening = 10 // TCP_LISTEN
)

// socket looks up the socket with these ends, or one that listens at the local end. remote may be nil: then it looks
// up one that listens.
func socket(local, remote *net.TCPAddr) (s socketOf, err error) {
	from, ok := ipv4(local)
	if !ok {
		return s, errors.ErrUnsupported
	}
	request := make([]byte, diagRequest)
	native, ends := binary.NativeEndian, request[syscall.SizeofNlMsghdr+8:]
	native.PutUint32(request, diagRequest)
	native.PutUint16(request[4:], diagFamily)
	native.PutUint16(request[6:], syscall.NLM_F_REQUEST)
	request[16], request[17] = syscall.AF_INET, syscall.IPPROTO_TCP
	native.PutUint32(request[20:], ^uint32(0)) // sockets in any state
	binary.BigEndian.PutUint16(ends, uint16(local.Port))
	copy(ends[4:], from)
	if to, ok := ipv4(remote); ok {
		binary.BigEndian.PutUint16(ends[2:], uint16(remote.Port))
		copy(ends[20:], to)
	}
	native.PutUint64(ends[40:], ^uint64(0)) // no cookie
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, syscall.NETLINK_INET_DIAG)
	if err != nil {
		return s, os.NewSyscallError("socket", err)
	}
	defer syscall.Close(fd)
	if err := syscall.Sendto(fd, request, 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return s, os.NewSyscallError("sendto", err)
	}
	reply := make([]byte, 4<<10)
	n, _, err := syscall.Recvfrom(fd, reply, 0)
	if err != nil {
		return s, os.NewSyscallError("recvfrom", err)
	}
	if n < diagReply || native.Uint16(reply[4:]) != diagFamily { // an error: there is no such socket
		return s, errors.ErrUnsupported
	}
	body := reply[syscall.SizeofNlMsghdr:n]
	return socketOf{listens: body[1] == diagListening, uid: native.Uint32(body[64:]), inode: native.Uint32(body[68:])}, nil
}

func ipv4(a *net.TCPAddr) ([]byte, bool) {
	if a == nil || a.IP.To4() == nil {
		return nil, false
	}
	return a.IP.To4(), true
}

// stranger reports whether a socket belongs to a user who is neither that of this process nor root. It returns false
// if the user is not known.
func (s socketOf) stranger() bool {
	return s.inode != 0 && s.uid != 0 && int(s.uid) != os.Getuid()
}

// fromStranger reports whether the other end of an accepted connection belongs to another user of this machine, or to
// no process any more: a stranger may have closed it to hide.
func fromStranger(c *net.TCPConn) bool {
	peer, err := socket(c.RemoteAddr().(*net.TCPAddr), c.LocalAddr().(*net.TCPAddr))
	if err != nil {
		return false // the kernel does not tell
	}
	return peer.listens || peer.inode == 0 || peer.stranger()
}

// toStranger reports whether the server at the other end of a connection belongs to another user of this machine.
func toStranger(c *net.TCPConn) bool {
	server, client := c.RemoteAddr().(*net.TCPAddr), c.LocalAddr().(*net.TCPAddr)
	peer, err := socket(server, client)
	if err == nil && peer.inode == 0 { // the server has yet to accept the connection
		peer, err = socket(server, nil)
	}
	return err == nil && peer.stranger()
}

// DialerInode returns the inode of the socket at the other end of an accepted connection, by which /proc names the process
// that dialled. It is 0 if that process has closed it.
func DialerInode(c *net.TCPConn) uint32 {
	peer, err := socket(c.RemoteAddr().(*net.TCPAddr), c.LocalAddr().(*net.TCPAddr))
	if err != nil || peer.listens {
		return 0
	}
	return peer.inode
}
