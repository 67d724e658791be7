package locktest

import (
	"flag"
	"time"

	"lockpick/campaign"
)

var (
	flagSchedules = flag.Int("lockpick.schedules", 0, "locktest: how many schedules to try (0: what the test says)")
	flagTime      = flag.Duration("lockpick.time", 0, "locktest: how long to explore, in real time (0: what the test says)")
	flagSeed      = flag.Uint64("lockpick.seed", 0, "locktest: the seed of the schedules (0: what the test says)")
)

// config is what the options say.
type config struct {
	base      campaign.Scenario
	schedules int
	time      time.Duration
}

// Option says how a lock is tested.
type Option func(*config)

// Faults are the kinds of fault that strike, such as "kill", "pause", "partition", "slow",
// "reset", "powercut", "clock" and "client-pause"; docs/faults.md lists them. Default: kill,
// partition and pause.
func Faults(kinds ...string) Option { return func(c *config) { c.base.Faults = kinds } }

// Persistence is how masters keep their keys: none (they forget when they restart), rdb,
// everysec or always. Default: always.
func Persistence(p string) Option { return func(c *config) { c.base.Persistence = p } }

// Masters is the number of masters. Default: 5.
func Masters(n int) Option { return func(c *config) { c.base.Masters = n } }

// Clients is the largest number of clients. Default: 3.
func Clients(n int) Option { return func(c *config) { c.base.Clients = n } }

// Keys is the number of locks that the clients use. Default: 1.
func Keys(n int) Option { return func(c *config) { c.base.Keys = n } }

// TTL is how long leases are to be. Default: 2s.
func TTL(d time.Duration) Option { return func(c *config) { c.base.TTL = d } }

// RestartDelay is for how long a master that was killed stays down, at least. Default: 0.
func RestartDelay(d time.Duration) Option { return func(c *config) { c.base.RestartDelay = d } }

// Properties are those that are judged, by level or name: docs/checking.md lists them.
// Default: L2, mutual exclusion.
func Properties(names ...string) Option { return func(c *config) { c.base.Properties = names } }

// Schedules is how many schedules are tried. Default: 500, and 50 with -short.
func Schedules(n int) Option { return func(c *config) { c.schedules = n } }

// For is how long schedules are tried at most, in real time. Default: 1m.
func For(d time.Duration) Option { return func(c *config) { c.time = d } }

// Seed is what the schedules follow from. The order in which goroutines run does not, so two
// runs with one seed differ. Default: 1.
func Seed(n uint64) Option { return func(c *config) { c.base.Seed = n } }
