package locktest

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/internal/racetest"
	"lockpick/search"
	"lockpick/workload"
)

// turns grants a key to the tickets in their order. A ticket of 0 asks for one, or, if it barges, for the key itself.
var turns = redis.NewScript(`local ticket = tonumber(ARGV[3])
local free = redis.call("exists", KEYS[1]) == 0
if ticket == 0 and not (free and ARGV[4] == "1") then ticket = redis.call("incr", KEYS[1] .. ":last") end
local served = tonumber(redis.call("get", KEYS[1] .. ":served") or "0")
if not free or ticket > served + 1 then return ticket end
redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2])
if ticket > 0 then redis.call("incr", KEYS[1] .. ":served") end
return 0`)

// ticketed returns a lock that serves waiters in order. If barges is set, it tries once without a ticket.
func ticketed(barges bool) func(Env) (Lock, error) {
	return func(env Env) (Lock, error) {
		m := env.Clients()[0]
		return LockFunc(func(ctx context.Context, key string) (*Lease, error) {
			ticket := 0
			for {
				began, token := time.Now(), rand.Text()
				n, err := turns.Run(context.WithoutCancel(ctx), m, []string{key}, token, env.TTL.Milliseconds(), ticket, barges).Int()
				if err != nil {
					return nil, err
				}
				release := func(ctx context.Context) error { return deleteOwn.Run(ctx, m, []string{key}, token).Err() }
				switch ticket = n; {
				case n == 0 && ctx.Err() == nil:
					return &Lease{Token: token, Until: began.Add(env.TTL - env.TTL/50), Release: release}, nil
				case n == 0: // a caller that gave up has waited for its turn, and passes it on
					_ = release(context.WithoutCancel(ctx))
					return nil, ctx.Err()
				}
				time.Sleep(shortPause)
			}
		}), nil
	}
}

// TestFairnessOfLocksThatClaimIt: with Fair, a lock that serves waiters in order is acquitted on evidence, and one that lets
// newcomers try first is convicted. Without it the order of waiters is not tested.
func TestFairnessOfLocksThatClaimIt(t *testing.T) {
	racetest.Exclude(t, "it runs many schedules")
	explore := func(t *testing.T, barges bool, options ...Option) *search.ExploreResult {
		options = append(options, Masters(1), Clients(5), Faults(), Properties("fairness"))
		c := prepare(t, "Explore", nil, ticketed(barges), options)
		found, err := search.Explore(t.Context(), search.ExploreOptions{Base: c.base, Schedules: 30, Properties: c.base.Properties, Run: (&runner{t: t}).run})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	t.Run("in order", func(t *testing.T) {
		if found := explore(t, false, Fair(0)); len(found.Found) > 0 || found.Verdict() != checker.Holds {
			t.Errorf("a lock that serves waiters in order: %s", why(found))
		}
	})
	t.Run("newcomers first", func(t *testing.T) {
		found := explore(t, true, Fair(0))
		if len(found.Found) == 0 {
			t.Fatalf("a lock that lets newcomers try first is not convicted of it: %s", why(found))
		}
		if story := story(&found.Found[0].Violation, found.Found[0].Scenario); !strings.Contains(story, "came later than") {
			t.Errorf("the story does not say who came later:\n%s", story)
		}
	})
	t.Run("no claim", func(t *testing.T) {
		if found := explore(t, true); len(found.Found) > 0 || !strings.Contains(why(found), "the lock does not claim it") {
			t.Errorf("no order is claimed: %s", why(found))
		}
	})
}

// TestATestSaysOneThingOfItsLock: options that differ from those of an earlier call in the same test are an error, as they would
// have no effect.
func TestATestSaysOneThingOfItsLock(t *testing.T) {
	for i, claims := range []claims{{}, {}, {fair: true}} {
		c := &config{base: scenario.Defaults(), claims: claims}
		c.base.Lock = "test:" + t.Name()
		if err := register(c, ticketed(false)); (err != nil) != (i == 2) {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

// TestStatedTimesMakeSense: a time for dead waiters that is negative would shorten the bounds of liveness, and no run waits for more
// than an hour.
func TestStatedTimesMakeSense(t *testing.T) {
	for i, dead := range []time.Duration{-time.Second, workload.MaxStated + 1} {
		c := &config{base: scenario.Defaults(), claims: claims{fair: true, deadWaiter: dead}}
		c.base.Lock = fmt.Sprintf("test:%s:%d", t.Name(), i)
		if err := register(c, ticketed(false)); err == nil || !strings.Contains(err.Error(), "waits "+dead.String()) {
			t.Errorf("it waits %v for a dead waiter: error %v", dead, err)
		}
	}
}
