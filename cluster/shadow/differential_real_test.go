//go:build real

package shadow

// A million replies, in all.
func init() { *replies, thorough = 250_000, true }
