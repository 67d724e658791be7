package goredis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"lockpick/locktest"
)

// TestLateGrantIsReleased: a lease that is over when the reply arrives is released, and the lock is tried again.
func TestLateGrantIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ttl = time.Second
		tries, released := 0, 0
		lease, err := Retry(t.Context(), ttl, func(until time.Time) (*locktest.Lease, error) {
			if tries++; tries == 1 {
				time.Sleep(ttl)
			}
			return &locktest.Lease{Until: until, Release: func(context.Context) error { released++; return nil }}, nil
		})
		if err != nil || tries != 2 || released != 1 || !lease.Until.After(time.Now()) {
			t.Errorf("%d tries, %d releases, %+v, %v", tries, released, lease, err)
		}
	})
}

// audited is a lock whose audit finds something.
type audited struct {
	make    func(locktest.Env) (locktest.Lock, error)
	options []locktest.Option
	found   map[string]string // by level and property: why that is true of the library
}

var locks = map[string]audited{
	"redsync": {Redsync, nil, map[string]string{
		"AV orphan-keys": "a caller that gives up during an acquire ends the context of the releases, too: none is sent, and keys stay for their TTL",
	}},
	"redislock": {Redislock, []locktest.Option{locktest.Masters(1)}, map[string]string{
		"AV orphan-keys": "an Obtain whose command got no answer returns no lock that could be released: its key stays for its TTL",
	}},
}

// TestAudited audits one lock: TestEachAudit runs it in a program of its own.
func TestAudited(t *testing.T) {
	a, ok := locks[os.Getenv("LOCK")]
	if !ok {
		t.Skip("run by TestEachAudit, with the name of a lock in LOCK")
	}
	seed, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	locktest.Audit(t, a.make, append(a.options, locktest.Seed(seed))...)
}

var broken = regexp.MustCompile(`(?m)^ +\S+: (\S+ \S+) is broken\.`)

// TestEachAudit: an audit convicts the locks of other libraries of what is true of them, and of nothing else.
func TestEachAudit(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, lock := range locks {
		for _, seed := range []uint64{2, rand.Uint64N(1e6)} {
			t.Run(fmt.Sprint(name, "/", seed), func(t *testing.T) {
				dir := t.TempDir()
				cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestAudited$", "-test.v", "-test.timeout=30m")
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "LOCK="+name, "SEED="+strconv.FormatUint(seed, 10), "TMPDIR="+dir)
				out, err := cmd.CombinedOutput()
				found := broken.FindAllSubmatch(out, -1)
				if err != nil && len(found) == 0 {
					t.Fatalf("%v\n%s", err, out)
				}
				for _, f := range found {
					if why := lock.found[string(f[1])]; why == "" {
						t.Errorf("%s: found %s\n%s", name, f[1], out)
					} else {
						t.Logf("%s: %s", f[1], why)
					}
				}
			})
		}
	}
}
