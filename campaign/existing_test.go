package campaign

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/cluster/existing"
	"lockpick/history"
	"lockpick/internal/redistest"
	"lockpick/workload"
)

// ownServers starts two servers with a key each, which are not a run's business, and returns clients of them. Their user ann
// has a password.
func ownServers(t *testing.T) (at []string, clients []*redis.Client) {
	t.Helper()
	was := testDrivers.Existing
	testDrivers.Existing = existing.Start
	t.Cleanup(func() { testDrivers.Existing = was })
	for range 2 {
		address := redistest.Start(t)
		c := redis.NewClient(&redis.Options{Addr: address})
		t.Cleanup(func() { c.Close() })
		ctx := t.Context()
		may := c.Do(ctx, "ACL", "SETUSER", "ann", "on", ">s3cret", "~*", "&*", "+@all", "-@admin", "-@dangerous", "+info")
		if err := errors.Join(c.Set(ctx, "k0", "the user's", 0).Err(), may.Err(), c.ConfigResetStat(ctx).Err()); err != nil {
			t.Fatal(err)
		}
		at, clients = append(at, "redis://ann:s3cret@"+address), append(clients, c)
	}
	return at, clients
}

// existingScenario is a short scenario on servers of the user.
func existingScenario(at []string, faults ...string) scenario.Scenario {
	s := scenario.Defaults()
	s.At, s.TTL, s.TimeLimit, s.Hold = at, 400*time.Millisecond, 3*time.Second, "0s..100ms"
	s.AdoptServers(func(string) bool { return false })
	s.Faults = faults
	return s
}

