package redlock_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/redlock"
)

// server speaks Redis's protocol over TCP, and is what a test needs of a server that
// is not at hand: another version, or one that refuses.
type server struct {
	t    *testing.T
	ln   net.Listener
	wg   sync.WaitGroup
	mu   sync.Mutex
	keys map[string]string
	log  []string // the commands that lock and release, a word each but for keys and tokens

	known   []string                    // commands that it has, of those that the lock asks about
	answers func(words []string) string // "": as usual
	before  func(words []string)        // called before a command is carried out
	conns   map[net.Conn]struct{}
	first   net.Conn // of the connections
	scripts map[string]bool
}

func newServer(t *testing.T) *server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	return newServerOn(t, ln)
}

func newServerOn(t *testing.T, ln net.Listener) *server {
	s := &server{t: t, ln: ln, keys: map[string]string{}, conns: map[net.Conn]struct{}{}, scripts: map[string]bool{}}
	s.wg.Go(s.accept)
	t.Cleanup(func() {
		ln.Close()
		s.hangUp()
		s.wg.Wait()
	})
	return s
}

func (s *server) accept() {
	for {
		c, err := s.ln.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[c] = struct{}{}
		if s.first == nil {
			s.first = c
		}
		s.mu.Unlock()
		s.wg.Go(func() { s.serve(c) })
	}
}

// hangUp ends all connections.
func (s *server) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Close()
	}
}

func (s *server) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		words, err := request(r)
		if err != nil {
			return
		}
		s.mu.Lock()
		before := s.before
		s.mu.Unlock()
		if before != nil {
			before(words)
		}
		if _, err := io.WriteString(c, s.do(words)); err != nil {
			return
		}
	}
}

// request reads a command.
func request(r *bufio.Reader) ([]string, error) {
	number := func(mark byte) (int, error) {
		line, err := r.ReadString('\n')
		if err != nil {
			return 0, err
		}
		if line[0] != mark {
			return 0, fmt.Errorf("%q", line)
		}
		return strconv.Atoi(strings.TrimSpace(line[1:]))
	}
	n, err := number('*')
	if err != nil {
		return nil, err
	}
	var words []string
	for range n {
		size, err := number('$')
		if err != nil {
			return nil, err
		}
		b := make([]byte, size+2)
		if _, err := io.ReadFull(r, b); err != nil {
			return nil, err
		}
		words = append(words, string(b[:size]))
	}
	return words, nil
}

func (s *server) do(words []string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := strings.ToUpper(words[0])
	switch name {
	case "HELLO":
		return "-ERR unknown command 'HELLO'\r\n" // an old one
	case "AUTH", "SELECT", "CLIENT":
		s.log = append(s.log, strings.ToUpper(strings.Join(words, " ")))
		return "+OK\r\n"
	case "PING":
		if s.answers != nil {
			if a := s.answers(words); a != "" {
				return a
			}
		}
		return "+PONG\r\n"
	case "COMMAND":
		if s.known == nil {
			return "-NOPERM this user has no permissions to run the 'command|info' command\r\n"
		}
		reply := fmt.Sprintf("*%d\r\n", len(words)-2)
		for _, w := range words[2:] {
			if has(s.known, w) {
				reply += "*1\r\n$1\r\nx\r\n"
			} else {
				reply += "*-1\r\n"
			}
		}
		return reply
	}
	if s.answers != nil {
		if a := s.answers(words); a != "" {
			s.log = append(s.log, name+" refused")
			return a
		}
	}
	release := func(key, token string) int {
		if s.keys[key] != token {
			return 0
		}
		delete(s.keys, key)
		return 1
	}
	switch name {
	case "SET":
		s.log = append(s.log, name)
		if s.keys[words[1]] != "" {
			return "$-1\r\n"
		}
		s.keys[words[1]] = words[2]
		return "+OK\r\n"
	case "DELEX":
		s.log = append(s.log, name)
		return fmt.Sprintf(":%d\r\n", release(words[1], words[3]))
	case "DELIFEQ":
		s.log = append(s.log, name)
		return fmt.Sprintf(":%d\r\n", release(words[1], words[2]))
	case "EVAL", "EVALSHA":
		n, _ := strconv.Atoi(words[2])
		if name == "EVAL" {
			s.scripts[fmt.Sprint(n > 1)] = true // by what it is for
		} else if !s.scripts[fmt.Sprint(n > 1)] {
			s.log = append(s.log, name+" unknown")
			return "-NOSCRIPT No matching script. Please use EVAL.\r\n"
		}
		s.log = append(s.log, fmt.Sprintf("%s of %d", name, n))
		keys, args := words[3:3+n], words[3+n:]
		if n == 1 {
			return fmt.Sprintf(":%d\r\n", release(keys[0], args[0]))
		}
		reply, all := fmt.Sprintf("*%d\r\n", n), 0
		for i := range keys {
			done := release(keys[i], args[i])
			all += done
			reply += fmt.Sprintf(":%d\r\n", done)
		}
		if all == n {
			return fmt.Sprintf(":%d\r\n", n)
		}
		return reply
	}
	return "-ERR unknown command\r\n"
}

