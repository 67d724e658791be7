package cli

import (
	"os"
	"runtime/debug"
)

// collectLessOften makes the garbage collector run less often, unless GOGC is set. A search builds one simulation after
// the other, and its live heap is a few megabytes, so the collector would otherwise run all the time.
func collectLessOften() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
