package campaign

import (
	"fmt"
	"os"

	"lockpick/campaign/scenario"
	"lockpick/cluster"
	"lockpick/workload"
)

// descriptorsEach is the number of file descriptors that a client may need for each master: a dozen
// connections, each with one in the client and two in its link (50 clients on 5 masters used 9,200).
const descriptorsEach = 40

// descriptorsNeeded returns the number of file descriptors that a run may need.
func descriptorsNeeded(s *scenario.Scenario) uint64 {
	return uint64(100 + s.Clients*s.Masters*descriptorsEach)
}

// announceDescriptors warns before a run that may need more file descriptors than the process may open.
func announceDescriptors(s *scenario.Scenario, progress func(string, ...any)) {
	need := descriptorsNeeded(s)
	if most, known := descriptorLimit(); known && need > most {
		progress("%d clients on %d masters may need up to %d file descriptors, and %s", s.Clients, s.Masters, need, descriptorAdvice(s))
	}
}

// descriptorAdvice says how many file descriptors there are, and what to do.
func descriptorAdvice(s *scenario.Scenario) string {
	most, _ := descriptorLimit()
	return fmt.Sprintf("this process may have %d file descriptors; raise that (ulimit -n %d), or take fewer clients", most, descriptorsNeeded(s))
}

// withDescriptors adds to an error what helps if it is that no file descriptors are left.
func withDescriptors(s *scenario.Scenario, err error) error {
	if !cluster.NoDescriptors(err) {
		return err
	}
	return fmt.Errorf("%w: %s", err, descriptorAdvice(s))
}

// checkDescriptors ends the run when no file descriptors are left: connections then fail for a reason that
// has nothing to do with the lock, so later results are not evidence.
func (c *campaign) checkDescriptors() {
	if !c.starved() {
		return
	}
	c.interruptBy(fmt.Errorf("no file descriptors were left: %s", descriptorAdvice(&c.s)))
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
