package locktest

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockpick/campaign/scenario"
	"lockpick/history"
)

var (
	flagSchedules = flag.Int("lockpick.schedules", 0, "locktest: how many schedules to try (0: what the test says)")
	flagTime      = flag.Duration("lockpick.time", 0, "locktest: how long to explore, in real time (0: what the test says)")
	flagSeed      = flag.Uint64("lockpick.seed", 0, "locktest: the seed of the schedules (0: what the test says)")
)

// config holds the options of a test.
type config struct {
	base      scenario.Scenario
	schedules int
	time      time.Duration
	real      bool
	only      []string // ids of an audit's situations; empty: all
	given     []string // names of the options
	claims
}

// claims is what the options say of the lock, beside its kind.
type claims struct {
	fencing    bool
	majority   bool
	retry      time.Duration
	fair       bool
	deadWaiter time.Duration // how long it waits for a waiter that is gone
}

// These are the options that a function uses; nil: all of them.
var (
	usedByRun   = []string{"RealRedis", "Fencing", "Majority", "Retry", "Fair"} // the scenario says the rest
	usedByAudit = []string{"Masters", "Properties", "Schedules", "For", "Seed", "RealRedis", "Fencing", "Majority", "Retry", "Fair"}
	usedByFuzz  = []string{"Faults", "Persistence", "Masters", "Clients", "Keys", "TTL", "RestartDelay", "Admin", "Properties", "Seed", "Fencing", "Majority", "Retry", "Fair"}
)

// ignored returns an error that names an option that the function does not use; nil: it uses all that are given.
func (c *config) ignored(function string, used []string) error {
	for _, name := range c.given {
		if used != nil && !slices.Contains(used, name) {
			return fmt.Errorf("%s does not use the option %s, only %s", function, name, strings.Join(used, ", "))
		}
	}
	return nil
}

// named returns an option with its name.
func named(name string, set func(*config)) Option {
	return func(c *config) {
		c.given = append(c.given, name)
		set(c)
	}
}

// Option changes how a lock is tested.
type Option func(*config)

// Faults sets the kinds of fault, such as "kill", "pause", "partition", "slow", "reset",
// "powercut", "clock" and "client-pause"; docs/scenarios.md lists them. Default: kill, partition
// and pause.
func Faults(kinds ...string) Option {
	return named("Faults", func(c *config) { c.base.Faults = kinds })
}

// Persistence sets how masters store their keys: none (a restart loses them), rdb, everysec or always.
// Default: always.
func Persistence(p string) Option {
	return named("Persistence", func(c *config) { c.base.Persistence = p })
}

// Masters sets the number of masters. Default: 5.
func Masters(n int) Option {
	return named("Masters", func(c *config) { c.base.Masters = n })
}

// Clients sets the greatest number of clients. Default: 3.
func Clients(n int) Option {
	return named("Clients", func(c *config) { c.base.Clients = n })
}

// Keys sets the number of keys that the clients lock. Default: 1, of a MultiLock 3.
func Keys(n int) Option {
	return named("Keys", func(c *config) { c.base.Keys = n })
}

// ReadWrite says that the lock is an RWLock, and sets the share of its acquires that read.
func ReadWrite(readers float64) Option {
	return func(c *config) { c.base.Kind, c.base.Readers = history.ReadWrite, readers }
}

// Permits says that the lock is a Semaphore, and sets how many permits it has.
func Permits(n int) Option {
	return func(c *config) { c.base.Kind, c.base.Permits = history.Semaphore, n }
}

// Reentrant says that a client may acquire a key that it holds, and releases it as often.
func Reentrant() Option { return func(c *config) { c.base.Kind = history.Reentrant } }

// Multi says that the lock is a MultiLock. Clients acquire one to three of the keys at once.
func Multi() Option { return func(c *config) { c.base.Kind = history.Multi } }

// TTL sets the TTL that the lock should give its leases. Default: 2s.
func TTL(d time.Duration) Option {
	return named("TTL", func(c *config) { c.base.TTL = d })
}

// RestartDelay sets the least time for which a killed master stays down. Default: 0.
func RestartDelay(d time.Duration) Option {
	return named("RestartDelay", func(c *config) { c.base.RestartDelay = d })
}

// Admin lets the lock send commands that masters refuse otherwise because no lock sends them, such as FLUSHALL and CONFIG.
func Admin() Option {
	return named("Admin", func(c *config) { c.base.Admin = true })
}

// Properties sets the properties that are judged, by level or name; docs/checking.md lists
// them. Default: L2, mutual exclusion.
func Properties(names ...string) Option {
	return named("Properties", func(c *config) { c.base.Properties = names })
}

// Schedules sets how many schedules are tried. Default: 500, and 50 with -short.
func Schedules(n int) Option {
	return named("Schedules", func(c *config) { c.schedules = n })
}

// For limits the real time in which schedules are tried. Default: 1m.
func For(d time.Duration) Option {
	return named("For", func(c *config) { c.time = d })
}

// RealRedis runs the schedules on redis-server processes of this machine, in real time: at most two at once,
// each for some seconds, as many as fit into For. Violations are not shrunk. On a machine without
// redis-server the test is skipped.
func RealRedis() Option {
	return named("RealRedis", func(c *config) { c.real = true })
}

// Fencing says that the leases of the lock have fencing tokens (Lease.Fence), so that L5 and FM are judged. The
// resource rejects writes with a lower token than it has seen.
func Fencing() Option {
	return named("Fencing", func(c *config) { c.fencing = true })
}

// Majority says that each lease of the lock needs a majority of the masters, so that one that asked fewer of them violates L1. Without
// it, a lock of which no lease ever asks a majority may be meant so, and L1 is not tested.
func Majority() Option {
	return named("Majority", func(c *config) { c.majority = true })
}

// Retry states the longest time for which a waiter sends nothing although nobody holds the lock: its longest delay
// between two attempts, or how long a release takes to wake it. With it, wake-up is judged (a part of AV).
func Retry(longest time.Duration) Option {
	return named("Retry", func(c *config) { c.retry = longest })
}

// Fair says that the lock serves waiters in the order of their calls, so that fairness is judged (a part of AV). deadWaiter is how
// long, as it states, it waits for each waiter that is gone; 0: it states no such time. Fairness is judged with Masters(1): masters
// that do not know each other have no common queue.
func Fair(deadWaiter time.Duration) Option {
	return named("Fair", func(c *config) { c.fair, c.deadWaiter = true, deadWaiter })
}

// Seed sets the seed of the schedules. The order in which goroutines run does not depend on it,
// so two runs with one seed differ. Default: 1.
func Seed(n uint64) Option {
	return named("Seed", func(c *config) { c.base.Seed = n })
}
