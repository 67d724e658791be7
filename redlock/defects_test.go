package redlock_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/auth"

	"lockpick/cluster"
	"lockpick/internal/waittest"
	"lockpick/redlock"
	"lockpick/redlock/protocol"
)

// connections counts the connections that a server has accepted.
func (s *server) countDials() *atomic.Int64 {
	n := &atomic.Int64{}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accepted = n
	return n
}

// Without the database that was asked for no lock is granted: another client would hold
// it there at the same time.
func TestRefusedSelectGrantsNothing(t *testing.T) {
	for name, refusal := range map[string]string{
		"busy":             "-BUSY Redis is busy running a script\r\n",
		"no such database": "-ERR DB index is out of range\r\n",
		"no permission":    "-NOPERM this user has no permissions to run the 'select' command\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.answers = func(words []string) string {
				if strings.EqualFold(words[0], "select") {
					return refusal
				}
				return ""
			}
			l := s.locksWith(redis.Options{DB: 3}, redlock.WithTimeout(200*time.Millisecond))
			_, err := l.TryLock(t.Context(), "k")
			if !errors.Is(err, redlock.ErrNoQuorum) || !strings.Contains(err.Error(), strings.Fields(refusal[1:])[0]) {
				t.Error(err)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(s.keys) > 0 {
				t.Error("the key was stored in another database")
			}
		})
	}
}

// pipes is a listener in memory, so that connections can be made in a bubble.
type pipes struct {
	dialed chan net.Conn
	closed chan struct{}
}

func newPipes() pipes { return pipes{make(chan net.Conn), make(chan struct{})} }

func (p pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.dialed <- server:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialed:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error {
	close(p.closed)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 6379} } // nothing has to be resolved

// dialsIn counts the connections that a lock makes in a while after a failed attempt, in a bubble.
func dialsIn(t *testing.T, while time.Duration, o redis.Options, answers func(command string) string, failed func(*testing.T, error)) int64 {
	var n int64
	synctest.Test(t, func(t *testing.T) {
		in := newPipes()
		s := newServerOn(t, in)
		dials := s.countDials()
		s.answers = func(words []string) string {
			if dials.Load() > 10_000 {
				panic("a storm of connections") // with time standing still, it would not end
			}
			return answers(strings.ToLower(words[0]))
		}
		o.Dialer = in.dial
		l := s.locksWith(o, redlock.WithTimeout(50*time.Millisecond))
		_, err := l.TryLock(t.Context(), "k")
		failed(t, err)
		before := dials.Load()
		time.Sleep(while)
		n = dials.Load() - before
	})
	return n
}

// A user that the master does not know gets nothing, although the default user may do
// everything. The error says WRONGPASS, and connections are few.
func TestWrongPasswordIsNoStorm(t *testing.T) {
	n := dialsIn(t, 10*time.Second, redis.Options{Username: "nobody", Password: "wrong"}, func(command string) string {
		if command == "auth" {
			return "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
		}
		return ""
	}, func(t *testing.T, err error) {
		if !errors.Is(err, redlock.ErrNoQuorum) || !strings.Contains(err.Error(), "WRONGPASS") {
			t.Error(err)
		}
	})
	if n < 10 || n > 100 { // go-redis tries two pools each time
		t.Errorf("%d connections in 10 s", n)
	}
}

// A server that greets and then closes is not connected to again and again.
func TestServerThatClosesIsNoStorm(t *testing.T) {
	n := dialsIn(t, 10*time.Second, redis.Options{PipelinePoolSize: -1}, func(command string) string {
		if command == "set" || command == "ping" {
			return "close"
		}
		return ""
	}, func(t *testing.T, err error) {
		if !errors.Is(err, redlock.ErrNoQuorum) {
			t.Error(err)
		}
	})
	if n < 5 || n > 50 {
		t.Errorf("%d connections in 10 s", n)
	}
}

