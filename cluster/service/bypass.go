package service

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Connections are found as the system lists them (proc(5)). Where it lists none, no bypass is found, and no link knows
// who dials it.

// sockets returns the inodes of the sockets that a process has.
func sockets(pid int) []uint32 {
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return nil
	}
	var found []uint32
	for _, l := range links {
		target, err := os.Readlink(l)
		if err != nil {
			continue
		}
		if inode, is := strings.CutPrefix(target, "socket:["); is {
			if n, err := strconv.ParseUint(strings.TrimSuffix(inode, "]"), 10, 32); err == nil {
				found = append(found, uint32(n))
			}
		}
	}
	return found
}

// holder returns the node whose process has a socket.
func (c *nodes) holder(inode uint32) (*node, bool) {
	if inode == 0 {
		return nil, false
	}
	for _, n := range c.all { // most programs are one process
		if slices.Contains(sockets(n.processGroup()), inode) {
			return n, true
		}
	}
	if pid := owner(inode); pid != 0 {
		group, err := syscall.Getpgid(pid)
		if err == nil {
			return c.group(group)
		}
	}
	return nil, false
}

// owner returns the process that has a socket, or 0.
func owner(inode uint32) int {
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0
	}
	for _, p := range all {
		if pid, err := strconv.Atoi(filepath.Base(p)); err == nil && slices.Contains(sockets(pid), inode) {
			return pid
		}
	}
	return 0
}

// connection is an open connection to a port of this machine.
type connection struct {
	to    int // the port
	inode uint32
}

// connections lists the open connections to some ports, at the ends of those who dialled.
func connections(ports map[int]*node) []connection {
	var found []connection
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(file)
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			if len(fields) < 10 || fields[3] != "01" { // established
				continue
			}
			port, err := strconv.ParseInt(fields[2][strings.LastIndexByte(fields[2], ':')+1:], 16, 32)
			inode, err2 := strconv.ParseUint(fields[9], 10, 32)
			if err == nil && err2 == nil && inode != 0 && ports[int(port)] != nil {
				found = append(found, connection{int(port), uint32(inode)})
			}
		}
		f.Close()
	}
	return found
}

func (c *nodes) Bypass() error {
	ports := map[int]*node{}
	for _, n := range c.all {
		for _, at := range n.ports {
			port, _ := strconv.Atoi(at[strings.LastIndexByte(at, ':')+1:])
			ports[port] = n
		}
	}
	found := connections(ports)
	own := sockets(os.Getpid()) // read later: what was closed meanwhile has no owner
	for _, x := range found {
		to := ports[x.to]
		if slices.Contains(own, x.inode) {
			continue
		}
		if n, ok := c.holder(x.inode); ok {
			if n != to {
				return fmt.Errorf("%s goes past the links: it is connected to port %d of %s directly, and faults cannot cut that connection. In the service, write .Link or .To wherever a node gets the address of another, and list under announces the ports on which nodes tell others their own address", n.name, x.to, to.name)
			}
			continue
		}
		if client := c.dialers.client(x.inode); client != "" { // others are strangers, such as servers of another run that lost this port
			return fmt.Errorf("%s goes past the links: it is connected to port %d of %s directly, and faults cannot cut that connection. A client must connect to the addresses that Lockpick gives it", client, x.to, to.name)
		}
	}
	return nil
}
