//go:build real

package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster"
)

// Only links let anybody in: another program that finds a server's port can neither read nor
// flush it, and the password stands where no other user of the machine can read it.
func TestStrangersNeedThePassword(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		g := start(t, driver, cluster.Config{Masters: 1, Replicas: 1})
		for _, s := range g.masters[0].servers() {
			c := redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: -1, Protocol: 2, DisableIdentity: true})
			defer c.Close()
			for _, command := range []string{"flushall", "keys *", "config get *", "shutdown nosave"} {
				words := strings.Fields(command)
				args := make([]any, len(words))
				for i, w := range words {
					args[i] = w
				}
				if err := c.Do(t.Context(), args...).Err(); !redis.HasErrorPrefix(err, "NOAUTH") {
					t.Errorf("%s, %s: %v", s.Name, command, err)
				}
			}
			info, err := os.Stat(filepath.Join(s.Home, Settings))
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: its settings: %v, %v", s.Name, info, err)
			}
		}
		l, err := g.Link("c1", 0)
		if err != nil {
			t.Fatal(err)
		}
		set(t, client(t, l.Addr()), "a", "1")
		other := start(t, driver, cluster.Config{Masters: 2})
		one, two, three := g.masters[0].now().Password, other.masters[0].now().Password, other.masters[1].now().Password
		if one == two || two == three || len(one) < 20 || len(two) < 20 {
			t.Errorf("passwords %q, %q and %q", one, two, three)
		}
	})
}

// No server's command line has the password: every user of the machine can read it.
func TestCommandLinesHaveNoPassword(t *testing.T) {
	needs(t, "process")
	g := start(t, "process", cluster.Config{Masters: 1})
	for _, word := range g.masters[0].now().engine.(*process).args {
		if strings.Contains(word, g.masters[0].now().Password) {
			t.Error(word)
		}
	}
}