func has(all []string, w string) bool {
	for _, x := range all {
		if strings.EqualFold(x, w) {
			return true
		}
	}
	return false
}

// said is the log, without what it had before.
func (s *server) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	said := strings.Join(s.log, ", ")
	s.log = nil
	return said
}

func (s *server) locks(opts ...redlock.Option) *redlock.Client {
	return s.locksWith(redis.Options{}, opts...)
}

func (s *server) locksWith(o redis.Options, opts ...redlock.Option) *redlock.Client {
	s.t.Helper()
	o.Addr = s.ln.Addr().String()
	c := redis.NewClient(&o)
	defer c.Close()
	l, err := redlock.New([]*redis.Client{c}, append([]redlock.Option{redlock.WithTimeout(hang)}, opts...)...)
	must(s.t, err)
	s.t.Cleanup(func() { l.Close() })
	return l
}

// pair locks and unlocks once.
func pair(t *testing.T, l *redlock.Client) {
	t.Helper()
	lease, err := l.TryLock(t.Context(), "k")
	must(t, err)
	must(t, lease.Unlock(t.Context()))
}

// A master says what commands it has: those that delete a key if it has a value are
// used, and where it does not say, or has none, a script is.
func TestDeleteIfEqual(t *testing.T) {
	for name, test := range map[string]struct {
		known []string
		want  string
	}{
		"Redis 8.4":                 {[]string{"delex"}, "SET, DELEX, SET, DELEX"},
		"Valkey 9":                  {[]string{"delifeq"}, "SET, DELIFEQ, SET, DELIFEQ"},
		"older":                     {[]string{}, "SET, EVALSHA unknown, EVAL of 1, SET, EVALSHA of 1"},
		"its user may not ask that": {nil, "SET, EVALSHA unknown, EVAL of 1, SET, EVALSHA of 1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.known = test.known
			l := s.locks()
			pair(t, l)
			pair(t, l)
			if said := s.said(); said != test.want {
				t.Errorf("%s; want %s", said, test.want)
			}
		})
	}
}

