//go:build !js

package otherfile

import "syscall"

// nonblock opens a pipe without waiting for a writer.
const nonblock = syscall.O_NONBLOCK
