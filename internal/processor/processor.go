//go:build unix

// Package processor measures how much processor time this program has used, in all its threads:
// what a benchmark takes on a machine that other programs use, too.
package processor

import (
	"syscall"
	"time"
)

// Time returns it, or 0 if the system does not say.
func Time() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
