package campaign

import (
	"fmt"
	"slices"

	"lockpick/campaign/scenario"
	"lockpick/cluster"
	"lockpick/history"
	"lockpick/workload"
)

// A lock that the user registered may ignore its masters, and lock something else, or nothing. Its run would
// prove nothing about it. The run is refused if no master has received a byte after ignoredLooks checks in
// which virtual time stood still, or after ignoredFailures failed acquisitions.
const (
	ignoredLooks    = 4
	ignoredFailures = 3
)

// refuseIgnorant ends the run if clients of the user's lock are granted or refused leases although the lock
// has sent nothing to the masters.
func (c *campaign) refuseIgnorant() {
	if !c.registered() {
		return
	}
	failures := 0
	c.recorder.Observe(func(op history.Op) {
		if op.F != history.FAcquire || op.Type != history.OK && op.Type != history.Fail || c.reached.Load() {
			return
		}
		switch failures++; {
		case !c.ignored():
			c.reached.Store(true)
		case op.Type == history.OK:
			c.fail(c.ignorant("a client was granted " + op.Key))
		case failures == ignoredFailures:
			c.fail(c.ignorant("clients were refused: " + op.Error))
		}
	})
}

// registered reports whether the user registered the lock, and not as a planted bug.
func (c *campaign) registered() bool {
	return !c.s.UsesProcesses() && slices.ContainsFunc(workload.Registered(), func(k workload.Implementation) bool { return k.Name == c.s.Lock && k.Bug == "" })
}

// ignored reports whether the lock is the user's, and no client has sent anything to a master.
func (c *campaign) ignored() bool {
	if !c.registered() || c.reached.Load() {
		return false
	}
	for _, client := range workload.Clients(c.s.Clients) {
		for i := range c.masters.Masters() {
			if link, err := c.masters.Link(client, i); err != nil || link.Counts() != (cluster.LinkCounts{}) {
				return false
			}
		}
	}
	return true
}

func (c *campaign) ignorant(but string) *scenario.Problem {
	says := fmt.Sprintf("%s sent nothing to the masters that it was given, and yet %s. ", c.s.Lock, but)
	if c.sim != nil {
		says += fmt.Sprintf("A lock for the driver %s sends through Env.Masters and waits through Env.Runtime; one that connects by itself is registered as such (locktest.Kind), and runs with the drivers %s, %s and %s", scenario.Sim, scenario.Virtual, scenario.Process, scenario.Docker)
	} else {
		if d, ok := c.masters.(interface{ Dials() int64 }); ok && d.Dials() == 0 {
			says += "It opened no connection through Env.Dial. "
		}
		says += "It must connect to Env.Addrs, and through Env.Dial"
	}
	return &scenario.Problem{Field: "lock", Says: says}
}
