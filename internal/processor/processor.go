//go:build unix

// Package processor measures the processor time that this program has used in all its threads, so that
// benchmarks work on a machine that other programs use, too.
package processor

import (
	"syscall"
	"time"
)

// Time returns the processor time used so far, or 0 if the system does not report it.
func Time() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
