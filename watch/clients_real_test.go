//go:build real

package watch

import "testing"

// TestNoFalseFindingOnClientsInGo is for a library whose module takes minutes to build.
func TestNoFalseFindingOnClientsInGo(t *testing.T) {
	contend(t, []library{{name: "redsync", masters: 3, dir: "../clients/go", command: []string{"redsync"}}})
}
