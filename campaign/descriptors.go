package campaign

import (
	"fmt"
	"os"

	"lockpick/cluster"
	"lockpick/workload"
)

// descriptorsEach is the number of file descriptors that a client may need for each master: a dozen
// connections, each with one in the client and two in its link (50 clients on 5 masters used 9,200).
const descriptorsEach = 40

// descriptorsNeeded returns the number of file descriptors that the run may need.
func (c *campaign) descriptorsNeeded() uint64 {
	return uint64(100 + c.s.Clients*c.s.Masters*descriptorsEach)
}

// announceDescriptors warns before the run if it may need more file descriptors than the process may open.
func (c *campaign) announceDescriptors() {
	need := c.descriptorsNeeded()
	if most, known := descriptorLimit(); known && need > most {
		c.opt.Progress("%d clients on %d masters may need up to %d file descriptors, and this process may have %d: raise that (ulimit -n %d), or take fewer clients", c.s.Clients, c.s.Masters, need, most, need)
	}
}

// withDescriptors adds to an error what helps if it is that no file descriptors are left.
func (c *campaign) withDescriptors(err error) error {
	if !cluster.NoDescriptors(err) {
		return err
	}
	most, _ := descriptorLimit()
	return fmt.Errorf("%w: this process may have %d file descriptors; raise that (ulimit -n %d), or take fewer clients", err, most, c.descriptorsNeeded())
}

// checkDescriptors ends the run when no file descriptors are left: connections then fail for a reason that
// has nothing to do with the lock, so later results are not evidence.
func (c *campaign) checkDescriptors() {
	if !c.starved() {
		return
	}
	most, _ := descriptorLimit()
	c.interruptBy(fmt.Errorf("no file descriptors were left: this process may have %d; raise that (ulimit -n %d), or take fewer clients", most, c.descriptorsNeeded()))
}

// starved reports whether a link has lacked a file descriptor, or the process cannot open one now.
func (c *campaign) starved() bool {
	for _, client := range workload.Clients(c.s.Clients) {
		for i := range c.masters.Masters() {
			if link, err := c.masters.Link(client, i); err == nil && link.Counts().Starved > 0 {
				return true
			}
		}
	}
	f, err := os.Open(os.DevNull)
	if err == nil {
		f.Close()
	}
	return cluster.NoDescriptors(err)
}
