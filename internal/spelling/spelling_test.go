package spelling

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"masters", "max-memory", "faults", "token"}
	for given, want := range map[string]string{"mastrs": "masters", "fautls": "faults", "TOKN": "token", "x": "", "persistence": ""} {
		if got := Nearest(given, names); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}
