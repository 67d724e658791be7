package workload

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"

	"lockpick/history"
	"lockpick/redlock"
)

var errUnknown = errors.New("no answer")

// outcomes are what a fake lock's calls can come to, by name.
var outcomes = map[string]error{
	"ok": nil, "unknown": errUnknown, "not-held": redlock.ErrNotHeld, "lost": redlock.ErrLost, "expired": redlock.ErrExpired,
	"limit": redlock.ErrExtensionLimit, "taken": redlock.ErrTaken,
}

// TestLife prints what one client does, from the directive "life" with
//
//	lock=fake|redlock masters=3 fencing ttl=1s   the lock, and what it is like
//	latency=10ms acquire=taken|never release=… extend=… lost=300ms
//	hold=400ms long extending=0.5 seed=1         what the client wants
//	for=1s                                       how long it works; else: one round
//	pause=(before-write,2s)                      stopped at a point, until a time
//	votes                                        print these, too
func TestLife(t *testing.T) {
	datadriven.RunTest(t, "testdata/life.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out string
		synctest.Test(t, func(t *testing.T) { out = life(t, d) })
		return out
	})
}

func life(t *testing.T, d *datadriven.TestData) string {
	duration := func(name string, otherwise time.Duration) time.Duration {
		if a, ok := d.Arg(name); ok {
			v, err := time.ParseDuration(a.Vals[0])
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		return otherwise
	}
	cfg := Config{Clients: 1, Keys: 1, TTL: duration("ttl", time.Second), AcquireTimeout: 5 * time.Second, Think: time.Millisecond, Seed: 1, Fencing: d.HasArg("fencing")}
	cfg.HoldMin = duration("hold", 100*time.Millisecond)
	cfg.HoldMax = cfg.HoldMin
	if d.HasArg("long") {
		cfg.LongHolds = 1
	}
	d.MaybeScanArgs(t, "extending", &cfg.Extend)
	d.MaybeScanArgs(t, "seed", &cfg.Seed)
	said := func(name string) error {
		var word string
		d.MaybeScanArgs(t, name, &word)
		return outcomes[word]
	}
	cfg.Lock = fake(func(l *fakeLock) {
		l.latency, l.lost = duration("latency", 0), duration("lost", 0)
		l.extended, l.released = said("extend"), said("release")
		var word string
		d.MaybeScanArgs(t, "acquire", &word)
		l.refuse, l.never = outcomes[word], word == "never"
	})
	env := share(nil)
	var name string
	if d.MaybeScanArgs(t, "lock", &name); name != "" && name != "fake" {
		cfg.Lock, _ = LockNamed(name)
		n := 3
		d.MaybeScanArgs(t, "masters", &n)
		m := newMasters(n)
		m.latency = duration("latency", 0)
		env = share(m)
	}

	s := on(t, cfg, env)
	if a, ok := d.Arg("pause"); ok {
		until, err := time.ParseDuration(a.Vals[1])
		if err != nil {
			t.Fatal(err)
		}
		resume := s.Pauses.Stop([]string{"c1"}, a.Vals[0])
		s.runtime.AfterFunc(until, func() { resume() })
	}
	working, end := s.runtime.WithCancelCause(t.Context())
	if d.HasArg("for") {
		working = s.ending(duration("for", 0))
	} else {
		s.seen = func(op history.Op) {
			if op.F == history.FRelease && op.Type != history.Invoke || op.F == history.FAcquire && op.Type == history.Fail {
				end(errTimeUp)
			}
		}
	}
	s.Run(working)
	end(nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	var b strings.Builder
	tokens := []string{} // random: printed as r1, r2, …
	for _, op := range s.ops {
		if op.F == "vote" && !d.HasArg("votes") {
			continue
		}
		if v := op.Value; v != nil && len(v.Token) == 40 {
			known := *v
			if !slices.Contains(tokens, v.Token) {
				tokens = append(tokens, v.Token)
			}
			known.Token = fmt.Sprintf("r%d", slices.Index(tokens, v.Token)+1)
			op.Value = &known
		}
		if strings.HasPrefix(op.Error, "redlock: ") {
			op.Error, _, _ = strings.Cut(op.Error, " (") // the votes are the lock's business
		}
		fmt.Fprintln(&b, line(op))
	}
	return b.String()
}
