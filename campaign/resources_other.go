//go:build !linux

package campaign

// freeDisk and freeMemory do not know what there is here.
func freeDisk(string) (free int64, known bool) { return 0, false }
func freeMemory() (free int64, known bool)     { return 0, false }
