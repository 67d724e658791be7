package locktest

import (
	"context"
	"crypto/rand"
	"errors"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/audit"
	"lockpick/internal/racetest"
	"lockpick/internal/sampletest"
)

// rule is how a lock on one master works, and what a planted bug changes of it.
type rule struct {
	lifetime func(ttl time.Duration) time.Duration // of its key
	granted  func(name string) string              // the key that it creates
	released func(name string) string              // the key that it deletes
	late     func(ctx context.Context) bool        // it gives up a grant that arrives late, and leaves the key
	deletes  func(ctx context.Context, m *redis.Client, key, token string) error
	prolongs func(ctx context.Context, m *redis.Client, key, token string, ttl time.Duration) error
	trusts   bool                                  // it takes a SET without a reply for a grant
	lasts    bool                                  // its leases count from when Acquire returns
	pause    func(ttl time.Duration) time.Duration // between two attempts
}

var errTaken = errors.New("the lease is over")

func same(name string) string { return name }

var deleteOwn = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)
var prolongOwn = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0`)

// shortPause is the pause that the locks state.
const shortPause = 20 * time.Millisecond

// right is the lock without a bug.
func right() rule {
	return rule{
		lifetime: func(ttl time.Duration) time.Duration { return ttl.Truncate(time.Millisecond) },
		granted:  same, released: same,
		late:  func(context.Context) bool { return false },
		pause: func(time.Duration) time.Duration { return shortPause },
		deletes: func(ctx context.Context, m *redis.Client, key, token string) error {
			return deleteOwn.Run(ctx, m, []string{key}, token).Err()
		},
		prolongs: func(ctx context.Context, m *redis.Client, key, token string, ttl time.Duration) error {
			if n, err := prolongOwn.Run(ctx, m, []string{key}, token, ttl.Milliseconds()).Int(); n == 0 {
				return errors.Join(errTaken, err)
			}
			return nil
		},
	}
}

// by returns a lock with these rules. It deletes what a command without a reply may have created.
func by(r rule) func(Env) (Lock, error) {
	return func(env Env) (Lock, error) {
		m := env.Clients()[0]
		return LockFunc(func(ctx context.Context, name string) (*Lease, error) {
			key := r.granted(name)
			for ctx.Err() == nil {
				began, token := time.Now(), rand.Text()
				undo := func() { _ = deleteOwn.Run(context.WithoutCancel(ctx), m, []string{key}, token).Err() }
				ok, err := m.Do(ctx, "set", key, token, "nx", "px", r.lifetime(env.TTL).Milliseconds()).Text()
				if ctx.Err() != nil && r.late(ctx) {
					return nil, ctx.Err()
				}
				if r.trusts && err != nil && !errors.Is(err, redis.Nil) {
					ok, err = "OK", nil
				}
				if r.lasts {
					began = time.Now()
				}
				if err == nil && ok == "OK" && ctx.Err() == nil && time.Since(began) < env.TTL-env.TTL/50 {
					return &Lease{
						Token: token, Until: began.Add(env.TTL - env.TTL/50),
						Release: func(ctx context.Context) error { return r.deletes(ctx, m, r.released(name), token) },
						Extend: func(ctx context.Context) (time.Time, error) {
							now := time.Now()
							err := r.prolongs(ctx, m, key, token, env.TTL)
							if until := began.Add(env.TTL - env.TTL/50); err == nil && time.Now().After(until) {
								err = errTaken // too late
							}
							if err == nil {
								began = now
							}
							return now.Add(env.TTL - env.TTL/50), err
						},
					}, nil
				}
				if !errors.Is(err, redis.Nil) {
					undo()
				}
				time.Sleep(r.pause(env.TTL))
			}
			return nil, ctx.Err()
		}), nil
	}
}

// TestBugsInWhatIsVaried: an audit convicts 21 locks that are wrong for odd TTLs, odd names of keys, many keys, two
// failures at once and callers that give up, each in its situation, and acquits the lock without the bug there.
func TestBugsInWhatIsVaried(t *testing.T) {
	racetest.Exclude(t, "it runs many schedules")
	twin := right()
	tried, number := sampletest.Of(t, 8, 2), 0
	var situations []string
	for _, c := range []struct {
		name, situation string
		change          func(*rule)
	}{
		{"whole seconds", "odd-ttl", func(r *rule) {
			r.lifetime = func(ttl time.Duration) time.Duration { return ttl.Truncate(time.Second) }
		}},
		{"an extension in whole seconds", "odd-ttl", func(r *rule) {
			r.prolongs = func(ctx context.Context, m *redis.Client, key, token string, ttl time.Duration) error {
				return twin.prolongs(ctx, m, key, token, ttl.Truncate(time.Second))
			}
		}},
		{"microseconds in 32 bits", "long-ttl", func(r *rule) {
			r.lifetime = func(ttl time.Duration) time.Duration {
				return time.Duration(int32(ttl.Microseconds())) * time.Microsecond
			}
		}},
		{"milliseconds in 32 bits", "long-ttl", func(r *rule) {
			r.lifetime = func(ttl time.Duration) time.Duration {
				return time.Duration(uint32(ttl.Milliseconds())) * time.Millisecond
			}
		}},
		{"a release in small letters", "odd-names", func(r *rule) { r.released = strings.ToLower }},
		{"a release that cuts names", "odd-names", func(r *rule) {
			r.released = func(name string) string { return name[:min(len(name), 64)] }
		}},
		{"a release by pattern", "odd-names", func(r *rule) {
			r.deletes = func(ctx context.Context, m *redis.Client, key, token string) error {
				all, err := m.Keys(ctx, key).Result()
				for _, k := range all {
					err = errors.Join(err, m.Del(ctx, k).Err())
				}
				return err
			}
		}},
		{"a release of the path", "odd-names", func(r *rule) { r.released = path.Base }},
		{"a key inside a script", "odd-names", func(r *rule) {
			r.deletes = func(ctx context.Context, m *redis.Client, key, token string) error {
				return m.Eval(ctx, `if redis.call("get", '`+key+`') == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`, []string{key}, token).Err()
			}
		}},
		{"half seconds", "odd-ttl", func(r *rule) {
			r.lifetime = func(ttl time.Duration) time.Duration { return ttl.Truncate(500 * time.Millisecond) }
		}},
		{"milliseconds in 31 bits", "long-ttl", func(r *rule) {
			r.lifetime = func(ttl time.Duration) time.Duration {
				return time.Duration(ttl.Milliseconds()&(1<<31-1)) * time.Millisecond
			}
		}},
		{"hours sent as milliseconds", "long-ttl", func(r *rule) {
			r.lifetime = func(ttl time.Duration) time.Duration { return max(time.Second, ttl/time.Hour*time.Millisecond) }
		}},
		{"seconds in 8 bits", "long-ttl", func(r *rule) {
			r.lifetime = func(ttl time.Duration) time.Duration { return time.Duration(uint8(ttl.Seconds())) * time.Second }
		}},
		{"a grant in small letters", "odd-names", func(r *rule) { r.granted = strings.ToLower }},
		{"a release up to a space", "odd-names", func(r *rule) {
			r.released = func(name string) string { before, _, _ := strings.Cut(name, " "); return before }
		}},
		{"a release of what is in braces", "odd-names", func(r *rule) {
			r.released = func(name string) string {
				if _, tag, ok := strings.Cut(name, "{"); ok {
					name, _, _ = strings.Cut(tag, "}")
				}
				return name
			}
		}},
		{"a release by prefix", "many-keys", func(r *rule) {
			r.deletes = func(ctx context.Context, m *redis.Client, key, token string) error {
				all, err := m.Keys(ctx, key+"*").Result()
				for _, k := range all {
					err = errors.Join(err, m.Del(ctx, k).Err())
				}
				return err
			}
		}},
		{"an unanswered SET is a grant", "two-causes", func(r *rule) { r.trusts = true }},
		{"a lease counts from its reply", "two-causes", func(r *rule) { r.lasts = true }},
		{"a bare delete", "two-causes", func(r *rule) {
			r.deletes = func(ctx context.Context, m *redis.Client, key, token string) error { return m.Del(ctx, key).Err() }
		}},
		{"a late grant is left", "deadlines", func(r *rule) { r.late = func(context.Context) bool { return true } }},
		{"a waiter that sleeps for a TTL", "long-waits", func(r *rule) { r.pause = func(ttl time.Duration) time.Duration { return ttl } }},
	} {
		if number++; !tried(number) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			r := right()
			c.change(&r)
			var card *audit.Result
			for seed := range uint64(5) { // runs in memory do not repeat exactly: who comes first is the Go scheduler's choice
				card, _ = auditIn(t, t.TempDir(), by(r), []Option{Masters(1), Schedules(2), Seed(1 + seed), Retry(shortPause), func(o *config) { o.only = []string{c.situation} }})
				if card.Count()[audit.Broken] > 0 {
					break
				}
			}
			if card.Count()[audit.Broken] == 0 {
				h := &heard{TB: t}
				reportCard(h, card, nil)
				t.Errorf("it is not convicted in %s: %s%s", c.situation, h.logged, h.errors)
			}
		})
		situations = append(situations, c.situation)
	}
	card, _ := auditIn(t, t.TempDir(), by(twin), []Option{Masters(1), Schedules(2), Retry(shortPause), func(o *config) { o.only = situations }})
	slices.Sort(situations)
	if n := card.Count(); n[audit.Broken] > 0 || n[audit.Safe] < 2*len(slices.Compact(situations)) {
		h := &heard{TB: t}
		reportCard(h, card, nil)
		t.Errorf("the lock without a bug: %v\n%s\n%s", n, strings.Join(h.errors, "\n"), h.logged)
	}
}
