//go:build !unix

package campaign

// descriptorLimit knows no limit on this operating system.
func descriptorLimit() (most uint64, known bool) { return 0, false }
