package workload

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"lockpick/history"
	"lockpick/redlock"
)

// configs draws workloads on fake locks, whose calls take up to a client's margin.
func configs() *rapid.Generator[Config] {
	return rapid.Custom(func(t *rapid.T) Config {
		cfg := Config{
			Clients: rapid.IntRange(1, 4).Draw(t, "clients"), Keys: rapid.IntRange(1, 3).Draw(t, "keys"), TTL: time.Second,
			HoldMin: 100 * time.Millisecond, HoldMax: 800 * time.Millisecond, LongHolds: 0.3, Extend: rapid.Float64Range(0, 1).Draw(t, "extend"),
			Think: 50 * time.Millisecond, AcquireTimeout: time.Second, Seed: rapid.Uint64().Draw(t, "seed"), Fencing: rapid.Bool().Draw(t, "fencing"),
		}
		latency := time.Duration(rapid.IntRange(0, 49).Draw(t, "latency ms")) * time.Millisecond
		refuse := rapid.SampledFrom([]error{nil, nil, redlock.ErrTaken}).Draw(t, "refuse")
		extended := rapid.SampledFrom([]error{nil, nil, redlock.ErrLost, redlock.ErrExtensionLimit, errUnknown}).Draw(t, "extended")
		released := rapid.SampledFrom([]error{nil, redlock.ErrNotHeld, errUnknown}).Draw(t, "released")
		cfg.Lock = fake(func(l *fakeLock) { l.latency, l.refuse, l.extended, l.released = latency, refuse, extended, released })
		return cfg
	})
}

// TestWellBehaved: without pauses no client is inside, or writes, when its lease is
// over, and every record is where it belongs.
func TestWellBehaved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := configs().Draw(t, "config")
		rapid.SyncTest(t, func(t *rapid.T) {
			s := on(t, cfg, nil)
			s.Run(s.ending(2 * time.Second))
			for _, name := range Clients(cfg.Clients) {
				if err := wellBehaved(s.of(name), cfg.TTL/20); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
		})
	})
}

// wellBehaved follows one client through its life.
func wellBehaved(ops []history.Op, margin time.Duration) error {
	var until time.Duration // of the lease that is held
	var token, key, open string
	inside := false
	for _, op := range ops {
		wrong := func(why string) error { return fmt.Errorf("%s: %s", why, line(op)) }
		step := op.F + " " + string(op.Type)
		if open != "" && (op.F != open || op.Type == history.Invoke) {
			return wrong("another operation before the end of " + open)
		}
		open = ""
		if op.Type == history.Invoke {
			open = op.F
		}
		if step != "acquire invoke" && step != "acquire ok" && step != "acquire fail" && (op.Value == nil || op.Value.Token != token || op.Key != key) {
			return wrong("not about the lease that is held")
		}
		switch step {
		case "acquire invoke":
			if token != "" {
				return wrong("a second lease")
			}
		case "acquire fail", "extend invoke", "extend fail", "extend info", "write ok", "read ok":
		case "acquire ok":
			token, key, until = op.Value.Token, op.Key, op.Value.ValidUntil
		case "extend ok":
			until = op.Value.ValidUntil
		case "enter info":
			if inside || op.Time >= until-margin {
				return wrong(fmt.Sprintf("entered with a lease until %v", until))
			}
			inside = true
		case "write invoke":
			if !inside || op.Time >= until-margin {
				return wrong(fmt.Sprintf("written with a lease until %v", until))
			}
		case "leave info":
			if !inside || op.Time > until {
				return wrong(fmt.Sprintf("left with a lease until %v", until))
			}
			inside = false
		case "release invoke":
			if inside {
				return wrong("released inside")
			}
		case "release ok", "release fail", "release info":
			token = ""
		default:
			return wrong("unexpected")
		}
	}
	if open != "" || inside || token != "" {
		return fmt.Errorf("stopped with %q open, inside %v, the lease %q held", open, inside, token)
	}
	return nil
}

// lives are what each client does, without what tells who it is.
func lives(t rapid.TB, cfg Config, length time.Duration) (all [][]string) {
	s := on(t, cfg, nil)
	s.Run(s.ending(length))
	for _, name := range Clients(cfg.Clients) {
		var life []string
		for _, op := range s.of(name) {
			op.Process = ""
			if op.F == history.FRead || op.F == history.FWrite {
				op.Value = nil
			}
			life = append(life, line(op))
		}
		all = append(all, life)
	}
	return all
}

// TestSeed: who runs the same seed decides the same, whatever others do meanwhile.
func TestSeed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := configs().Draw(t, "config")
		twice := make([][][]string, 2)
		for i := range twice {
			rapid.SyncTest(t, func(t *rapid.T) { twice[i] = lives(t, cfg, 2*time.Second) })
		}
		for i, first := range twice[0] {
			if !slices.Equal(first, twice[1][i]) {
				t.Fatalf("c%d lived\n%q\nand then\n%q", i+1, first, twice[1][i])
			}
		}
	})
}

// TestSeedsDiffer: other seeds and other clients decide otherwise.
func TestSeedsDiffer(t *testing.T) {
	var all [][]string
	for seed := range uint64(3) {
		synctest.Test(t, func(t *testing.T) {
			cfg := two(fake(func(*fakeLock) {}))
			cfg.Clients, cfg.Extend, cfg.Seed = 3, 0.5, seed
			all = append(all, lives(t, cfg, 10*time.Second)...)
		})
	}
	for i := range all {
		for j := range i {
			if slices.Equal(all[i], all[j]) {
				t.Errorf("lives %d and %d are the same", j, i)
			}
		}
	}
}

func TestOutcome(t *testing.T) {
	for _, c := range []struct {
		err  error
		want history.Type
	}{
		{nil, history.OK},
		{redlock.ErrNotHeld, history.Fail},
		{redlock.ErrLost, history.Fail},
		{redlock.ErrExpired, history.Fail},
		{redlock.ErrExtensionLimit, history.Fail},
		{&redlock.Error{Op: "unlock", Err: errors.Join(redlock.ErrNotHeld, redlock.ErrExpired)}, history.Fail},
		{&redlock.Error{Op: "unlock", Err: redlock.ErrNoQuorum}, history.Info},
		{redlock.ErrClosed, history.Info},
		{errUnknown, history.Info},
	} {
		if got := Outcome(c.err); got != c.want {
			t.Errorf("%v: %s, want %s", c.err, got, c.want)
		}
	}
}
