package existing

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster"
	"lockpick/internal/redistest"
)

// at returns the address of a server that the test starts, and a client of it.
func at(t *testing.T, args ...string) (cluster.Address, *redis.Client) {
	t.Helper()
	a, err := cluster.ParseAddress(redistest.Start(t, args...))
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(&redis.Options{Addr: a.Server})
	t.Cleanup(func() { c.Close() })
	return a, c
}

func start(t *testing.T, all ...cluster.Address) (cluster.Cluster, error) {
	t.Helper()
	c, err := Start(t.Context(), cluster.Config{At: all, Progress: t.Logf})
	if err == nil {
		t.Cleanup(func() { c.Close() })
	}
	return c, err
}

func TestServersThatAreNotIndependentMastersAreRefused(t *testing.T) {
	one, _ := at(t)
	replica, _ := at(t, "--replicaof", strings.ReplaceAll(one.Server, ":", " "))
	part, _ := at(t, "--cluster-enabled", "yes")
	secret, _ := at(t, "--requirepass", "x")
	again := cluster.Address{Server: strings.Replace(one.Server, "127.0.0.1", "localhost", 1)}
	for _, c := range []struct {
		what string
		at   []cluster.Address
		says string
	}{
		{"a replica", []cluster.Address{one, replica}, "m2 at " + replica.Server + ": it is a replica"},
		{"a part of a cluster", []cluster.Address{part}, "part of a Redis Cluster"},
		{"one server under two names", []cluster.Address{one, again}, "the same server as m1"},
		{"a server with a password", []cluster.Address{secret}, "NOAUTH"},
		{"a user whose password was not kept", []cluster.Address{{Server: secret.Server, User: "ann"}}, "the password of the user is missing"},
		{"nobody", []cluster.Address{{Server: "127.0.0.1:1"}}, "connection refused"},
	} {
		if _, err := start(t, c.at...); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.what, err, c.says)
		}
	}
}

// TestNothingIsDoneToAServer: what ends, stops or changes a master is refused, and the server goes on.
func TestNothingIsDoneToAServer(t *testing.T) {
	one, client := at(t)
	c, err := start(t, one)
	if err != nil {
		t.Fatal(err)
	}
	m, ctx := c.Masters()[0], t.Context()
	_, cut := m.CutPower(ctx, cluster.Power{})
	for what, err := range map[string]error{
		"pause": m.Pause(ctx), "resume": m.Resume(ctx), "kill": m.Kill(ctx), "shutdown": m.Shutdown(ctx), "start": m.Start(ctx),
		"clock": m.SetClock(ctx, cluster.Clock{}), "disk": m.SetDisk(ctx, cluster.Disk{}), "power": cut, "fill": m.FillMemory(ctx, 1), "drain": m.DrainMemory(ctx),
		"replication": m.HoldReplication(ctx, true), "failover": m.Failover(ctx, cluster.Takeover{}),
	} {
		if !errors.Is(err, cluster.ErrUnavailable) || !strings.Contains(err.Error(), "neither ends nor changes") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := client.Ping(ctx).Err(); err != nil {
		t.Error("after the run: ", err)
	}
}

// TestAServerThatLosesKeysIsNoticed: its owner empties it, has it evict keys, or ends it.
func TestAServerThatLosesKeysIsNoticed(t *testing.T) {
	one, client := at(t)
	c, err := start(t, one)
	if err != nil {
		t.Fatal(err)
	}
	m, ctx := c.Masters()[0], t.Context()
	died := func() string {
		_, _ = m.Inspect(ctx, nil)
		return m.(cluster.Mortal).Died()
	}
	if what := died(); what != "" {
		t.Errorf("nothing has happened, and it says %q", what)
	}
	client.ConfigResetStat(ctx)
	if what := died(); what != "" {
		t.Errorf("after CONFIG RESETSTAT it says %q", what)
	}
	client.FlushAll(ctx)
	if what := died(); !strings.Contains(what, "FLUSHALL") {
		t.Errorf("after FLUSHALL it says %q", what)
	}
	client.ShutdownNoSave(ctx)
	if what := died(); !strings.Contains(what, "refuses connections") || m.State() != cluster.Down {
		t.Errorf("after SHUTDOWN it says %q, and is %s", what, m.State())
	}
	if what := died(); what != "" {
		t.Errorf("it says again %q", what)
	}
}

// TestLinksLogIn: clients need not know the password, which may have any characters.
func TestLinksLogIn(t *testing.T) {
	one, _ := at(t, "--requirepass", `p w"x`)
	one.Password = `p w"x`
	c, err := start(t, one)
	if err != nil {
		t.Fatal(err)
	}
	l, err := c.Link("c1", 0)
	if err != nil {
		t.Fatal(err)
	}
	if same, _ := c.Link("c1", 0); same != l {
		t.Error("the second call made another link")
	}
	client := redis.NewClient(&redis.Options{Addr: l.Addr(), Protocol: 2})
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := client.Set(ctx, "k", "v", time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	found, err := c.Masters()[0].Inspect(ctx, []string{"k"})
	if err != nil || found.Keys["k"] != "v" || found.Expires["k"].IsZero() {
		t.Errorf("it stores %+v, %v", found, err)
	}
}