// settings returns what a server says of its configuration.
func settings(t *testing.T, c *redis.Client) string {
	t.Helper()
	all, err := c.ConfigGet(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(all) // sorted
}

// TestServersOfTheUserStayAsTheyAre: a run gives a verdict, with faults and without, and nothing but its own keys has
// changed on the servers.
func TestServersOfTheUserStayAsTheyAre(t *testing.T) {
	at, clients := ownServers(t)
	var before []string
	for _, c := range clients {
		before = append(before, settings(t, c))
	}
	for _, faults := range [][]string{nil, {"partition"}} {
		store := Store{t.TempDir()}
		var dir string
		var h *history.History
		var r *judge.Result
		run := func(s scenario.Scenario) *judge.Result {
			var err error
			if dir, h, r, err = Run(t.Context(), s, Options{Drivers: testDrivers, Store: store, Progress: t.Logf}); err != nil {
				t.Fatal(err)
			}
			if r.Verdict() == checker.Violated {
				t.Errorf("%v: %s", faults, r.Verdict())
			}
			return r
		}
		if s := existingScenario(at, faults...); len(faults) > 0 {
			untilShown(t, s, run, "L2 holds")
		} else {
			run(s)
		}
		if r.Counts.Granted == 0 || len(faults) > 0 && r.Counts.TookEffect == 0 {
			t.Errorf("%v: %s, %d leases, %d faults took effect", faults, r.Verdict(), r.Counts.Granted, r.Counts.TookEffect)
		}
		if name, version := judge.ServerOf(r.Versions); name != "redis" || version == "" || h.Header.Driver != "existing" || h.Header.Persistence != history.OwnPersistence {
			t.Errorf("%s %s, header %+v", name, version, h.Header)
		}
		stored, err := scenario.Load(filepath.Join(dir, judge.ScenarioFile))
		if err != nil || strings.Contains(h.Header.Scenario, "s3cret") || !strings.Contains(stored.At[0], "redis://ann@") {
			t.Errorf("the run keeps %v, %v: %s", stored.At, err, h.Header.Scenario)
		}
	}
	for i, c := range clients {
		if settings(t, c) != before[i] {
			t.Errorf("the settings of m%d changed", i+1)
		}
		keys, err := c.Keys(t.Context(), "*").Result()
		for _, k := range keys {
			if k != "k0" && !strings.Contains(k, "lockpick-") {
				t.Errorf("m%d stores %s", i+1, k)
			}
		}
		if v := c.Get(t.Context(), "k0").Val(); err != nil || v != "the user's" {
			t.Errorf("k0 is %q, %v", v, err)
		}
		stats := c.Info(t.Context(), "commandstats").Val()
		for _, command := range []string{"flushall", "flushdb", "config|set", "config|rewrite", "shutdown", "debug", "monitor", "client|kill", "client|pause", "replicaof", "slaveof", "acl|setuser", "swapdb", "save", "bgsave"} {
			if strings.Contains(stats, "cmdstat_"+command+":") {
				t.Errorf("m%d was sent %s", i+1, command)
			}
		}
	}
}

// TestAScheduleNamesKeysWithoutTheirBeginning: c1 acquires k0 is an event, although the key has a longer name.
func TestAScheduleNamesKeysWithoutTheirBeginning(t *testing.T) {
	at, _ := ownServers(t)
	s := existingScenario(at)
	s.Schedule = []scenario.Step{{Fault: "partition", After: "any acquires k0", Masters: []string{"m1"}, For: 200 * time.Millisecond}}
	s.Arrivals = []workload.Arrival{{Client: "c1", Key: "k0", Hold: 50 * time.Millisecond}, {Client: "c2", At: 500 * time.Millisecond, Hold: 50 * time.Millisecond}}
	_, h, r, err := Run(t.Context(), s, Options{Drivers: testDrivers, Store: Store{t.TempDir()}, Progress: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	if r.Counts.Faults != 1 || r.Counts.Granted == 0 {
		t.Errorf("%d faults, %d leases", r.Counts.Faults, r.Counts.Granted)
	}
	for i := range h.Ops {
		if key := h.Ops[i].Key; key != "" && !strings.HasPrefix(key, "lockpick-") {
			t.Fatalf("%+v", h.Ops[i])
		}
	}
}

// TestWhatTheOwnerDoesConvictsNoLock: keys that the owner of the servers removes are not lost by the lock.
func TestWhatTheOwnerDoesConvictsNoLock(t *testing.T) {
	at, clients := ownServers(t)
	s := existingScenario(at)
	s.Hold, s.TTL, s.Clients, s.LongHolds = "1s..2s", 3*time.Second, 3, 0
	ctx, stop := context.WithCancel(t.Context())
	emptied := make(chan struct{})
	go func() {
		defer close(emptied)
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				for _, c := range clients {
					c.FlushAll(ctx)
				}
			}
		}
	}()
	_, _, r, err := Run(t.Context(), s, Options{Drivers: testDrivers, Store: Store{t.TempDir()}, Progress: t.Logf})
	stop()
	<-emptied
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict() == checker.Violated || !strings.Contains(strings.Join(r.Notes, "\n"), "FLUSHALL") {
		t.Errorf("%s, notes %q", r.Verdict(), r.Notes)
	}
}

func TestServersOfOtherMachinesNeedPermission(t *testing.T) {
	s := existingScenario([]string{"192.0.2.1:6379"})
	_, _, _, err := Run(t.Context(), s, Options{Drivers: testDrivers, Store: Store{t.TempDir()}})
	if err == nil || !strings.Contains(err.Error(), "--allow-remote") {
		t.Errorf("%v", err)
	}
	for _, local := range []string{"127.0.0.1", "localhost", "::1"} {
		own := existingScenario([]string{net.JoinHostPort(local, "1")})
		if err := (&Options{Drivers: testDrivers}).checkTrust(&own); err != nil {
			t.Error(err)
		}
	}
	if err := (&Options{Drivers: testDrivers, AllowRemote: true}).checkTrust(&s); err != nil {
		t.Error(err)
	}
}

// TestAServerThatDoesNotAnswerLeavesNoRun: nothing happened that anybody could look at.
func TestAServerThatDoesNotAnswerLeavesNoRun(t *testing.T) {
	was := testDrivers.Existing
	testDrivers.Existing = existing.Start
	t.Cleanup(func() { testDrivers.Existing = was })
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := taken.Addr().String()
	taken.Close()
	store := Store{Dir: t.TempDir()}
	_, _, _, err = Run(t.Context(), existingScenario([]string{"redis://" + address}), Options{Store: store, Drivers: testDrivers, Progress: t.Logf})
	if problem := (*scenario.Problem)(nil); !errors.As(err, &problem) {
		t.Errorf("got %v, want a mistake of the user", err)
	}
	if left, _ := filepath.Glob(filepath.Join(store.Dir, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