// releaseAtOnce takes so many locks and has them released while the server is held up.
func releaseAtOnce(t *testing.T, s *server, l *redlock.Client, n int) {
	t.Helper()
	var leases []*redlock.Lease
	for i := range n {
		lease, err := l.TryLock(t.Context(), fmt.Sprintf("k%d", i))
		must(t, err)
		leases = append(leases, lease)
	}
	s.said()
	// The first release is held up, so that the others leave together.
	open := make(chan struct{})
	var once sync.Once
	arrived := make(chan struct{})
	s.mu.Lock()
	s.before = func(words []string) {
		once.Do(func() {
			close(arrived)
			<-open
		})
	}
	s.mu.Unlock()
	var wg sync.WaitGroup
	unlock := func(i int) {
		wg.Go(func() {
			if err := leases[i].Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	unlock(0)
	<-arrived
	for i := range n - 1 {
		unlock(i + 1)
	}
	eventually(t, "all have asked", func() bool {
		ended := 0
		for _, l := range leases {
			if l.Context().Err() != nil {
				ended++
			}
		}
		return ended == n
	})
	time.Sleep(time.Millisecond) // from the end of the lease to the command
	close(open)
	wg.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.keys) != 0 {
		t.Errorf("%d keys are left", len(s.keys))
	}
}

// Releases that are asked at the same time share a script, also where the master does
// not know it yet.
func TestReleasesShareAScript(t *testing.T) {
	s := newServer(t)
	s.known = []string{}
	l := s.locks()
	pair(t, l)
	releaseAtOnce(t, s, l, 30)
	if n := strings.Count(s.said(), "EVAL"); n > 15 {
		t.Errorf("%d scripts for 30 releases", n)
	}
}

// A master that refuses the script that they share (a cluster, a proxy) gets them one
// by one.
func TestSharedScriptIsRefused(t *testing.T) {
	s := newServer(t)
	s.known = []string{}
	s.answers = func(words []string) string {
		if strings.HasPrefix(words[0], "EVAL") && words[2] != "1" {
			return "-CROSSSLOT Keys in request don't hash to the same slot\r\n"
		}
		return ""
	}
	l := s.locks()
	pair(t, l)
	releaseAtOnce(t, s, l, 30)
	if said := s.said(); !strings.Contains(said, "refused") || strings.Count(said, "of 1") < 30 {
		t.Error(said)
	}
}

// A master that asks to be introduced to gets a new connection, in which it is.
func TestNewConnectionIntroducesItself(t *testing.T) {
	s := newServer(t)
	s.known = []string{"delex"}
	l := s.locks()
	pair(t, l)
	lost := true
	s.mu.Lock()
	s.answers = func(words []string) string {
		if strings.EqualFold(words[0], "ping") {
			lost = false
		}
		if lost {
			return "-NOAUTH Authentication required.\r\n"
		}
		return ""
	}
	s.mu.Unlock()
	if _, err := l.TryLock(t.Context(), "k"); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Error(err)
	}
	pair(t, l)
}

// A master that is loading its data does not vote, and says so.
func TestLoadingMaster(t *testing.T) {
	s := newServer(t)
	s.known = []string{"delex"}
	s.answers = func(words []string) string { return "-LOADING Redis is loading the dataset in memory\r\n" }
	l := s.locks()
	_, err := l.TryLock(t.Context(), "k")
	if !errors.Is(err, redlock.ErrNoQuorum) || !strings.Contains(err.Error(), "LOADING") {
		t.Error(err)
	}
	s.mu.Lock()
	s.answers = nil
	s.mu.Unlock()
	pair(t, l)
}

// limiter lets through as long as it is open.
type limiter struct {
	mu              sync.Mutex
	shut            error
	allowed, report int
}

func (l *limiter) Allow() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shut == nil {
		l.allowed++
	}
	return l.shut
}

func (l *limiter) ReportResult(error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.report++
}

// The caller's Limiter rules here too.
func TestLimiter(t *testing.T) {
	s := newServer(t)
	s.known = []string{"delex"}
	limit := &limiter{}
	l := s.locksWith(redis.Options{Limiter: limit})
	pair(t, l)
	broken := errors.New("the circuit is open")
	limit.mu.Lock()
	limit.shut = broken
	limit.mu.Unlock()
	if _, err := l.TryLock(t.Context(), "k"); !errors.Is(err, broken) {
		t.Error(err)
	}
	limit.mu.Lock()
	limit.shut = nil
	limit.mu.Unlock()
	pair(t, l)
	must(t, l.Close())
	if limit.allowed < 4 || limit.allowed != limit.report {
		t.Errorf("%d allowed, %d reported", limit.allowed, limit.report)
	}
}