// A replica behind the name of a master is left once the name points to the new master.
func TestReadOnlyIsLeftAfterFailover(t *testing.T) {
	before, after := newServer(t), newServer(t)
	var name atomic.Value
	name.Store(before.ln.Addr().String())
	client := redis.NewClient(&redis.Options{Addr: "redis.internal:6379", Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, name.Load().(string))
	}})
	defer client.Close()
	l, err := redlock.New([]*redis.Client{client}, redlock.WithTimeout(time.Second))
	must(t, err)
	defer l.Close()
	pair(t, l)
	before.mu.Lock()
	before.answers = func([]string) string { return "-READONLY You can't write against a read only replica.\r\n" }
	before.mu.Unlock()
	name.Store(after.ln.Addr().String())
	recovers(t, l)
}

type stream struct{}

func (stream) Subscribe(auth.CredentialsListener) (auth.Credentials, auth.UnsubscribeFunc, error) {
	return auth.NewBasicCredentials("default", "p"), func() error { return nil }, nil
}

func TestStreamingCredentials(t *testing.T) {
	s := newServer(t)
	pair(t, s.locksWith(redis.Options{StreamingCredentialsProvider: stream{}}))
	if said := s.said(); !strings.HasPrefix(said, "AUTH DEFAULT P, SET") {
		t.Error(said)
	}
}

// sealed is a connection that changes what is written, as one that encrypts does.
type sealed struct{ *net.TCPConn }

func (c sealed) flip(b []byte) []byte {
	out := make([]byte, len(b))
	for i := range b {
		out[i] = b[i] ^ 0x55
	}
	return out
}

func (c sealed) Write(b []byte) (int, error) { return c.TCPConn.Write(c.flip(b)) }
func (c sealed) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	copy(b, c.flip(b[:n]))
	return n, err
}

type sealedListener struct{ net.Listener }

func (l sealedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return sealed{c.(*net.TCPConn)}, nil
}

// What a Dialer's connection does to bytes is done to the lock's, too.
func TestDialersConnectionIsUsed(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s := newServerOn(t, sealedListener{ln})
	pair(t, s.locksWith(redis.Options{Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		var d net.Dialer
		c, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return sealed{c.(*net.TCPConn)}, nil
	}}))
}

