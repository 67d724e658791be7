//go:build !linux

package process

import "errors"

var errOnlyLinux = errors.New("the clock shim runs on Linux")

func readClock(int32) (int64, error) { return 0, errOnlyLinux }

// Bend returns an error: the clock shim works only on Linux.
func (c *ProgramClocks) Bend(int) error { return errOnlyLinux }
