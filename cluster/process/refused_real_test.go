//go:build real

package process

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster"
)

// TestLinksRefuseWhatNoLockSends: alone, in a transaction and in a script, so that a neighbour's test suite that flushes each
// Redis that it finds does not convict a lock. The harness may do it all the same, and a scenario may allow it.
func TestLinksRefuseWhatNoLockSends(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		ctx := t.Context()
		g := start(t, driver, cluster.Config{Masters: 1, Replicas: 1})
		l, err := g.Link("c1", 0)
		if err != nil {
			t.Fatal(err)
		}
		c := client(t, l.Addr())
		set(t, c, "a", "1")
		for _, name := range cluster.RefusedNames() {
			var words []any
			for _, w := range strings.Split(name, "|") {
				words = append(words, w)
			}
			switch name { // the right number of arguments
			case "swapdb", "replicaof", "slaveof":
				words = append(words, "0", "1")
			case "migrate":
				words = append(words, "127.0.0.1", "1", "a", "0", "1")
			case "config", "acl", "module", "debug":
				words = append(words, map[string]string{"config": "rewrite", "acl": "whoami", "module": "list", "debug": "jmap"}[name])
			case "client|kill", "client|pause":
				words = append(words, "1")
			case "psync":
				words = append(words, "?", "-1")
			}
			switch err := c.Do(ctx, words...).Err(); {
			case name == "debug" && err != nil && strings.Contains(err.Error(), "DEBUG command not allowed"): // Redis 7 refuses it to everybody
			case !redis.HasErrorPrefix(err, "NOPERM"):
				t.Errorf("%v: %v", words, err)
			}
		}
		_, err = c.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, "b", "1", 0)
			p.FlushAll(ctx)
			return nil
		})
		if !redis.HasErrorPrefix(err, "EXECABORT") && !redis.HasErrorPrefix(err, "NOPERM") {
			t.Errorf("in a transaction: %v", err)
		}
		if err := c.Eval(ctx, "return redis.call('FLUSHALL')", nil).Err(); err == nil {
			t.Error("in a script: no error")
		}
		for _, allowed := range []string{"get a", "client setname x", "client id", "script exists x", "info", "client info"} {
			if err := c.Do(ctx, words(allowed)...).Err(); err != nil {
				t.Errorf("%s: %v", allowed, err)
			}
		}
		if n, err := c.Exists(ctx, "a", "b").Result(); n != 1 || err != nil {
			t.Errorf("%d of the keys a and b exist (%v), but only a was set", n, err)
		}
		if err := g.masters[0].now().inspection().FlushAll(ctx).Err(); err != nil {
			t.Errorf("the harness: %v", err)
		}

		admin := start(t, driver, cluster.Config{Masters: 1, Admin: true})
		if l, err = admin.Link("c1", 0); err != nil {
			t.Fatal(err)
		}
		if err := client(t, l.Addr()).FlushAll(ctx).Err(); err != nil {
			t.Errorf("with Admin: %v", err)
		}
	})
}

func words(line string) (all []any) {
	for _, w := range strings.Fields(line) {
		all = append(all, w)
	}
	return all
}