// Locks that wait for replicas, or ask one master after the other, do not leave others
// of the same client behind.
func TestMixedLocksDoNotHang(t *testing.T) {
	c := masters(t, 3, cluster.None)
	l := dial(t, c, "c1")
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit)
	defer cancel()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			var opts []redlock.CallOption
			if g > 1 {
				opts = append(opts, redlock.WithSequential())
			}
			for range 300 {
				lease, err := l.Lock(ctx, string(rune('a'+g)), opts...)
				if err != nil {
					t.Error(err)
					return
				}
				if err := lease.Unlock(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// One server under two names would vote twice.
func TestOneServerTwiceIsNoticed(t *testing.T) {
	c := masters(t, 1, cluster.None)
	_, port, err := net.SplitHostPort(link(t, c, "c1", 0).Addr())
	must(t, err)
	var clients []*redis.Client
	for _, host := range []string{"127.0.0.1", "localhost"} {
		client := redis.NewClient(&redis.Options{Addr: net.JoinHostPort(host, port)})
		defer client.Close()
		clients = append(clients, client)
	}
	l, err := redlock.New(clients)
	must(t, err)
	defer l.Close()
	waittest.Until(t, "the error says so", func() bool {
		_, err := l.TryLock(t.Context(), "k")
		return err != nil && strings.Contains(err.Error(), "the same server as master")
	})
	if _, err := l.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "the same server") {
		t.Error(err)
	}
}

// Clients of several Sentinels are not one master, and a Cluster or a Ring is none.
func TestWhatIsAMaster(t *testing.T) {
	a := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "a", SentinelAddrs: []string{"127.0.0.1:1"}})
	b := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "b", SentinelAddrs: []string{"127.0.0.1:2"}})
	cl := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer a.Close()
	defer b.Close()
	defer cl.Close()
	defer ring.Close()
	l, err := redlock.New([]redis.UniversalClient{a, b})
	must(t, err)
	must(t, l.Close())
	for name, c := range map[string]redis.UniversalClient{"Cluster": cl, "Ring": ring} {
		if _, err := redlock.New([]redis.UniversalClient{c}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The first lock works over a link on which connecting takes longer than the timeout of
// a warm connection, and so do the following ones, by default.
func TestFirstLockOverALongWay(t *testing.T) {
	c := masters(t, 3, cluster.None)
	for i := range c.Masters() {
		link(t, c, "far", i).Set(cluster.LinkFault{Delay: 40 * time.Millisecond})
	}
	l := dial(t, c, "far", redlock.WithTimeout(0), redlock.WithTTL(30*time.Second))
	for range 4 {
		lease, err := l.TryLock(t.Context(), "k")
		must(t, err)
		if err := lease.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A release whose answer is lost is sent again. That it finds nothing then does not say
// that the lock was not held.
func TestLostAnswerToARelease(t *testing.T) {
	s := newServer(t)
	l := s.locks(redlock.WithTimeout(2 * time.Second))
	pair(t, l)
	lease, err := l.TryLock(t.Context(), "k")
	must(t, err)
	s.mu.Lock()
	s.dropAnswer = "EVALSHA"
	s.mu.Unlock()
	if err := lease.Unlock(t.Context()); err == nil || errors.Is(err, redlock.ErrNotHeld) || !errors.Is(err, redlock.ErrNoQuorum) {
		t.Error(err)
	}
}

// A lock may be named like another lock's fencing counter.
func TestLockNamedLikeACounter(t *testing.T) {
	c := masters(t, 1, cluster.None)
	l := dial(t, c, "c1", redlock.WithFencing())
	for _, key := range []string{"a", "a:fence", "a:fence:lock", "a:lock"} {
		lease, err := l.TryLock(t.Context(), key)
		if err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		defer lease.Unlock(t.Context())
	}
}

// Replies that are nested without end are an error, and no more.
func TestNestedReplies(t *testing.T) {
	s := newServer(t)
	s.answers = func(words []string) string {
		if strings.EqualFold(words[0], "set") {
			return strings.Repeat("*1\r\n", 4<<20)
		}
		return ""
	}
	l := s.locks(redlock.WithTimeout(time.Second))
	if _, err := l.TryLock(t.Context(), "k"); !errors.Is(err, redlock.ErrNoQuorum) {
		t.Error(err)
	}
}

// A script that ends in an error is not a reason to distrust its master, however often it does: the
// command that follows is executed.
func TestScriptsThatFail(t *testing.T) {
	s := newServer(t)
	s.answers = func(words []string) string {
		if strings.HasPrefix(words[0], "EVAL") {
			return "-ERR Lua redis lib command arguments must be strings or integers script: 9ae111cca96dd8228fba9c263738360bbc99cb8e, on @user_script:1.\r\n"
		}
		return ""
	}
	client := redis.NewClient(&redis.Options{Addr: s.ln.Addr().String()})
	defer client.Close()
	masters, err := redlock.NewMasters([]*redis.Client{client})
	must(t, err)
	defer masters.(io.Closer).Close()
	ask := func(cmd protocol.Command) (v protocol.Vote) {
		for v = range masters.Begin(func(protocol.Vote) {}).Ask(t.Context(), cmd, nil, 10*time.Second) {
		}
		return v
	}
	for range 10 {
		if v := ask(protocol.Command{Purpose: protocol.Check, Script: protocol.CompareAndDelete, Keys: []string{"k"}, Args: []any{"t"}}); v.Err == nil || !strings.Contains(v.Err.Error(), "user_script") {
			t.Fatal(v)
		}
	}
	if v := ask(protocol.Command{Args: []any{"set", "k2", "t", "NX", "PX", 1000}}); v.Err != nil {
		t.Error(v.Err)
	}
}
