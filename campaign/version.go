package campaign

import (
	"runtime/debug"
	"sync"
)

// Version returns Lockpick's version as the build recorded it, or (devel).
func Version() string { return version() }

var version = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
})
