//go:build !linux

package campaign

// freeDisk and freeMemory know nothing on this operating system.
func freeDisk(string) (free int64, known bool) { return 0, false }
func freeMemory() (free int64, known bool)     { return 0, false }
