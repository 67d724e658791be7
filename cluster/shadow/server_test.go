package shadow

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lockpick/cluster"
	"lockpick/cluster/resp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// eachServer runs a test with every server that is installed.
func eachServer(t *testing.T, test func(t *testing.T, program string)) {
	for _, program := range []string{"redis-server", "valkey-server"} {
		t.Run(program, func(t *testing.T) {
			if _, err := exec.LookPath(program); err != nil {
				t.Skipf("%s is not installed", program)
			}
			test(t, program)
		})
	}
}

// testServer is a server of a test, with an account of what it does.
type testServer struct {
	t       *testing.T
	program string
	args    []string
	dir     string
	addr    string
	cmd     *exec.Cmd
	ended   chan struct{}

	account *Account
	mu      sync.Mutex
	steps   []cluster.Executed
	copies  map[string]map[place]entry // by the stamp of a snapshot: the keys of the account at this place
	wanted  int                        // how often the account has wanted a snapshot
}

func newTestServer(t *testing.T, program string, args ...string) *testServer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	s := &testServer{t: t, program: program, args: args, dir: t.TempDir(), addr: ln.Addr().String(), copies: map[string]map[place]entry{}}
	s.account = New(s.step)
	unsure := s.account.group.keys.unsure
	s.account.group.keys.unsure = func(why string) {
		s.mu.Lock()
		s.wanted++
		s.mu.Unlock()
		t.Logf("the account wants a snapshot: %s", why)
		unsure(why)
	}
	ln.Close()
	s.start()
	t.Cleanup(func() {
		s.account.Detach()
		s.kill()
	})
	return s
}

func (s *testServer) step(x cluster.Executed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, x)
	if len(x.Args) > 3 && x.Args[1] == snapshotScript {
		all := map[place]entry{}
		for p, e := range s.account.group.keys.all {
			all[p] = e
		}
		s.copies[x.Args[3]] = all
	}
}

func (s *testServer) start() {
	s.t.Helper()
	_, port, _ := net.SplitHostPort(s.addr)
	s.cmd = exec.Command(s.program, append([]string{"--port", port, "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--logfile", "log"}, s.args...)...)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		cmd.Wait()
		close(ended)
	}(s.cmd, s.ended)
	for began := time.Now(); ; time.Sleep(2 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
		c, err := dial(ctx, Server{Addr: s.addr})
		if err == nil {
			_, err = c.do("PING")
			c.Close()
		}
		cancel()
		if err == nil {
			return
		}
		if time.Since(began) > 20*time.Second {
			log, _ := os.ReadFile(s.dir + "/log")
			s.t.Fatalf("%s does not answer: %v\n%s", s.program, err, log)
		}
	}
}

func (s *testServer) kill() {
	s.cmd.Process.Kill()
	<-s.ended
}

func (s *testServer) attach() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	if err := s.account.Attach(ctx, Server{Addr: s.addr, Ended: s.ended}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *testServer) settle() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 60*time.Second)
	defer cancel()
	if err := s.account.Settled(ctx); err != nil {
		s.t.Fatal(err)
	}
}

// copied returns what the account knows of a key when all steps so far were delivered.
func (s *testServer) copied(key string) (e entry) {
	s.t.Helper()
	s.account.mu.Lock()
	now := s.account.now
	s.account.mu.Unlock()
	ctx, cancel := context.WithTimeout(s.t.Context(), 60*time.Second)
	defer cancel()
	if err := now.settled(ctx, func() { e = s.account.group.keys.all[place{0, key}] }); err != nil {
		s.t.Fatal(err)
	}
	return e
}

// take returns the steps so far and forgets them.
func (s *testServer) take() []cluster.Executed {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.steps
	s.steps = nil
	return all
}

// testClient is a connection that remembers its exchanges.
type testClient struct {
	*wire
	addr      string
	exchanges []exchange
}

// exchange is a command of a client and its reply.
type exchange struct {
	args     []string
	reply    value
	answered bool
}

func (s *testServer) client() *testClient {
	s.t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	return &testClient{wire: &wire{c, newReader(c)}, addr: c.LocalAddr().String()}
}

// send sends commands in one piece and reads their replies. It returns false if the connection broke.
func (c *testClient) send(commands ...[]string) bool {
	text, first := "", len(c.exchanges)
	for _, args := range commands {
		text += resp.Encode(args...)
		c.exchanges = append(c.exchanges, exchange{args: args})
	}
	if _, err := fmt.Fprint(c, text); err != nil {
		return false
	}
	for i := first; i < len(c.exchanges); i++ {
		v, err := c.reader.next()
		if err != nil {
			return false
		}
		c.exchanges[i].reply, c.exchanges[i].answered = v, true
	}
	return true
}

func (c *testClient) last() value { return c.exchanges[len(c.exchanges)-1].reply }

func (v value) integer() int {
	n, _ := strconv.Atoi(string(v.text))
	return n
}
