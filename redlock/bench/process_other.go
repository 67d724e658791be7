//go:build !linux

package main

import (
	"syscall"
	"time"
)

func dieWithParent() *syscall.SysProcAttr { return nil }

// cpuTime is not available on this system.
func cpuTime() time.Duration { return 0 }

func sleepUntil(at time.Time) { time.Sleep(time.Until(at)) }
