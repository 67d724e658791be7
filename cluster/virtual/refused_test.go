package virtual

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster"
	"lockpick/cluster/process"
)

// refusals are commands that masters refuse their clients, and some beside them.
var refusals = []string{
	"SET a 1", "FLUSHALL", "FLUSHALL ASYNC", "flushdb", "FLUSHALL a b c", "CONFIG GET save", "CONFIG SET save x", "SHUTDOWN NOSAVE", "REPLICAOF NO ONE", "SLAVEOF NO ONE", "ACL WHOAMI", "ACL SETUSER x",
	"MODULE LIST", "SAVE", "BGSAVE", "BGREWRITEAOF", "SWAPDB 0 1", "FAILOVER", "SYNC", "PSYNC ? -1", "MIGRATE h 1 k 0 1", "MONITOR", "CLIENT KILL 1", "CLIENT PAUSE 1", "CLIENT UNPAUSE", "SCRIPT FLUSH", "SCRIPT KILL",
	"FUNCTION FLUSH", "FUNCTION KILL", "SCRIPT EXISTS a", "CLIENT SETNAME x", "MULTI", "SET b 1", "FLUSHALL", "GET a", "EXEC", "MULTI", "CLIENT KILL 1", "DISCARD", "EXISTS a b",
}

// TestMastersInMemoryRefuseLikeReal: what no lock sends is refused in the words of Redis, also in a transaction and in a script.
// Nothing of it counts as not modelled.
func TestMastersInMemoryRefuseLikeReal(t *testing.T) {
	if ok, why := process.Available(ctx); !ok {
		t.Skip("nothing to compare with: ", why)
	}
	real, err := process.Start(ctx, cluster.Config{Masters: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer real.Close()
	memory := New(cluster.Config{Masters: 1}, Options{})
	defer memory.Close()
	memory.OnUnmodelled(func(_, what string) { t.Errorf("not modelled: %s", what) })
	var conns []*redis.Conn
	for _, c := range []cluster.Cluster{real, memory} {
		l, err := c.Link("c1", 0)
		if err != nil {
			t.Fatal(err)
		}
		o := &redis.Options{Addr: l.Addr(), Protocol: 2, MaxRetries: -1, DisableIdentity: true}
		if c == memory {
			o.Dialer = memory.DialContext
		}
		client := redis.NewClient(o)
		defer client.Close()
		conn := client.Conn()
		defer conn.Close()
		conns = append(conns, conn)
	}
	compare := func(words ...any) {
		t.Helper()
		a, b := said(conns[0], words), said(conns[1], words)
		// Newer servers name the user.
		a = strings.Replace(a, "User client has no permissions", "this user has no permissions", 1)
		if a != b {
			t.Errorf("%q: real %s, in memory %s", words, a, b)
		}
	}
	for _, line := range refusals {
		var words []any
		for _, w := range strings.Fields(line) {
			words = append(words, w)
		}
		compare(words...)
	}
	for _, script := range []string{"return redis.call('FLUSHALL')", "redis.call('SET', 'c', '1') return redis.call('flushdb')", "return redis.pcall('FLUSHALL')", "return redis.call('CONFIG', 'GET', 'x')", "return redis.call('GET', 'c')"} {
		compare("EVAL", script, 0)
	}
}
