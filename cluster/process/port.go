package process

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
)

// firstPort and lastPort limit the ports of masters. They are below the range that systems use
// for outgoing connections (from 32768 on Linux, 49152 elsewhere): a master keeps its port
// while it is down, and if a client's connection got the port in that time, the master could
// not start again.
const firstPort, lastPort = 16000, 32000

// FreePorts finds n different ports of 127.0.0.1 on which no program listens. They are not
// reserved, so callers must handle a port that is taken.
func FreePorts(n int) ([]int, error) {
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
		ln, err := net.Listen("tcp", address(port))
		if err != nil {
			continue
		}
		ln.Close()
		ports = append(ports, port)
	}
	return ports, nil
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
