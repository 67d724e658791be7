package docker

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockpick/cluster/process"
)

// engineOf is a Docker engine that answers as told. The engine is the one that DOCKER_HOST names.
func engineOf(t *testing.T, answer http.HandlerFunc) {
	t.Helper()
	at := filepath.Join(t.TempDir(), "docker.sock")
	socket, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	engine := httptest.NewUnstartedServer(answer)
	engine.Listener = socket
	engine.Start()
	t.Cleanup(engine.Close)
	t.Setenv("DOCKER_HOST", "unix://"+at)
}

// TestASweepTellsWhatTheEngineRemoved: a container that the engine lists, and of which it says that it
// knows no such container, was not removed.
func TestASweepTellsWhatTheEngineRemoved(t *testing.T) {
	engineOf(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/info"):
			fmt.Fprint(w, `{"ServerVersion": "20.10"}`)
		case strings.HasSuffix(r.URL.Path, "/containers/json"):
			labels := fmt.Sprintf(`{%q: "1", %q: %q, %q: "%d", %q: "1@1"}`, ourLabel, placeLabel, process.Place(), userLabel, os.Getuid(), ownerLabel)
			fmt.Fprintf(w, `[{"Id": "a", "Names": ["/removed"], "Labels": %s}, {"Id": "b", "Names": ["/unknown"], "Labels": %[1]s}]`, labels)
		case r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "/b"):
			http.Error(w, `{"message": "No such container: b"}`, http.StatusNotFound)
		}
	})
	left, err := Leftovers(t.Context())
	if err != nil || !slices.Contains(left, "container removed") || !slices.Contains(left, "container unknown") {
		t.Errorf("left: %q, %v", left, err)
	}
	removed, err := Sweep(t.Context())
	if err != nil || !slices.Contains(removed, "container removed") || slices.Contains(removed, "container unknown") {
		t.Errorf("removed: %q, %v", removed, err)
	}
}

// TestAnEngineThatIsStuck answers pings, but does not describe itself. It is not available.
func TestAnEngineThatIsStuck(t *testing.T) {
	engineOf(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/info") {
			<-r.Context().Done()
		}
	})
	if ok, why := Available(t.Context(), ""); ok || !strings.Contains(why, "it may be stuck") {
		t.Errorf("available: %v, %s", ok, why)
	}
}
