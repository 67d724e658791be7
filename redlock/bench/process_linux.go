package main

import (
	"syscall"
	"time"
)

// dieWithParent makes the kernel end the process when this one ends.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// cpuTime returns the processor time that this process has used.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// sleepUntil sleeps in the kernel, which wakes the thread within some 50 µs.
func sleepUntil(at time.Time) {
	for left := time.Until(at); left > 0; left = time.Until(at) {
		t := syscall.NsecToTimespec(int64(left))
		_ = syscall.Nanosleep(&t, nil) // a signal ends it early
	}
}
