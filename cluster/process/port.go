package process

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
)

// firstPort and lastPort span the ports that masters listen on. They lie below
// the range that systems hand out to outgoing connections (from 32768 on Linux,
// 49152 elsewhere): a master keeps its port while it is down, and in that time a
// client's connection must not be given it, or the master could not come back.
const firstPort, lastPort = 16000, 32000

// freePorts finds n different ports of 127.0.0.1 on which nobody listens. They
// are not reserved: whoever uses them must be ready to find one taken.
func freePorts(n int) ([]int, error) {
	first, last := firstPort, lastPort
	if lo, hi, ok := outgoingPorts(); ok && lo < last && hi > first {
		switch { // someone widened the range: take the larger part outside it
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

// outgoingPorts is the range from which the system picks the local port of an
// outgoing connection, if it tells.
func outgoingPorts() (lo, hi int, ok bool) {
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0, 0, false
	}
	n, err := fmt.Sscan(string(b), &lo, &hi)
	return lo, hi, err == nil && n == 2
}
