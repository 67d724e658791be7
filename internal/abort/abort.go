// Package abort gives a program an exit code of its own where the Go runtime ends it and no function can recover: a panic
// in a goroutine that somebody else started, exhausted memory, a concurrent map write.
package abort

import "runtime/debug"

// ExitWith makes such an end print a sentence after the stacks and exit with a code. Without it the runtime exits with 2.
// On systems other than Linux on amd64 and arm64 the process ends with SIGABRT instead, and prints no sentence.
//
// The runtime calls no function of the program at such a moment, but it raises SIGABRT. The handler that is
// installed here is assembly: it runs while memory may be exhausted and other threads still run.
func ExitWith(code int, sentence string) {
	debug.SetTraceback("crash")
	handle(code, sentence)
}
