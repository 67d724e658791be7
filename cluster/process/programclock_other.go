//go:build !linux

package process

import "errors"

var errOnlyLinux = errors.New("the clock shim runs on Linux")

func readClock(int32) (int64, error) { return 0, errOnlyLinux }

// Skew returns an error: the clock shim works only on Linux.
func (c *ProgramClocks) Skew(int) error { return errOnlyLinux }
