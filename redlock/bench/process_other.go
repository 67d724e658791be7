//go:build !linux

package main

import (
	"syscall"
	"time"
)

func dieWithParent() *syscall.SysProcAttr { return nil }

// cpuTime is not told here.
func cpuTime() time.Duration { return 0 }
