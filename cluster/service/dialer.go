package service

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"sync"
)

// markEnv is the variable in the environment of a client's processes by which their connections are known.
const markEnv = "LOCKPICK_LINKS"

// dialers knows which client a connection is from. Clients run elsewhere, so all that is known of a process is its environment,
// which the processes that it starts inherit.
type dialers struct {
	secret string // no other run has it
	mu     sync.Mutex
	known  map[int]string // clients, by the ids of processes that have dialled; an id may belong to another process by now
}

func newDialers() dialers { return dialers{secret: rand.Text(), known: map[int]string{}} }

func (c *nodes) Mark(client string) string {
	return fmt.Sprintf("%s=%s/%s", markEnv, c.dialers.secret, client)
}

// client returns the client whose process has a socket; empty: it is not one of a client.
func (d *dialers) client(inode uint32) string {
	if inode == 0 {
		return ""
	}
	d.mu.Lock()
	var often []int
	for pid := range d.known {
		often = append(often, pid)
	}
	d.mu.Unlock()
	pid := 0
	if i := slices.IndexFunc(often, func(pid int) bool { return slices.Contains(sockets(pid), inode) }); i >= 0 { // not all processes of the machine
		pid = often[i]
	} else if pid = owner(inode); pid == 0 {
		return ""
	}
	client := d.marked(pid)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known[pid] = client; client == "" {
		delete(d.known, pid)
	}
	return client
}

// marked returns the client whose mark a process has in its environment.
func (d *dialers) marked(pid int) string {
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return ""
	}
	mark := []byte(markEnv + "=" + d.secret + "/")
	for entry := range bytes.SplitSeq(environment, []byte{0}) {
		if client, ok := bytes.CutPrefix(entry, mark); ok {
			return string(client)
		}
	}
	return ""
}
