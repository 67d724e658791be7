package workload

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"lockpick/history"
)

// TestProtocols: what a client does in a section, and at which points it can be stopped
// between, in the protocol's order. A client that is a process does the same.
func TestProtocols(t *testing.T) {
	for _, c := range []struct {
		protocol       Protocol
		points, update string
	}{
		{Register, "after-quorum before-enter before-write", "write invoke, apply ok, write ok"},
		{MarkFirst, "after-quorum before-enter before-mark before-read before-write", "mark ok, read ok, write invoke, apply ok, write ok"},
		{MarkLast, "after-quorum before-enter before-read before-mark before-write", "read ok, mark ok, write invoke, apply ok, write ok"},
	} {
		for _, process := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, process %v", c.protocol, process), func(t *testing.T) {
				if got := strings.Join(c.protocol.Points(), " "); got != c.points {
					t.Errorf("the points are %s", got)
				}
				synctest.Test(t, func(t *testing.T) {
					var made []*fakeProcess
					lock := fake(func(*fakeLock) {})
					if process {
						lock = processes(&made, func(*fakeProcess) {})
					}
					cfg := brief(lock)
					cfg.Protocol = c.protocol
					s := on(t, cfg, nil)
					s.Run(s.ending(5 * time.Second))
					did := strings.Join(sectionOf(s.ops), ", ")
					want := c.update
					if process && c.protocol == MarkLast { // it marks within its write
						want = "read ok, write invoke, mark ok, apply ok, write ok"
					}
					if c.protocol == Register {
						did = strings.TrimPrefix(did, "read ok, ")
					}
					if rest := strings.ReplaceAll(did, want, ""); did == "" || strings.Trim(rest, ", ") != "" {
						t.Errorf("it did %s, want only %s", did, want)
					}
				})
			})
		}
	}
}

// sectionOf is what happened in the first critical section.
func sectionOf(ops []history.Op) []string {
	from := slices.IndexFunc(ops, func(op history.Op) bool { return op.F == history.FEnter })
	to := slices.IndexFunc(ops, func(op history.Op) bool { return op.F == history.FLeave })
	var steps []string
	for _, op := range ops[from+1 : to] {
		steps = append(steps, op.F+" "+string(op.Type))
	}
	return steps
}

// TestRefused: a client whose token another has replaced is refused, leaves, and changes
// nothing.
func TestRefused(t *testing.T) {
	for _, process := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var made []*fakeProcess
			lock := fake(func(*fakeLock) {})
			if process {
				lock = processes(&made, func(*fakeProcess) {})
			}
			cfg := brief(lock)
			cfg.Protocol = MarkFirst
			s := on(t, cfg, nil)
			marked := false
			s.seen = func(op history.Op) {
				if op.F == history.FRead && !marked {
					marked = true // the recorder calls while the resource is free
					s.runtime.Go(func() { s.resource.Mark("k0", "another") })
				}
			}
			s.Run(s.ending(5 * time.Second))
			did := sectionOf(s.ops)
			if want := []string{"mark ok", "read ok", "mark ok", "write invoke", "apply fail", "write fail"}; !slices.Equal(did, want) {
				t.Errorf("process %v: it did %q", process, did)
			}
			i := slices.IndexFunc(s.ops, func(op history.Op) bool { return op.F == history.FWrite && op.Type == history.Fail })
			if i < 0 || s.ops[i].Error != ErrMarked.Error() {
				t.Fatalf("process %v: no write says %q", process, ErrMarked)
			}
			reads := 0
			for _, op := range s.ops[i:] {
				if op.F == history.FRead {
					if reads++; reads == 1 && op.Value.Value != 0 {
						t.Errorf("process %v: the next one read %d", process, op.Value.Value)
					}
				}
			}
			if reads == 0 {
				t.Errorf("process %v: nobody read after that", process)
			}
		})
	}
}

// TestMarkFirstLosesNothing: where the token is written before the value is read, updates
// are atomic without any exclusion: this lock grants everybody everything, and clients
// stop anywhere. Where it is written after, some are lost.
func TestMarkFirstLosesNothing(t *testing.T) {
	lost := map[Protocol]int{}
	rapid.Check(t, func(t *rapid.T) {
		tokens := 0
		cfg := two(fake(func(l *fakeLock) {
			tokens += 1_000_000 // each client's are its own
			l.made, l.latency = tokens, time.Millisecond
		}))
		cfg.Protocol = rapid.SampledFrom([]Protocol{MarkFirst, MarkLast}).Draw(t, "protocol")
		cfg.Clients, cfg.Keys, cfg.Seed = rapid.IntRange(2, 4).Draw(t, "clients"), 1, rapid.Uint64().Draw(t, "seed")
		points := rapid.SliceOfN(rapid.SampledFrom(cfg.Protocol.Points()), 0, 4).Draw(t, "stops")
		lengths := rapid.SliceOfN(rapid.IntRange(1, 800), len(points), len(points)).Draw(t, "for ms")
		var ops []history.Op
		rapid.SyncTest(t, func(t *rapid.T) {
			s := on(t, cfg, nil)
			for i, point := range points {
				s.runtime.AfterFunc(time.Duration(i)*200*time.Millisecond, func() {
					resume := s.Pauses.Stop(nil, point)
					s.runtime.AfterFunc(time.Duration(lengths[i])*time.Millisecond, func() { resume() })
				})
			}
			s.Run(s.ending(2 * time.Second))
			ops = s.ops
		})
		n := lostUpdates(ops)
		if lost[cfg.Protocol] += n; n > 0 && cfg.Protocol == MarkFirst {
			t.Fatalf("%d updates were lost", n)
		}
	})
	if lost[MarkLast] == 0 {
		t.Error("no update was lost where the token is written after the value was read")
	}
}

// lostUpdates counts the updates of one key that were computed from a value from which
// another was computed, too.
func lostUpdates(ops []history.Op) (lost int) {
	read, from := map[string]int64{}, map[int64]bool{}
	for _, op := range ops {
		switch {
		case op.F == history.FRead:
			read[op.Value.Token] = op.Value.Value
		case op.F == history.FApply && op.Type == history.OK:
			if base := read[op.Value.Token]; from[base] {
				lost++
			} else {
				from[base] = true
			}
		}
	}
	return lost
}

// TestCompareAndSet: a write is applied if the last mark is the writer's, whatever its
// fencing token, and its fenced copy looks at nothing but that.
func TestCompareAndSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := NewResource(true, func(op history.Op) history.Op { return op })
		marks, values, token := map[string]string{}, map[string]int64{}, rapid.SampledFrom([]string{"t1", "t2", "t3"})
		for i := range rapid.IntRange(1, 30).Draw(t, "steps") {
			key, by := rapid.SampledFrom([]string{"k0", "k1"}).Draw(t, "key"), token.Draw(t, "token")
			if rapid.Bool().Draw(t, "mark") {
				r.Mark(key, by)
				marks[key] = by
				continue
			}
			err := r.Write(key, by, int64(rapid.IntRange(0, 3).Draw(t, "fence")), int64(i+1))
			if mine := marks[key] == by; mine != (err == nil) || !mine && !errors.Is(err, ErrMarked) {
				t.Fatalf("a write of %s to %s, which carries %q: %v", by, key, marks[key], err)
			}
			if err == nil {
				values[key] = int64(i + 1)
			}
			if got := r.Read(key); got != values[key] {
				t.Fatalf("%s is %d, want %d", key, got, values[key])
			}
		}
	})
}
