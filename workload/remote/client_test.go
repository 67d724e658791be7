package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lockpick/cluster"
	"lockpick/history"
	"lockpick/internal/waittest"
	"lockpick/redlock"
	"lockpick/workload"
)

// user is a client process and what it told.
type user struct {
	*Client
	mu      sync.Mutex
	votes   []history.Op
	skewed  chan cluster.Clock // what it says that it goes by
	applied []string
	pass    func(point string) bool // may be nil, as may the others
	voted   func()
	applies func()
	refuse  error // what the resource says to each write
}

// use starts this test binary as a client process.
func use(t *testing.T, name string, addrs []string, ttl time.Duration) *user {
	t.Helper()
	t.Setenv(clientEnv, "yes")
	u := &user{skewed: make(chan cluster.Clock, 10)}
	c, err := Start(Command{Args: []string{os.Args[0]}, Lock: "redlock"}, u.at(name, addrs, ttl))
	if err != nil {
		t.Fatal(err)
	}
	u.Client = c
	t.Cleanup(func() {
		if err := c.Close(); err != nil || !c.Gone() {
			t.Errorf("Close: %v, gone %v", err, c.Gone())
		}
	})
	return u
}

func (u *user) at(name string, addrs []string, ttl time.Duration) workload.Env {
	return workload.Env{
		Client: name, Addrs: addrs, TTL: ttl, Timeout: time.Second, Fencing: true, AcquireTimeout: hang, Margin: ttl / 20,
		Record: func(op history.Op, _ time.Duration) {
			u.mu.Lock()
			defer u.mu.Unlock()
			u.votes = append(u.votes, op)
			if u.voted != nil {
				u.voted()
			}
		},
		Skewed: func(to cluster.Clock) { u.skewed <- to },
		Pass:   func(point, key string) bool { return u.pass == nil || u.pass(point) },
		Mark: func(key, token string) {
			u.mu.Lock()
			defer u.mu.Unlock()
			u.applied = append(u.applied, fmt.Sprintf("%s marked %s", key, token))
		},
		Apply: func(key, token string, fence, value int64) error {
			if u.applies != nil {
				u.applies()
			}
			u.mu.Lock()
			defer u.mu.Unlock()
			u.applied = append(u.applied, fmt.Sprintf("%s %s fence %d value %d", key, token, fence, value))
			return u.refuse
		},
	}
}

// hang bounds what takes milliseconds on a machine that is not busy.
const hang = waittest.Limit

