package redlock_test

import (
	"errors"
	"fmt"
	"math/rand"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/redlock"
)

// moody masters answer late at times, beyond the timeout of 10 ms, and refuse some commands.
func moody(t *testing.T) (servers []*server, clients []*redis.Client) {
	t.Helper()
	for range 3 {
		s := newServer(t)
		servers = append(servers, s)
		c := redis.NewClient(&redis.Options{Addr: s.ln.Addr().String()})
		t.Cleanup(func() { _ = c.Close() })
		clients = append(clients, c)
		s.before = func([]string) {
			if rand.Intn(100) == 0 {
				time.Sleep(time.Duration(rand.Intn(30)) * time.Millisecond)
			}
		}
		s.answers = func(words []string) string {
			if words[0] == "set" && rand.Intn(50) == 0 {
				return "-ERR refused\r\n"
			}
			return ""
		}
	}
	return servers, clients
}

// What a question is made of is used again for the next one. Whatever becomes of some of
// them, answers that are late, that are errors, that never come, callers that leave early:
// each gets the votes on its own command, one from each master, and none on another's.
func TestVotesAreOnesOwn(t *testing.T) {
	servers, clients := moody(t)
	m, err := redlock.NewMasters(clients)
	must(t, err)
	var wg sync.WaitGroup
	ask := func(talk redlock.Conversation, cmd redlock.Command, enough int) (yes int) {
		voted := map[int]bool{}
		for v := range talk.Ask(t.Context(), cmd, nil, 10*time.Millisecond) {
			if v.Key != cmd.Key || v.Token != cmd.Token || v.Kind != cmd.Kind {
				t.Errorf("a vote on %s %s %s for who asked %s %s %s", v.Kind, v.Key, v.Token, cmd.Kind, cmd.Key, cmd.Token)
			}
			if voted[v.Master] {
				t.Errorf("master %d votes twice on %s %s", v.Master, cmd.Kind, cmd.Key)
			}
			voted[v.Master] = true
			if v.Yes != (v.Err == nil && v.Reply > 0) {
				t.Errorf("%+v", v)
			}
			if v.Err == nil && !v.Yes && cmd.Kind == redlock.Set {
				t.Errorf("master %d says that %s is taken, which nobody else wants", v.Master, cmd.Key)
			}
			if v.Yes {
				yes++
			}
			if len(voted) == enough {
				return yes
			}
		}
		if len(voted) != len(clients) {
			t.Errorf("%d votes on %s %s", len(voted), cmd.Kind, cmd.Key)
		}
		return yes
	}
	script := redlock.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)
	for g := range 32 {
		wg.Go(func() {
			for n := range 200 {
				key, token := fmt.Sprintf("k%d-%d", g, n), fmt.Sprintf("t%d-%d", g, n)
				var seen sync.Map
				talk := m.Begin(func(v redlock.Vote) {
					if v.Key != key || v.Token != token {
						t.Errorf("a vote on %s %s is told to who asked about %s", v.Key, v.Token, key)
					}
					if _, twice := seen.LoadOrStore(fmt.Sprint(v.Kind, v.Master), true); twice {
						t.Errorf("master %d votes twice on %s %s", v.Master, v.Kind, key)
					}
				})
				ask(talk, redlock.Command{Kind: redlock.Set, Key: key, Token: token, TTL: 10_000}, 1+rand.Intn(3))
				ask(talk, redlock.Command{Kind: redlock.Release, Key: key, Token: token, Script: script}, 1+rand.Intn(3))
			}
		})
	}
	wg.Wait()
	must(t, m.(interface{ Close() error }).Close())
	for i, s := range servers {
		s.mu.Lock()
		if len(s.keys) > 0 {
			t.Logf("master %d keeps %d keys, of releases that were refused or late", i, len(s.keys))
		}
		s.mu.Unlock()
	}
}

// The votes on an attempt are counted, and looked at only if it fails: then they are its own,
// too, although questions are used again.
func TestVotesOfAFailureAreOnesOwn(t *testing.T) {
	_, clients := moody(t)
	c, err := redlock.New(clients, redlock.WithTimeout(10*time.Millisecond))
	must(t, err)
	check := func(err error, op, key string) {
		var failure *redlock.Error
		if !errors.As(err, &failure) || failure.Key != key {
			t.Errorf("%s of %s: %v", op, key, err)
			return
		}
		masters, yes := map[int]bool{}, 0
		for _, v := range failure.Votes {
			if v.Key != key || v.Token != failure.Votes[0].Token || v.Kind != failure.Votes[0].Kind {
				t.Errorf("%s of %s: a vote on %s %s %s", op, key, v.Kind, v.Key, v.Token)
			}
			if masters[v.Master] {
				t.Errorf("%s of %s: master %d votes twice", op, key, v.Master)
			}
			masters[v.Master] = true
			if v.Yes {
				yes++
			}
		}
		if len(failure.Votes) < 2 || yes > 1 {
			t.Errorf("%s of %s failed with %d votes, %d of them yes, of 3 masters: %v", op, key, len(failure.Votes), yes, err)
		}
	}
	var wg sync.WaitGroup
	var failures atomic.Int64
	for g := range 32 {
		wg.Go(func() {
			for n := range 100 {
				key := fmt.Sprintf("k%d", (g*7+n)%20)
				lease, err := c.TryLock(t.Context(), key)
				if err != nil {
					failures.Add(1)
					check(err, "lock", key)
					continue
				}
				if err := lease.Unlock(t.Context()); err != nil {
					check(err, "unlock", key)
				}
			}
		})
	}
	wg.Wait()
	if failures.Load() == 0 {
		t.Error("nobody failed, although 32 want 20 keys")
	}
	must(t, c.Close())
}
