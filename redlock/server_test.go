package redlock_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/internal/redistest"
	"lockpick/internal/waittest"
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

	answers func(words []string) string // "": as usual
	before  func(words []string)        // called before a command is carried out
	conns   map[net.Conn]struct{}
	first   net.Conn // of the connections

	accepted   *atomic.Int64 // counts connections
	dropAnswer string        // the connection ends instead of the next answer to this command
	scripts    map[string]bool
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
		if s.accepted != nil {
			s.accepted.Add(1)
		}
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
		reply := s.do(words)
		s.mu.Lock()
		drop := s.dropAnswer != "" && strings.EqualFold(words[0], s.dropAnswer)
		if drop {
			s.dropAnswer = ""
		}
		s.mu.Unlock()
		if drop || reply == "close" {
			return
		}
		if _, err := io.WriteString(c, reply); err != nil {
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
	case "SELECT", "AUTH":
		if s.answers != nil {
			if a := s.answers(words); a != "" {
				return a
			}
		}
		s.log = append(s.log, strings.ToUpper(strings.Join(words, " ")))
		return "+OK\r\n"
	case "CLIENT":
		if strings.EqualFold(words[1], "setinfo") {
			return "+OK\r\n"
		}
		s.log = append(s.log, strings.ToUpper(strings.Join(words, " ")))
		return "+OK\r\n"
	case "PING":
		if s.answers != nil {
			if a := s.answers(words); a != "" {
				return a
			}
		}
		return "+PONG\r\n"
	case "SCRIPT", "INFO":
		return "-NOPERM this user has no permissions to run the command\r\n"
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
		reply, all := ":", 0
		for i := range keys {
			done := release(keys[i], args[i])
			all += done
			reply += fmt.Sprint(done)
		}
		if all == n {
			return fmt.Sprintf(":%d\r\n", n)
		}
		return fmt.Sprintf("$%d\r\n%s\r\n", len(reply), reply)
	}
	return "-ERR unknown command\r\n"
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
	o.DialerRetries = 1
	c := redis.NewClient(&o)
	s.t.Cleanup(func() { c.Close() })
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

// A script that the master does not know is sent by its text, once.
func TestUnknownScriptIsSentByItsText(t *testing.T) {
	s := newServer(t)
	l := s.locks()
	pair(t, l)
	pair(t, l)
	if said := s.said(); said != "SET, EVALSHA unknown, EVAL of 1, SET, EVALSHA of 1" {
		t.Error(said)
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
	waittest.Until(t, "all have asked", func() bool {
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

// A master that is loading its data does not vote, and says so.
func TestLoadingMaster(t *testing.T) {
	s := newServer(t)
	s.answers = func(words []string) string { return "-LOADING Redis is loading the dataset in memory\r\n" }
	l := s.locks()
	_, err := l.TryLock(t.Context(), "k")
	if !errors.Is(err, redlock.ErrNoQuorum) || !strings.Contains(err.Error(), "LOADING") {
		t.Error(err)
	}
	s.mu.Lock()
	s.answers = nil
	s.mu.Unlock()
	recovers(t, l)
}

// recovers waits until the master votes again.
func recovers(t *testing.T, l *redlock.Client) {
	t.Helper()
	waittest.Until(t, "the master votes", func() bool {
		lease, err := l.TryLock(t.Context(), "k")
		return err == nil && lease.Unlock(t.Context()) == nil
	})
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
	limit := &limiter{}
	l := s.locksWith(redis.Options{Limiter: limit}, redlock.WithTimeout(time.Second))
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
	recovers(t, l)
	must(t, l.Close())
	if limit.allowed < 4 || limit.allowed != limit.report {
		t.Errorf("%d allowed, %d reported", limit.allowed, limit.report)
	}
}

// Connections are made as the caller's are: with TLS, credentials, a name and a database.
func TestConnectionsAreTheCallers(t *testing.T) {
	dir := t.TempDir()
	trusted := redistest.Certificate(t, dir)
	own, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	must(t, err)
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{own}})
	must(t, err)
	s := newServerOn(t, ln)
	connected := 0
	l := s.locksWith(redis.Options{
		TLSConfig: &tls.Config{RootCAs: trusted, ServerName: "localhost"}, Username: "ada", Password: "secret", DB: 3, ClientName: "me",
		OnConnect: func(context.Context, *redis.Conn) error { connected++; return nil },
	})
	for range 2 {
		pair(t, l)
	}
	if said := s.said(); said != "AUTH ADA SECRET, SELECT 3, CLIENT SETNAME ME, SET, EVALSHA unknown, EVAL of 1, SET, EVALSHA of 1" {
		t.Error(said)
	}
	if connected != 1 {
		t.Errorf("OnConnect was called %d times", connected)
	}
}

// What is no protocol ends the connection, not the client.
func TestGarbage(t *testing.T) {
	for _, garbage := range []string{"\r\n", "?\r\n", ":x\r\n", "*-7\r\n", "+OK\r\n+OK\r\n", strings.Repeat("x", 1<<17) + "\r\n"} {
		s := newServer(t)
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
		waittest.Until(t, "the master votes again", func() bool {
			lease, err := l.TryLock(t.Context(), "again")
			return err == nil && lease.Unlock(t.Context()) == nil
		})
	}
}

// A master that is far away is connected to, however many round trips that takes.
func TestMasterFarAway(t *testing.T) {
	s := newServer(t)
	s.before = func(words []string) {
		if w := strings.ToUpper(words[0]); w == "HELLO" || w == "COMMAND" {
			time.Sleep(700 * time.Millisecond) // the way there and back
		}
	}
	pair(t, s.locks(redlock.WithTTL(time.Minute), redlock.WithTimeout(time.Minute)))
}
