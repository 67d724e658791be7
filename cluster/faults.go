package cluster

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// ErrUnavailable says that a fault is not available on this host or with this image. Errors
// that wrap it contain the reason.
var ErrUnavailable = errors.New("this fault is not available")

// Clock is the deviation of a master's wall clock from the true time, from now on. The zero
// value is the true time.
type Clock struct {
	Offset time.Duration // by how much it is ahead at this moment, after a jump forward or back
	Rate   float64       // seconds that it counts in a true second; 0 means 1
}

// maxRate limits the rate of a clock, in seconds per true second.
const maxRate = 1000

// EffectiveRate returns how many seconds the clock counts in a true second.
func (c Clock) EffectiveRate() float64 {
	if c.Rate == 0 {
		return 1
	}
	return c.Rate
}

// Check returns an error if the deviation is invalid.
func (c Clock) Check() error {
	if r := c.EffectiveRate(); math.IsNaN(r) || r < 0 || r > maxRate {
		return fmt.Errorf("clock rate %v: want more than 0 and at most %d seconds in a true second", c.Rate, maxRate)
	}
	if c.Offset.Abs() > 20*365*24*time.Hour {
		return fmt.Errorf("clock offset %v: want at most 20 years", c.Offset)
	}
	return nil
}

// Disk is the fault of a master's disk. The zero value is a good disk.
type Disk struct {
	FsyncDelay time.Duration // added to each fsync
	FsyncLies  bool          // fsync reports success and does nothing
	Full       bool          // writes fail because there is no space left
}

// Power describes which data a power cut leaves. The zero value is a file system with a
// journal: any fsync commits the names that were created, changed or removed before it.
type Power struct {
	Strict bool   // a name is durable only after an fsync of its own directory (POSIX)
	Torn   bool   // a random prefix of the bytes that were not fsynced survives
	Seed   uint64 // for the random prefix
}

// Cut counts the data that a power cut has removed.
type Cut struct {
	Files int   // files that lost bytes
	Bytes int64 // bytes that were written and not fsynced
	Names int   // created, renamed or removed names that were reverted
}