func (u *user) mustAcquire(t *testing.T, key string) workload.Lease {
	t.Helper()
	l, err := u.Acquire(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func write(l workload.Lease, value int64) error { return l.(workload.Writer).Write(value, false) }

// over waits for the end of a lease's context and returns why.
func over(t *testing.T, l workload.Lease) error {
	t.Helper()
	waittest.Receive(t, "the lease's context ends", l.Context().Done())
	return context.Cause(l.Context())
}

// between fails the test if an instant is not between two others.
func between(t *testing.T, what string, earliest, at, latest time.Time) {
	t.Helper()
	if at.Before(earliest) || at.After(latest) {
		t.Errorf("%s: %v, want it between %v and %v", what, at, earliest, latest)
	}
}

// near fails the test if a lease ends at another time than in d, but for what may have
// passed since begun.
func near(t *testing.T, l workload.Lease, d time.Duration, begun time.Time) {
	t.Helper()
	drift := d/100 + 5*time.Millisecond // that the lock allows for: 2 ms by its clock, at half the rate or more
	now := time.Now()
	between(t, fmt.Sprintf("the end of a lease of %v", d), begun.Add(d-drift-now.Sub(begun)), l.Until(), now.Add(d))
}

// TestClient is a life without faults.
func TestClient(t *testing.T) {
	u := use(t, "c1", masters(t, 3), 20*time.Second)
	var points []string
	u.pass = func(point string) bool { points = append(points, point); return true }
	begun := time.Now()
	lease := u.mustAcquire(t, "k0")
	near(t, lease, 20*time.Second, begun)
	if lease.Fence() != 1 || len(lease.Token()) != 40 {
		t.Errorf("fence %d, token %q", lease.Fence(), lease.Token())
	}
	begun = time.Now()
	longer, err := lease.Extend(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	near(t, longer, 20*time.Second, begun)
	if longer.Token() != lease.Token() || longer.Context() != lease.Context() || !longer.Until().After(lease.Until()) {
		t.Error("an extended lease is another one, or no longer")
	}
	if err := write(longer, 7); err != nil {
		t.Error(err)
	}
	if want := fmt.Sprintf("k0 %s fence 1 value 7", lease.Token()); !slices.Equal(u.applied, []string{want}) {
		t.Errorf("applied %q, want %q", u.applied, want)
	}
	if want := []string{workload.AfterQuorum, workload.BeforeWrite}; !slices.Equal(points, want) {
		t.Errorf("points %v, want %v", points, want)
	}
	if lease.Context().Err() != nil {
		t.Error("it is over before it was released")
	}
	if err := longer.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if cause := over(t, lease); !strings.Contains(cause.Error(), redlock.ErrReleased.Error()) {
		t.Errorf("it is over because of %v", cause)
	}
	for what, err := range map[string]error{"release": longer.Release(t.Context()), "write": write(longer, 8)} {
		if workload.Outcome(err) != history.Fail {
			t.Errorf("%s of what was released: %v", what, err)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.applied) != 1 {
		t.Errorf("applied %q", u.applied)
	}
	sets := map[string]bool{}
	for _, v := range u.votes {
		if v.Type != history.OK || v.F != history.FVote || v.Key != "k0" || v.Value.Client != "c1" || v.Value.Token != lease.Token() {
			t.Errorf("a vote: %+v %+v", v, v.Value)
		}
		if v.Value.Command == history.CommandSet && v.Value.Yes {
			sets[v.Process] = true
		}
	}
	if !sets["m1"] && !sets["m2"] || len(sets) < 2 {
		t.Errorf("votes of %v", sets)
	}
}

// TestUnknownVote: a master that is not there has no vote.
func TestUnknownVote(t *testing.T) {
	u := use(t, "c1", []string{nowhere}, time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := u.Acquire(ctx, "k0"); workload.Outcome(err) != history.Fail {
		t.Errorf("got %v", err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.votes) == 0 || u.votes[0].Type != history.Info || u.votes[0].Process != "m1" || u.votes[0].Error == "" {
		t.Errorf("votes %+v", u.votes)
	}
}

// TestDeadline: the process tries for as long as the context says, be it shorter or
// longer than what is usual.
func TestDeadline(t *testing.T) {
	addrs := masters(t, 1)
	first, second := use(t, "c1", addrs, time.Hour), use(t, "c2", addrs, time.Second)
	held := first.mustAcquire(t, "k0")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	waittest.Returns("an acquire whose context ends", func() {
		if _, err := second.Acquire(ctx, "k0"); workload.Outcome(err) != history.Fail {
			t.Error(err)
		}
	})
	// Now the other way round: what is usual is over when the key becomes free.
	second.site.AcquireTimeout = time.Millisecond
	tried := func() int {
		second.mu.Lock()
		defer second.mu.Unlock()
		return len(second.votes)
	}
	before := tried()
	released := make(chan error, 1)
	go func() {
		waittest.BecomesTrue(func() bool { return tried() > before+1 })
		released <- held.Release(context.Background())
	}()
	ctx, cancel = context.WithTimeout(t.Context(), hang)
	defer cancel()
	if _, err := second.Acquire(ctx, "k0"); err != nil {
		t.Error(err)
	}
	if err := <-released; err != nil {
		t.Error(err)
	}
}

// TestExpired: a lease that has run out is over, and its holder does not write.
func TestExpired(t *testing.T) {
	u := use(t, "c1", masters(t, 1), 400*time.Millisecond)
	lease := u.mustAcquire(t, "k0")
	if cause := over(t, lease); !strings.Contains(cause.Error(), redlock.ErrExpired.Error()) {
		t.Errorf("it is over because of %v", cause)
	}
	if until := time.Until(lease.Until()); until > 0 {
		t.Errorf("it was over %v too early", until)
	}
	if err := write(lease, 1); workload.Outcome(err) != history.Fail || len(u.applied) > 0 {
		t.Errorf("a write after the end: %v, %q", err, u.applied)
	}
	if _, err := lease.Extend(t.Context()); workload.Outcome(err) != history.Fail {
		t.Errorf("an extension after the end: %v", err)
	}
}

// TestGone: a process that was killed takes part in nothing.
func TestGone(t *testing.T) {
	for _, where := range []string{"at a point", "while it waits", "between two requests"} {
		t.Run(where, func(t *testing.T) {
			addrs := masters(t, 1)
			u, other := use(t, "c1", addrs, 20*time.Second), use(t, "c2", addrs, 20*time.Second)
			lease := u.mustAcquire(t, "k0")
			other.mustAcquire(t, "k1")
			key := "k2"
			switch where {
			case "at a point":
				u.pass = func(string) bool { u.Kill(); return false }
			case "while it waits":
				key = "k1"
				u.mu.Lock()
				u.voted = u.Kill // the key is the other's: the master said no
				u.mu.Unlock()
			default:
				u.Kill()
			}
			if l, err := u.Acquire(t.Context(), key); !errors.Is(err, workload.ErrGone) {
				t.Errorf("acquired %v, %v", l, err)
			}
			if cause := over(t, lease); !errors.Is(cause, workload.ErrGone) {
				t.Errorf("its lease is over because of %v", cause)
			}
			_, clock := u.SetClock(cluster.Clock{Rate: 2})
			for what, err := range map[string]error{"write": write(lease, 1), "release": lease.Release(t.Context()), "clock": clock} {
				if !errors.Is(err, workload.ErrGone) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if len(u.applied) > 0 {
				t.Errorf("applied %q", u.applied)
			}
		})
	}
}

// TestKilledBeforeWrite: the write of who was killed just before it never comes.
func TestKilledBeforeWrite(t *testing.T) {
	u := use(t, "c1", masters(t, 1), 20*time.Second)
	lease := u.mustAcquire(t, "k0")
	u.pass = func(string) bool { u.Kill(); return false }
	if err := write(lease, 1); !errors.Is(err, workload.ErrGone) || len(u.applied) > 0 {
		t.Errorf("%v, applied %q", err, u.applied)
	}
}

// TestMark: asked to, a process puts its token into the resource once it has checked its
// lease, just before the write; and who writes hears what the resource says.
func TestMark(t *testing.T) {
	u := use(t, "c1", masters(t, 1), 20*time.Second)
	lease := u.mustAcquire(t, "k0")
	var points []string
	u.pass = func(point string) bool { points = append(points, point); return true }
	if err := lease.(workload.Writer).Write(7, true); err != nil {
		t.Error(err)
	}
	u.refuse = workload.ErrMarked
	if err := write(lease, 8); !errors.Is(err, workload.ErrMarked) || workload.Outcome(err) != history.Fail {
		t.Errorf("a write that the resource refuses: %v", err)
	}
	u.refuse = nil
	if err := write(lease, 9); err != nil {
		t.Errorf("and the next: %v", err)
	}
	want := []string{
		"k0 marked " + lease.Token(), fmt.Sprintf("k0 %s fence 1 value 7", lease.Token()),
		fmt.Sprintf("k0 %s fence 1 value 8", lease.Token()), fmt.Sprintf("k0 %s fence 1 value 9", lease.Token()),
	}
	if !slices.Equal(u.applied, want) {
		t.Errorf("the resource saw %q, want %q", u.applied, want)
	}
	if want := []string{workload.BeforeMark, workload.BeforeWrite, workload.BeforeWrite, workload.BeforeWrite}; !slices.Equal(points, want) {
		t.Errorf("points %v, want %v", points, want)
	}
}

// TestStopped: a process that is stopped between its check and its write stands still,
// its timers too, and sends the write when it goes on, however late.
func TestStopped(t *testing.T) {
	u := use(t, "c1", masters(t, 1), 500*time.Millisecond)
	lease := u.mustAcquire(t, "k0")
	u.pass = func(string) bool {
		u.Stop()
		awaitState(t, u.process.cmd.Process.Pid, "T")
		time.Sleep(time.Until(lease.Until()) + 100*time.Millisecond) // beyond the end of the lease
		if lease.Context().Err() != nil {
			t.Error("it told of the end of its lease while it was stopped")
		}
		if got := state(u.process.cmd.Process.Pid); got != "T" {
			t.Errorf("its state is %q", got)
		}
		u.Continue()
		return true
	}
	if err := write(lease, 1); err != nil || len(u.applied) != 1 {
		t.Errorf("%v, applied %q", err, u.applied)
	}
	if got := state(u.process.cmd.Process.Pid); got == "T" {
		t.Error("it is still stopped")
	}
	over(t, lease)
	u.pass = nil
	if err := write(lease, 2); workload.Outcome(err) != history.Fail || len(u.applied) != 1 {
		t.Errorf("%v, applied %q", err, u.applied)
	}
	// Stopped after its quorum until the validity is over, it was never granted the lease.
	var continued time.Time
	u.pass = func(string) bool {
		u.Stop()
		time.Sleep(600 * time.Millisecond) // longer than the validity
		continued = time.Now()
		u.Continue()
		u.pass = nil
		return true
	}
	next := u.mustAcquire(t, "k1")
	near(t, next, 500*time.Millisecond, continued)
}

// TestCloseStopped: a process that is stopped is ended in order.
func TestCloseStopped(t *testing.T) {
	u := use(t, "c1", []string{nowhere}, time.Second)
	u.Stop()
	awaitState(t, u.process.cmd.Process.Pid, "T")
	if err := u.Close(); err != nil || !u.Gone() {
		t.Errorf("%v, gone %v", err, u.Gone())
	}
	if s := u.process.cmd.ProcessState; s.Sys().(syscall.WaitStatus).Signaled() || s.ExitCode() != 0 {
		t.Errorf("it ended with %v", s)
	}
	if err := u.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
}
