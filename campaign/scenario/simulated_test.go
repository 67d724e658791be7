package scenario

import (
	"testing"

	"lockpick/cluster"
)

func TestSimulatedScenarioHasNothingOfRealServers(t *testing.T) {
	s := Defaults()
	s.Driver, s.Server, s.Image, s.ACL, s.TLS, s.At = Process, "valkey-server", "valkey/valkey:8", "user app on >secret ~* +@all", true, []string{"127.0.0.1:6379"}
	got := s.Simulated()
	if got.Driver != Sim || got.Software() != (cluster.Software{}) || got.Guarded() || got.At != nil {
		t.Fatalf("driver %s, software %+v, users or TLS %v, servers %v", got.Driver, got.Software(), got.Guarded(), got.At)
	}
}
