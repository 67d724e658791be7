package main

import (
	"os"
	"runtime/debug"
)

// roomy has the garbage collector run less often, unless GOGC says how often. A search
// makes many worlds, one after the other, and what lives at a time is some megabytes: the
// collector would run all the time, and memory is cheaper than that.
func roomy() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
