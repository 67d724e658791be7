package workload_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/sim"
	"lockpick/cluster/sim/world"
	"lockpick/redlock"
	"lockpick/redlock/protocol"
	"lockpick/workload"
)

const (
	ms  = time.Millisecond
	ttl = 2 * time.Second
	key = "k0"
)

// scene is a lock under test on simulated masters, and the hands that do things to them.
type scene struct {
	t       *testing.T
	kind    workload.Implementation
	runtime *world.Client
	cluster *sim.Cluster
	timeout time.Duration
	pass    func(client, point string) bool // whether it is alive beyond; nil: it is
	opened  []workload.Lock
}

// lock is the lock of a client.
func (s *scene) lock(client string) workload.Lock { return s.lockOf(s.kind.Name, client) }

func (s *scene) lockOf(name, client string) workload.Lock {
	kind, ok := workload.LockNamed(name)
	if !ok {
		s.t.Fatalf("there is no lock %s", name)
	}
	l, err := kind.New(workload.Env{
		Client: client, Masters: s.cluster.ClientMasters(client), Runtime: workload.NewClock(s.runtime), TTL: ttl, Timeout: s.timeout,
		Pass:  func(point, _ string) bool { return s.pass == nil || s.pass(client, point) },
		Hooks: redlock.Hooks{Vote: func(protocol.Vote) {}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.opened = append(s.opened, l)
	return l
}

// acquire waits for the lock for so long; the lease is nil if it was not granted.
func (s *scene) acquire(l workload.Lock, within time.Duration) (workload.Lease, error) {
	ctx, end := s.runtime.WithCancelCause(context.Background())
	s.runtime.AfterFunc(within, func() { end(errors.New("given up")) })
	return l.Acquire(ctx, key)
}

// connected is the lock of a client that has connections to all masters.
func (s *scene) connected(client string) workload.Lock {
	l := s.lock(client)
	lease, err := s.acquire(l, time.Second)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = lease.Release(context.Background())
	s.sleep(100 * ms)
	return l
}

// holder has another client hold the lock.
func (s *scene) holder(client string) workload.Lease {
	lease, err := s.acquire(s.lockOf("textbook", client), time.Second)
	if err != nil {
		s.t.Fatalf("%s: %v", client, err)
	}
	return lease
}

func (s *scene) sleep(d time.Duration) { _ = s.runtime.Sleep(context.Background(), d) }

// spoil sets the links between a client and some masters (1, 2, …; none: all).
func (s *scene) spoil(client string, f cluster.LinkFault, masters ...int) {
	for i := range s.cluster.Masters() {
		if len(masters) > 0 && !contains(masters, i+1) {
			continue
		}
		link, err := s.cluster.Link(client, i)
		if err != nil {
			s.t.Fatal(err)
		}
		link.Set(f)
	}
}

func contains(all []int, x int) bool {
	for _, y := range all {
		if x == y {
			return true
		}
	}
	return false
}

// do does something to a master.
func (s *scene) do(master int, what func(cluster.Master, context.Context) error) {
	if err := what(s.cluster.Masters()[master-1], context.Background()); err != nil {
		s.t.Fatal(err)
	}
}

// stored is how many masters have the key, or have it with a token if that is not "".
func (s *scene) stored(token string) int {
	n := 0
	for _, m := range s.cluster.Masters() {
		if look, err := m.Inspect(context.Background(), []string{key}); err == nil {
			if is, ok := look.Keys[key]; ok && (token == "" || is == token) {
				n++
			}
		}
	}
	return n
}

// orphans says whether masters still have a key that nobody wants any more.
func (s *scene) orphans() error {
	s.sleep(300 * ms)
	if n := s.stored(""); n > 0 {
		return fmt.Errorf("%d masters still have the key", n)
	}
	return nil
}

// misdeeds are what locks that are wrong on purpose do, and their twins do not. wrong is an
// error that tells of it.
var misdeeds = []struct {
	lock    string
	does    string
	network sim.Options // of the links; zero: a good local one
	wrong   func(s *scene) error
}{
	{"redlock-no-validity", "grants a lease that is over already", sim.Options{}, func(s *scene) error {
		s.timeout = 2 * ttl
		s.spoil("c1", cluster.LinkFault{Delay: 600 * ms}) // two round trips: a connection, a command
		lease, err := s.acquire(s.lock("c1"), 2*ttl)
		if err == nil && !lease.Until().After(s.runtime.Now()) {
			return fmt.Errorf("its validity ended %v ago", s.runtime.Now().Sub(lease.Until()))
		}
		return nil
	}},
	{"redlock-one-start", "never gets a lock for which it had to wait longer than a TTL", sim.Options{}, func(s *scene) error {
		s.spoil("c1", cluster.LinkFault{Refuse: true})
		s.runtime.AfterFunc(2*ttl, func() { s.spoil("c1", cluster.LinkFault{}) })
		_, err := s.acquire(s.lock("c1"), 5*ttl)
		return err
	}},
	{"redlock-release-believed", "leaves the key where the reply to its SET was lost", sim.Options{}, func(s *scene) error {
		l := s.connected("c1")
		s.spoil("c1", cluster.LinkFault{Replies: cluster.Drop}, 4, 5)
		lease, err := s.acquire(l, time.Second)
		if err != nil {
			s.t.Fatal(err)
		}
		s.sleep(100 * ms)
		s.spoil("c1", cluster.LinkFault{})
		_ = lease.Release(context.Background())
		return s.orphans()
	}},
	{"redlock-no-rollback", "leaves the keys of an attempt that failed", sim.Options{}, func(s *scene) error {
		s.spoil("c2", cluster.LinkFault{Refuse: true}, 4, 5)
		held := s.holder("c2")
		if _, err := s.acquire(s.lock("c1"), 300*ms); err == nil {
			s.t.Fatal("it was granted")
		}
		_ = held.Release(context.Background())
		return s.orphans()
	}},
	{"redlock-minority-error", "is never granted while one master is down", sim.Options{}, func(s *scene) error {
		s.do(5, cluster.Master.Kill)
		_, err := s.acquire(s.lock("c1"), 2*ttl)
		return err
	}},
	{"redlock-fixed-delay", "lets three contenders in step split the votes again and again", sim.Options{}, func(s *scene) error {
		s.timeout = 300 * ms
		granted := 0
		for i, near := range [][]int{{1, 2}, {3, 4}, {5}} {
			client := fmt.Sprintf("c%d", i+1)
			s.spoil(client, cluster.LinkFault{Delay: 40 * ms})
			s.spoil(client, cluster.LinkFault{}, near...)
			l := s.lock(client)
			s.runtime.Go(func() {
				if _, err := s.acquire(l, 5*time.Second); err == nil {
					granted++
				}
			})
		}
		s.sleep(5*time.Second + 100*ms)
		if granted == 0 {
			return errors.New("nobody was granted it for 5s")
		}
		return nil
	}},
	{"redlock-release-overtakes", "leaves keys that were set after their release", sim.Options{Latency: sim.Latency{Min: 100 * time.Microsecond, Max: ms, Slow: 0.05, SlowMax: 10 * ms}}, func(s *scene) error {
		l := s.lock("c1")
		for range 100 {
			lease, err := s.acquire(l, 2*ttl)
			if err != nil {
				s.t.Fatal(err)
			}
			_ = lease.Release(context.Background())
			if err := s.orphans(); err != nil {
				return err
			}
		}
		return nil
	}},
	{"redlock-cancelled-release", "leaves the keys of an acquire that was cancelled", sim.Options{}, func(s *scene) error {
		s.timeout = 500 * ms
		s.spoil("c1", cluster.LinkFault{Delay: 20 * ms})
		if _, err := s.acquire(s.lock("c1"), 70*ms); err == nil {
			s.t.Fatal("it was granted")
		}
		return s.orphans()
	}},
	{"redlock-renews-forever", "keeps the lock of a holder that hangs", sim.Options{}, func(s *scene) error {
		lease, err := s.acquire(s.lock("c1"), time.Second)
		if err != nil {
			s.t.Fatal(err)
		}
		if s.sleep(5 * ttl / 2); s.stored(lease.Token()) < 3 {
			s.t.Fatal("it was not renewed")
		}
		s.sleep(20 * ttl)
		if n := s.stored(lease.Token()); n > 0 {
			return fmt.Errorf("%d masters have its key after %v", n, 20*ttl)
		}
		return nil
	}},
	{"redlock-waits-for-all", "is not granted while one master hangs", sim.Options{}, func(s *scene) error {
		s.do(5, cluster.Master.Pause)
		_, err := s.acquire(s.lock("c1"), 3*ttl)
		return err
	}},
	{"set-broken-lua", "never releases", sim.Options{}, func(s *scene) error {
		lease, err := s.acquire(s.lock("c1"), time.Second)
		if err != nil {
			s.t.Fatal(err)
		}
		return errors.Join(lease.Release(context.Background()), s.orphans())
	}},
	{"redlock-one-token", "deletes its own key by the release of its attempt before", sim.Options{Late: 0.2, LateBy: 300 * ms}, func(s *scene) error {
		l, other, tried := s.lock("c1"), s.lockOf("textbook", "c2"), 0
		for tried < 30 {
			held, err := s.acquire(other, 2*ttl) // ghosts of what was late may delay it
			if err != nil {
				s.t.Fatal(err)
			}
			s.runtime.AfterFunc(10*ms, func() { _ = held.Release(context.Background()) })
			lease, err := s.acquire(l, ttl) // the first attempt fails
			if err != nil {
				continue
			}
			tried++
			s.sleep(400 * ms) // whatever is late has come
			if n := s.stored(lease.Token()); n < 3 {
				return fmt.Errorf("%d masters have the key of a lease that is valid for %v yet", n, lease.Until().Sub(s.runtime.Now()))
			}
			_ = lease.Release(context.Background())
			s.sleep(time.Second)
		}
		return nil
	}},
	{"redlock-driver-retries", "takes its own key for another's", sim.Options{}, func(s *scene) error {
		l := s.connected("c1")
		s.spoil("c1", cluster.LinkFault{Replies: cluster.Drop}, 1, 2, 3)
		s.runtime.AfterFunc(20*ms, func() { s.spoil("c1", cluster.LinkFault{}) })
		_, err := s.acquire(l, 40*ms)
		if errors.Is(err, redlock.ErrTaken) {
			return fmt.Errorf("on a lock that nobody has: %w", err)
		}
		return nil
	}},
	{"set-driver-retries", "locks itself out for a TTL", sim.Options{}, func(s *scene) error {
		l := s.connected("c1")
		s.spoil("c1", cluster.LinkFault{Replies: cluster.Drop})
		s.runtime.AfterFunc(20*ms, func() { s.spoil("c1", cluster.LinkFault{}) })
		_, err := s.acquire(l, ttl/2)
		return err
	}},
	{"redisson-resending", "has to be released twice", sim.Options{}, func(s *scene) error {
		l := s.connected("c1")
		s.spoil("c1", cluster.LinkFault{Replies: cluster.Drop}, 1, 2, 3)
		s.runtime.AfterFunc(20*ms, func() { s.spoil("c1", cluster.LinkFault{}) })
		lease, err := s.acquire(l, time.Second)
		if err != nil {
			s.t.Fatal(err)
		}
		_ = lease.Release(context.Background())
		s.sleep(300 * ms)
		if _, err := s.acquire(s.lock("c2"), time.Second); err != nil {
			return err
		}
		return nil
	}},
	{"redisson-late-watchdog", "keeps the next lock of a thread that hangs", sim.Options{}, func(s *scene) error {
		l := s.connected("c1")
		if _, err := s.acquire(l, time.Second); err != nil {
			s.t.Fatal(err)
		}
		s.sleep(20 * ttl)
		_, err := s.acquire(s.lock("c2"), time.Second)
		return err
	}},
	{"redlock-evalsha", "cannot release once the masters were restarted", sim.Options{}, func(s *scene) error {
		l := s.lock("c1")
		lease, err := s.acquire(l, time.Second)
		if err != nil {
			s.t.Fatal(err)
		}
		for m := 1; m <= 5; m++ {
			s.do(m, cluster.Master.Kill)
			s.do(m, cluster.Master.Start)
		}
		if n := s.stored(lease.Token()); n < 3 {
			s.t.Fatalf("%d masters have the key after the restart", n)
		}
		_ = lease.Release(context.Background())
		return s.orphans()
	}},
}

// TestMisdeeds shows what each of these locks does wrong, and that its twin does not.
func TestMisdeeds(t *testing.T) {
	for _, m := range misdeeds {
		t.Run(m.lock, func(t *testing.T) {
			kind, _ := workload.LockNamed(m.lock)
			if err := play(t, m.lock, m.network, m.wrong); err == nil {
				t.Errorf("it should show that it %s", m.does)
			} else {
				t.Logf("%s: %v", m.does, err)
			}
			if err := play(t, kind.Twin, m.network, m.wrong); err != nil {
				t.Errorf("its twin %s: %v", kind.Twin, err)
			}
		})
	}
}

// play plays a scene with a lock.
func play(t *testing.T, lock string, network sim.Options, f func(s *scene) error) (wrong error) {
	t.Helper()
	w := world.New(1)
	s := &scene{t: t, runtime: w.Runtime(), cluster: sim.New(w, cluster.Config{Persistence: cluster.Always}, network)}
	s.kind, _ = workload.LockNamed(lock)
	err := w.Run(func() {
		wrong = f(s)
		for i := range s.cluster.Masters() { // what hangs would keep locks from closing
			_ = s.cluster.Masters()[i].Resume(context.Background())
		}
		for _, l := range s.opened {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	if err := errors.Join(err, s.cluster.Close()); err != nil {
		t.Fatal(err)
	}
	return wrong
}
