package campaign

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/cluster"
)

// TestARunHasItsHeaderBeforeItsMastersAreUp: the history of a harness that is killed while it starts masters has a
// header, so the run is listed and judged, and holds nothing.
func TestARunHasItsHeaderBeforeItsMastersAreUp(t *testing.T) {
	store := Store{t.TempDir()}
	was := testDrivers.Real
	defer func() { testDrivers.Real = was }()
	looked := false
	testDrivers.Real = []Driver{{
		Name: scenario.Process,
		Available: func(context.Context, cluster.Software) (bool, string) {
			return true, "a driver whose masters do not start"
		},
		Sweep: func(context.Context) ([]string, error) { return nil, nil },
		Lend: Starting(func(context.Context, cluster.Config) (cluster.Cluster, error) {
			looked = true
			runs, err := store.Runs()
			if err != nil || len(runs) != 1 {
				t.Fatalf("runs %q, %v", runs, err)
			}
			path := filepath.Join(store.Dir, runs[0], judge.HistoryFile)
			h, r, err := judge.File(path)
			if err != nil {
				t.Fatal(err)
			}
			if h.Header.Name != "early" || h.Header.Clients != 3 || h.Header.Driver != scenario.Process || len(h.Ops) > 0 {
				t.Errorf("the header is %+v", h.Header)
			}
			if c := r.Conclude(nil); !strings.Contains(c.Why, "cut short") {
				t.Errorf("concluded %+v", c)
			}
			return nil, context.Canceled
		}),
	}}
	s := scenario.Defaults()
	s.Name, s.Driver, s.Clients, s.TimeLimit = "early", scenario.Process, 3, time.Second
	if _, _, _, err := Run(t.Context(), s, Options{Drivers: testDrivers, Store: store}); err == nil || !looked {
		t.Errorf("error %v, started %v", err, looked)
	}
}