// Connections are made as the caller's are: with TLS, credentials, a name and a database.
func TestConnectionsAreTheCallers(t *testing.T) {
	https := httptest.NewTLSServer(nil) // for its certificate
	defer https.Close()
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: https.TLS.Certificates})
	must(t, err)
	s := newServerOn(t, ln)
	s.known = []string{"delex"}
	trusted := x509.NewCertPool()
	trusted.AddCert(https.Certificate())
	connected := 0
	l := s.locksWith(redis.Options{
		TLSConfig: &tls.Config{RootCAs: trusted, ServerName: "example.com"}, Username: "ada", Password: "secret", DB: 3, ClientName: "me",
		OnConnect: func(context.Context, *redis.Conn) error { connected++; return nil },
	})
	for range 2 {
		pair(t, l)
	}
	if said := s.said(); said != "AUTH ADA SECRET, SELECT 3, CLIENT SETNAME ME, SET, DELEX, SET, DELEX" {
		t.Error(said)
	}
	if connected != 1 {
		t.Errorf("OnConnect was called %d times", connected)
	}
}

// A connection that did not answer, and was replaced, is lost with a release on it: the one
// that has taken its place sends it.
func TestReplacedConnectionIsLost(t *testing.T) {
	s := newServer(t)
	s.known = []string{"delex"}
	l := s.locks()
	a, err := l.TryLock(t.Context(), "a", redlock.WithTimeout(100*time.Millisecond))
	must(t, err)
	b, err := l.TryLock(t.Context(), "b")
	must(t, err)
	silent, greet, stuck := make(chan struct{}), make(chan struct{}), make(chan struct{})
	speak, welcome := sync.OnceFunc(func() { close(silent) }), sync.OnceFunc(func() { close(greet) })
	t.Cleanup(func() { // also if the test fails
		speak()
		welcome()
	})
	var first atomic.Bool
	s.mu.Lock()
	s.before = func(words []string) {
		switch {
		case words[0] == "DELEX" && words[1] == "a":
			if first.CompareAndSwap(false, true) {
				close(stuck)
				<-silent
			}
		case strings.EqualFold(words[0], "ping"):
			<-greet
		}
	}
	s.mu.Unlock()
	if err := a.Unlock(t.Context()); !errors.Is(err, redlock.ErrNoQuorum) {
		t.Error(err)
	}
	<-stuck
	released := make(chan error)
	go func() { released <- b.Unlock(t.Context()) }()
	<-b.Context().Done()
	welcome()
	eventually(t, "another connection has taken its place, and sent what is owed", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.keys["a"] == ""
	})
	s.mu.Lock()
	s.first.Close()
	s.mu.Unlock()
	speak()
	quick(t, "releasing", func() { must(t, <-released) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.keys) != 0 {
		t.Errorf("left: %v", s.keys)
	}
}

// What is no protocol ends the connection, not the client.
func TestGarbage(t *testing.T) {
	for _, garbage := range []string{"\r\n", "?\r\n", ":x\r\n", "$99999999999\r\n", "*-7\r\n", "+OK\r\n+OK\r\n", strings.Repeat("x", 1<<17) + "\r\n"} {
		s := newServer(t)
		s.known = []string{"delex"}
		l := s.locks(redlock.WithTimeout(time.Second))
		pair(t, l)
		once := true
		s.mu.Lock()
		s.answers = func(words []string) string {
			if strings.EqualFold(words[0], "ping") || !once {
				return ""
			}
			once = false
			return garbage
		}
		s.mu.Unlock()
		if lease, err := l.TryLock(t.Context(), "k"); err == nil {
			lease.Unlock(t.Context()) // OK, and a reply too many
		}
		eventually(t, "the master votes again", func() bool {
			lease, err := l.TryLock(t.Context(), "again")
			return err == nil && lease.Unlock(t.Context()) == nil
		})
	}
}

// A master that is far away is connected to, however many round trips that takes.
func TestMasterFarAway(t *testing.T) {
	s := newServer(t)
	s.known = []string{}
	s.before = func(words []string) {
		if w := strings.ToUpper(words[0]); w == "HELLO" || w == "COMMAND" {
			time.Sleep(700 * time.Millisecond) // the way there and back
		}
	}
	pair(t, s.locks(redlock.WithTTL(time.Minute), redlock.WithTimeout(10*time.Second)))
}
