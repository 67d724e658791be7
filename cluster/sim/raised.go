package sim

import "strings"

// Raised says whether a panic is the simulator's own: the unwinding of a world that is over,
// or its protest against what cannot be simulated. Whoever recovers it must let it go on.
func Raised(value any) bool {
	text, ok := value.(string)
	return value == any(errOver) || ok && strings.HasPrefix(text, "sim: ")
}
