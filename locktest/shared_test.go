package locktest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/history"
)

// TestDocumentedLocksAreTheTested: the locks of docs/locktest.md that are not mutexes are those of TestSemaphore and TestMultiLock.
func TestDocumentedLocksAreTheTested(t *testing.T) {
	page, err := os.ReadFile("../docs/locktest.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"semaphore_test.go", "multi_test.go"} {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, documented, ok := bytes.Cut(code, []byte("\n)\n\n")); !ok || !bytes.Contains(page, documented) {
			t.Errorf("docs/locktest.md does not have the code of %s after its imports", file)
		}
	}
}

// room is a lock in memory that never fails: it admits a client if who is in it allows that.
type room struct {
	mu     sync.Mutex
	inside map[string]int // by client: what it has
	admits func(inside map[string]int, client string, part int) bool
	change func(inside map[string]int, client string, part int) bool // of the mode; nil: as admits
}

type visitor struct {
	room   *room
	client string
	master *redis.Client
}

func (v visitor) take(ctx context.Context, part int) (*Lease, error) {
	for ctx.Err() == nil {
		_ = v.master.Ping(ctx) // a lock that asks no master is refused
		v.room.mu.Lock()
		ok := v.room.admits(v.room.inside, v.client, part)
		if ok {
			v.room.inside[v.client] += part
		}
		v.room.mu.Unlock()
		if ok {
			until := time.Now().Add(time.Hour)
			change := func(to int) func(context.Context) (time.Time, error) {
				return func(context.Context) (time.Time, error) {
					v.room.mu.Lock()
					defer v.room.mu.Unlock()
					if !v.room.change(v.room.inside, v.client, to) {
						return time.Time{}, ErrOthersRead
					}
					v.room.inside[v.client], part = v.room.inside[v.client]+to-part, to
					return until, nil
				}
			}
			l := &Lease{Until: until, Release: func(context.Context) error {
				v.room.mu.Lock()
				defer v.room.mu.Unlock()
				v.room.inside[v.client] -= part
				return nil
			}}
			if v.room.change != nil {
				l.Downgrade, l.Upgrade = change(1), change(100)
			}
			return l, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, ctx.Err()
}

func (v visitor) Acquire(ctx context.Context, _ string) (*Lease, error)     { return v.take(ctx, 100) }
func (v visitor) AcquireRead(ctx context.Context, _ string) (*Lease, error) { return v.take(ctx, 1) }
func (v visitor) AcquirePermits(ctx context.Context, _ string, n int) (*Lease, error) {
	return v.take(ctx, n)
}

// others returns what all clients but one have.
func others(inside map[string]int, client string) (sum int) {
	for c, n := range inside {
		if c != client {
			sum += n
		}
	}
	return sum
}

// rooms returns a constructor of locks; those of one schedule share a room.
func rooms(admits func(map[string]int, string, int) bool) func(Env) (Lock, error) {
	return roomsOf(admits, nil)
}

func roomsOf(admits, change func(map[string]int, string, int) bool) func(Env) (Lock, error) {
	var mu sync.Mutex
	var latest *room
	return func(e Env) (Lock, error) {
		mu.Lock()
		defer mu.Unlock()
		if e.Client == "c1" || latest == nil {
			latest = &room{inside: map[string]int{}, admits: admits, change: change}
		}
		return visitor{latest, e.Client, e.Clients()[0]}, nil
	}
}

// TestLocksOfEachKind: a correct lock of each kind is acquitted; one that admits whom it must not is convicted, in the words
// of its kind.
func TestLocksOfEachKind(t *testing.T) {
	for _, x := range []struct {
		name       string
		option     Option
		right      func(map[string]int, string, int) bool
		wrong      func(map[string]int, string, int) bool
		conviction string
	}{
		{"read-write", ReadWrite(0.7),
			func(in map[string]int, c string, part int) bool {
				return others(in, c) == 0 || part == 1 && others(in, c) < 100
			},
			func(in map[string]int, c string, part int) bool { return others(in, c) < 100 }, "for writing"},
		{"semaphore", Permits(3),
			func(in map[string]int, c string, part int) bool { return others(in, c)+part <= 3 },
			func(in map[string]int, c string, part int) bool { return others(in, c)+part <= 4 }, "permits"},
		{"re-entrant", Reentrant(),
			func(in map[string]int, c string, part int) bool { return others(in, c) == 0 },
			func(in map[string]int, c string, part int) bool {
				return others(in, c) == 0 || in[c] == 0 && others(in, c) == 200
			}, "could both rely"},
	} {
		t.Run(x.name, func(t *testing.T) {
			options := []Option{x.option, Faults(), Masters(1)}
			if r := found(t, rooms(x.right), options...); r != nil {
				v, _ := r.FirstViolation(nil)
				t.Errorf("a correct lock is convicted: %s", v.Summary)
			}
			r := found(t, rooms(x.wrong), options...)
			if r == nil {
				t.Fatal("a wrong lock is not convicted")
			}
			if v, _ := r.FirstViolation(nil); !strings.Contains(v.Summary+strings.Join(v.Reason, " "), x.conviction) {
				t.Errorf("%s", v.Summary)
			}
		})
	}
}

// TestChangesOfTheMode: a lock whose upgrade looks for other readers is acquitted, one whose upgrade does not is convicted.
func TestChangesOfTheMode(t *testing.T) {
	admits := func(in map[string]int, c string, part int) bool {
		return others(in, c) == 0 || part == 1 && others(in, c) < 100
	}
	options := []Option{ReadWrite(0.7), Faults(), Masters(1)}
	if r := found(t, roomsOf(admits, admits), options...); r != nil {
		v, _ := r.FirstViolation(nil)
		t.Errorf("a correct lock is convicted: %s", v.Summary)
	}
	r := found(t, roomsOf(admits, func(map[string]int, string, int) bool { return true }), options...)
	if r == nil {
		t.Fatal("a wrong lock is not convicted")
	}
	if v, _ := r.FirstViolation(nil); !strings.Contains(v.Summary+strings.Join(v.Reason, " "), "upgrade") {
		t.Errorf("%s", v.Summary)
	}
}

// TestKindNeedsItsMethods: a lock that cannot be asked for a part is refused, and not used as something else.
func TestKindNeedsItsMethods(t *testing.T) {
	never := LockFunc(func(context.Context, string) (*Lease, error) { return nil, errors.New("never") })
	for kind, want := range map[history.LockKind]string{
		history.ReadWrite: "AcquireRead", history.Semaphore: "AcquirePermits", history.Multi: "AcquireAll", history.Reentrant: "", history.Mutex: "", "": "",
	} {
		if err := fits(never, kind); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
