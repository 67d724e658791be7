package cluster

import (
	"fmt"
	"sync"
)

// Links holds the links from clients to masters for a driver. The zero value has none.
type Links struct {
	mu     sync.Mutex
	closed bool
	links  map[linkEnds]*TCPLink
}

type linkEnds struct {
	client string
	master int
}

// Link returns the link from a client to one of the masters, as Cluster.Link does. connect makes it at the first call.
func (l *Links) Link(client string, master int, masters []Master, connect func() (*TCPLink, error)) (Link, error) {
	if master < 0 || master >= len(masters) {
		return nil, fmt.Errorf("link %s to master %d: there are the masters 0 to %d", client, master, len(masters)-1)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, fmt.Errorf("link %s to %s: %w", client, masters[master].Name(), ErrClosed)
	}
	ends := linkEnds{client, master}
	if made, ok := l.links[ends]; ok {
		return made, nil
	}
	made, err := connect()
	if err != nil {
		return nil, fmt.Errorf("link %s to %s: %w", client, masters[master].Name(), err)
	}
	if l.links == nil {
		l.links = map[linkEnds]*TCPLink{}
	}
	l.links[ends] = made
	return made, nil
}

// To returns the links to a master, by client.
func (l *Links) To(master int) map[string]*TCPLink {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := map[string]*TCPLink{}
	for ends, made := range l.links {
		if ends.master == master {
			found[ends.client] = made
		}
	}
	return found
}

// Close closes all links; no others can be made. It reports whether this was the first call.
func (l *Links) Close() (first bool) {
	l.mu.Lock()
	first, l.closed = !l.closed, true
	l.mu.Unlock()
	if first {
		for _, made := range l.links { // nobody changes them any more
			made.Close()
		}
	}
	return first
}
