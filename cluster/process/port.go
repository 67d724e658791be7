package process

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// firstPort and lastPort limit the ports of masters. They are below the range that systems use
// for outgoing connections (from 32768 on Linux, 49152 elsewhere): a master keeps its port
// while it is down, and if a client's connection got the port in that time, the master could
// not start again.
const firstPort, lastPort = 16000, 32000

// Ports are the ports of 127.0.0.1 that a cluster has until Release. No other cluster of this user gets one of them, in
// whatever process it is: nobody listens on the port of a master that is down. Other programs may take them nevertheless. The
// zero value has none.
type Ports struct {
	mu  sync.Mutex
	all []int
}

// Take finds n different ports on which no program listens.
func (p *Ports) Take(n int) ([]int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first, last := firstPort, lastPort
	if lo, hi, ok := outgoingPorts(); ok && lo < last && hi > first {
		switch { // the range was widened: use the larger part outside it
		case lo-1024 >= 65535-hi && lo-1024 > 100:
			first, last = 1024, lo
		case 65535-hi > 100:
			first, last = hi+1, 65535
		}
	}
	ports := make([]int, 0, n)
	taken := map[int]bool{}
	for tries := 0; len(ports) < n; tries++ {
		if tries > 50*n+1000 {
			return nil, fmt.Errorf("find %d free ports on 127.0.0.1 between %d and %d: only %d found; end some listeners", n, first, last, len(ports))
		}
		port := first + rand.IntN(last-first)
		if taken[port] {
			continue
		}
		taken[port] = true
		if free, err := reserve(port); err != nil {
			return nil, err
		} else if !free {
			continue
		}
		p.all = append(p.all, port)
		ln, err := net.Listen("tcp", address(port))
		if err != nil { // it stays reserved, which harms nobody
			continue
		}
		ln.Close()
		ports = append(ports, port)
	}
	return ports, nil
}

// Release gives the ports back.
func (p *Ports) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, port := range p.all {
		free(port)
	}
	p.all = nil
}

// reserved are the ports that clusters of this process have. In a file of the folder of all roots, the byte with the number
// of each of them is locked. The kernel releases the locks when the process ends, and all of them when it closes the file.
var reserved = struct {
	mu    sync.Mutex
	file  *os.File
	ports map[int]bool
}{ports: map[int]bool{}}

// portsFile is that file. It stays empty.
const portsFile = "ports"

// reserve reserves a port, unless a cluster has it.
func reserve(port int) (bool, error) {
	reserved.mu.Lock()
	defer reserved.mu.Unlock()
	if reserved.ports[port] {
		return false, nil
	}
	if reserved.file == nil {
		folder, err := dataFolder()
		if err != nil {
			return false, err
		}
		if reserved.file, err = os.OpenFile(filepath.Join(folder, portsFile), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600); err != nil {
			return false, err
		}
	}
	switch err := lockByte(reserved.file, port, syscall.F_WRLCK); {
	case errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("reserve port %d in %s: %w", port, reserved.file.Name(), err)
	}
	reserved.ports[port] = true
	return true, nil
}

func free(port int) {
	reserved.mu.Lock()
	defer reserved.mu.Unlock()
	delete(reserved.ports, port)
	_ = lockByte(reserved.file, port, syscall.F_UNLCK)
}

// lockByte locks a byte of a file for this process, or unlocks it, without waiting.
func lockByte(f *os.File, number int, how int16) error {
	for {
		err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: how, Start: int64(number), Len: 1})
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// outgoingPorts returns the range of local ports of outgoing connections, if the system has
// one.
func outgoingPorts() (lo, hi int, ok bool) {
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0, 0, false
	}
	n, err := fmt.Sscan(string(b), &lo, &hi)
	return lo, hi, err == nil && n == 2
}
