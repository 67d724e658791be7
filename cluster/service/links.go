package service

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"time"

	"lockpick/cluster"
)

// redial is how long a link dials a node whose process lives and does not listen yet.
const redial = time.Second

// newLink makes a link to a port of a node. It listens while the node's process lives, unless it is deaf.
func (c *nodes) newLink(to int, port string, o cluster.LinkOptions, deaf bool) (*cluster.TCPLink, error) {
	at := c.all[to].ports[port]
	if !deaf {
		free, err := c.freePort()
		if err != nil {
			return nil, err
		}
		o.Port = free
	}
	o.Own, o.Dial, o.Deaf, o.Redial = true, cluster.DialOwn, true, redial
	return cluster.NewLink(func() string { return at }, o)
}

// pair returns the link from one node to another, which only the first dials if it listens.
func (c *nodes) pair(r route, listens bool) (*cluster.TCPLink, error) {
	c.mu.Lock()
	l, known := c.pairs[r]
	c.mu.Unlock()
	if known {
		return l, nil
	}
	l, err := c.newLink(r.to, r.port, cluster.LinkOptions{Opening: c.opening(r)}, !listens)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pairs[r] = l
	return l, nil
}

// front returns the address at which all other nodes reach a port of a node. Clients reach it there, too, because nodes tell them
// such addresses: each through its own link.
func (c *nodes) front(to int, port string) (string, error) {
	at := front{to, port}
	c.mu.Lock()
	l, known := c.fronts[at]
	c.mu.Unlock()
	if known {
		return l.Addr(), nil
	}
	routes := map[int]*cluster.TCPLink{}
	for from := range c.all {
		link, err := c.pair(route{from, to, port}, false)
		if err != nil {
			return "", err
		}
		routes[from] = link
	}
	l, err := c.newLink(to, port, cluster.LinkOptions{Route: func(dialled *net.TCPConn) *cluster.TCPLink {
		inode := cluster.DialerInode(dialled)
		if n, ok := c.holder(inode); ok {
			return routes[n.number]
		}
		return c.linkOf(c.dialers.client(inode), to, port)
	}}, false)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fronts[at] = l
	return l.Addr(), nil
}

// opening returns what a link between two nodes does to the first bytes of a connection, if the node that dials
// announces its own address in them: the other one would dial that address, past the links. The address is replaced by
// that of the link; both have the same length, because all ports have five digits.
func (c *nodes) opening(r route) func([]byte) []byte {
	if !slices.Contains(c.spec.Told, r.port) {
		return nil
	}
	own := []byte(c.all[r.from].ports[r.port])
	return func(first []byte) []byte {
		c.mu.Lock()
		back := c.pairs[route{r.to, r.from, r.port}]
		c.mu.Unlock()
		if back == nil || len(back.Addr()) != len(own) {
			return first
		}
		return bytes.Replace(first, own, []byte(back.Addr()), 1)
	}
}

func (c *nodes) Link(client string, master int) (cluster.Link, error) {
	if master < 0 || master >= len(c.all) {
		return nil, fmt.Errorf("link %s to node %d: there are the nodes 0 to %d", client, master, len(c.all)-1)
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, fmt.Errorf("link %s to %s: %w", client, c.all[master].name, cluster.ErrClosed)
	}
	if !slices.Contains(c.names, client) {
		c.names = append(c.names, client)
	}
	r := route{slices.Index(c.names, client), master, c.spec.Clients.Port}
	l, known := c.clients[r]
	c.mu.Unlock()
	if known {
		return l, nil
	}
	l, err := c.newLink(master, r.port, cluster.LinkOptions{}, false)
	if err == nil && c.all[master].State() != cluster.Down {
		err = l.Listen()
	}
	if err != nil {
		return nil, fmt.Errorf("link %s to %s: %w", client, c.all[master].name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if first, known := c.clients[r]; known { // another call was faster
		go l.Close()
		return first, nil
	}
	c.clients[r] = l
	return l, nil
}

// linkOf returns the link of a client to a port of a node; nil: it has none.
func (c *nodes) linkOf(client string, to int, port string) *cluster.TCPLink {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clients[route{slices.Index(c.names, client), to, port}]
}

// links returns the links whose routes match. Those that all nodes dial come from -1.
func (c *nodes) links(match func(route) bool) []*cluster.TCPLink {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []*cluster.TCPLink
	for r, l := range c.clients {
		if match(route{-1, r.to, r.port}) {
			found = append(found, l)
		}
	}
	for at, l := range c.fronts {
		if match(route{-1, at.to, at.port}) {
			found = append(found, l)
		}
	}
	for r, l := range c.pairs {
		if match(r) {
			found = append(found, l)
		}
	}
	return found
}

func (c *nodes) Between(side []cluster.Master) []cluster.Link {
	in := func(number int) bool {
		return slices.ContainsFunc(side, func(m cluster.Master) bool { return m.Name() == c.all[number].name })
	}
	var found []cluster.Link
	for _, l := range c.links(func(r route) bool { return r.from >= 0 && in(r.from) != in(r.to) }) {
		found = append(found, l)
	}
	return found
}

// dialled returns the links to the node that have a port of their own.
func (n *node) dialled() []*cluster.TCPLink {
	return slices.DeleteFunc(n.cluster.links(func(r route) bool { return r.to == n.number }), func(l *cluster.TCPLink) bool { return l.Port == 0 })
}

// listen makes the links to the node listen.
func (n *node) listen() error {
	for _, l := range n.dialled() {
		if err := l.Listen(); err != nil {
			return err
		}
	}
	return nil
}

// hush ends that.
func (n *node) hush() {
	for _, l := range n.dialled() {
		l.Hush()
	}
}
