package world

import "strings"

// Raised reports whether a panic is the simulator's own: the unwinding of a world that has
// ended, or the rejection of a call that it cannot simulate. Code that recovers it must raise
// it again.
func Raised(value any) bool {
	text, ok := value.(string)
	return value == any(errOver) || ok && strings.HasPrefix(text, "sim: ")
}
