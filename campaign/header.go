package campaign

import (
	"cmp"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/cluster"
	"lockpick/history"
	"lockpick/internal/wholefile"
	"lockpick/workload"
)

// announceHistory writes a history that has only a header into a run's folder, so that a harness that is killed before
// its masters are up leaves a run that can be listed and judged. The history of the run replaces it: only then are the
// version of the server and what the client says of itself known.
func announceHistory(dir string, head history.Header) error {
	return wholefile.Replace(filepath.Join(dir, judge.HistoryFile), 0o644, func(f *os.File) error {
		_, err := history.NewRecorder(f, head, nil)
		return err
	})
}

// cutAfterHeader removes what follows the header, which was just written over the one of announceHistory. Until then a
// harness that is killed leaves one header or the other.
func cutAfterHeader(history *os.File) error {
	size, err := history.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	return history.Truncate(size)
}

// headerOf returns the header of the run's history.
func headerOf(s *scenario.Scenario, masters cluster.Cluster, hello workload.Hello, yaml string, started time.Time) history.Header {
	return headerFor(s, masters.Driver(), map[string]string{masters.Server(): masters.Version()}, hello, yaml, started)
}

// headerFor returns the header of a history on masters of a driver, with the versions that are known of them.
func headerFor(s *scenario.Scenario, driver string, known map[string]string, hello workload.Hello, yaml string, started time.Time) history.Header {
	lock := lockOf(s, hello)
	versions := map[string]string{"lockpick": Version()}
	maps.Copy(versions, known)
	if driver != scenario.Sim { // the same seed must give the same bytes with every version of Go
		versions["go"] = runtime.Version()
	}
	if hello.Library != "" {
		versions["library"] = hello.Library
	}
	guarded := ""
	if s.Resource.Compares() {
		guarded = string(s.Resource)
	}
	kind, permits := lock.Kind, 0
	switch kind {
	case history.Mutex:
		kind = ""
	case history.Semaphore:
		permits = permitsOf(s)
	}
	service, async, settle, persistence := "", false, time.Duration(0), s.Persistence
	if s.Service != nil {
		service, async, settle, persistence = s.Service.Name, s.Service.Async, s.Service.SettleTime(), history.OwnPersistence
	}
	if len(s.At) > 0 {
		persistence = history.OwnPersistence
	}
	return history.Header{
		Service: service, Asynchronous: async, Settle: settle,
		Kind: kind, Permits: permits,
		Name: s.Name, Started: started.UTC(), Seed: s.Seed, Driver: driver, Lock: s.Lock, Masters: s.Masters, Quorum: lock.Quorum(s.Masters),
		Persistence: persistence, Clients: s.Clients, Keys: s.Keys, TTL: s.TTL, Fencing: s.Fencing, Resource: guarded,
		Duplicates: s.Network.Duplicate > 0, DeadWaiter: lock.DeadWaiter, Retry: lock.Retry, Fair: lock.Fair, HungHolder: lock.HungHolder(s.TTL, s.Timeout), Faults: s.FaultNames(), Properties: s.Properties,
		Nemesis: s.NemesisName(), Scenario: yaml,
		Client: s.Client, Until: until(s.RunsCommand(), hello),
		Versions: versions,
	}
}

// permitsOf returns how many permits a semaphore has.
func permitsOf(s *scenario.Scenario) int { return cmp.Or(s.Permits, workload.DefaultPermits) }
