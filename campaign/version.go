package campaign

import (
	"runtime/debug"
	"sync"
)

// Version is Lockpick's own, as far as the build knows it.
func Version() string { return version() }

var version = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
})
