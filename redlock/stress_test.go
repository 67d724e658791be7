package redlock_test

import (
	"crypto/tls"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster"
	"lockpick/internal/redistest"
	"lockpick/internal/waittest"
	"lockpick/redlock"
)

// TestStress goes on for as long as STRESS says ("make stress": 15 minutes). No two hold
// one lock, nothing hangs or leaks, and no master is connected to more often than the
// faults explain.
func TestStress(t *testing.T) {
	d, err := time.ParseDuration(os.Getenv("STRESS"))
	if err != nil {
		t.Skip(`STRESS is not a duration: "make stress" sets it`)
	}
	end := time.Now().Add(d)
	more := func(int, int64) bool { return time.Now().Before(end) }
	t.Run("masters", func(t *testing.T) {
		t.Run("pause, kill, links", func(t *testing.T) {
			t.Parallel()
			c := churn(t, more)
			for i := range c.Masters() {
				look(t, c, i, func(r *redis.Client) { fewConnections(t, fmt.Sprint("master ", i+1), r, d) })
			}
		})
		t.Run("one lease, many goroutines", func(t *testing.T) {
			t.Parallel()
			useAtOnce(t, masters(t, 3, cluster.None), more)
		})
		t.Run("TLS, password, database 3", func(t *testing.T) {
			t.Parallel()
			stressSecured(t, d, more)
		})
		t.Run("forged replies", func(t *testing.T) {
			t.Parallel()
			stressForged(t, more)
		})
		t.Run("Sentinel", func(t *testing.T) {
			t.Parallel()
			stressSentinel(t, d, more)
		})
	})
	waittest.Until(t, "no goroutine of the lock is left", func() bool { return lockGoroutines(t) == 0 })
}

// fewConnections fails if clients connect to a master again and again.
func fewConnections(t *testing.T, name string, r *redis.Client, d time.Duration) {
	t.Helper()
	text, err := r.Info(t.Context(), "stats").Result()
	must(t, err)
	_, text, _ = strings.Cut(text, "total_connections_received:")
	n, _ := strconv.Atoi(strings.Fields(text)[0])
	t.Logf("%s: %d connections since it started last", name, n)
	if most := 20 * int(d.Seconds()+10); n > most {
		t.Errorf("%s was connected to %d times in %v: at most %d are explained", name, n, d, most)
	}
}

// stressSecured is churn on masters with TLS and a password, in database 3.
func stressSecured(t *testing.T, d time.Duration, more func(int, int64) bool) {
	dir := t.TempDir()
	trusted := redistest.Certificate(t, dir)
	options := func(port string) *redis.Options {
		return &redis.Options{
			Addr: "127.0.0.1:" + port, Password: "secret", DB: 3, DialerRetries: 1,
			TLSConfig: &tls.Config{RootCAs: trusted, ServerName: "localhost"},
		}
	}
	var servers []*tlsServer
	for i := range 5 {
		s := &tlsServer{dir: filepath.Join(dir, fmt.Sprint("master", i)), certificates: dir, port: freePort(t)}
		must(t, os.Mkdir(s.dir, 0o700))
		must(t, s.start())
		t.Cleanup(s.kill)
		servers = append(servers, s)
	}
	var clients []*redlock.Client
	for range 2 {
		var all []*redis.Client
		for _, s := range servers {
			client := redis.NewClient(options(s.port))
			t.Cleanup(func() { client.Close() })
			all = append(all, client)
		}
		l, err := redlock.New(all, churnOptions...)
		must(t, err)
		t.Cleanup(func() { must(t, l.Close()) })
		clients = append(clients, l)
	}
	var admins []*redis.Client
	for _, s := range servers {
		admin := redis.NewClient(options(s.port))
		t.Cleanup(func() { admin.Close() })
		waittest.Until(t, "the master answers", func() bool { return admin.Ping(t.Context()).Err() == nil })
		admins = append(admins, admin)
	}
	churnOn(t, clients, func(r *mathrand.Rand) {
		i := r.IntN(len(servers))
		switch s := servers[i]; r.IntN(4) {
		case 0:
			must(t, s.cmd.Process.Signal(syscall.SIGSTOP))
			time.Sleep(faultFor) // the fault
			must(t, s.cmd.Process.Signal(syscall.SIGCONT))
		case 1:
			s.kill()
			time.Sleep(20 * time.Millisecond) // it is down
			must(t, s.start())
			time.Sleep(faultFor) // it is up
		case 2:
			_ = admins[i].Do(t.Context(), "client", "kill", "type", "normal", "skipme", "yes").Err() // it may be starting
			time.Sleep(faultFor)                                                                     // the fault
		case 3: // new connections are refused for a while
			_ = admins[i].ConfigSet(t.Context(), "requirepass", "other").Err()
			_ = admins[i].Do(t.Context(), "client", "kill", "type", "normal", "skipme", "yes").Err()
			time.Sleep(faultFor) // the fault
			waittest.Until(t, "the password is as before", func() bool {
				o := options(s.port)
				o.Password = "other"
				admin := redis.NewClient(o)
				defer admin.Close()
				return admin.ConfigSet(t.Context(), "requirepass", "secret").Err() == nil || admins[i].Ping(t.Context()).Err() == nil
			})
		}
	}, more)
	for i, admin := range admins {
		waittest.Until(t, "no key is left", func() bool { return admin.DBSize(t.Context()).Val() == 0 })
		fewConnections(t, fmt.Sprint("master with TLS ", i+1), admin, d)
		spaces, err := admin.Info(t.Context(), "keyspace").Result()
		must(t, err)
		if strings.Contains(spaces, "db0:") {
			t.Errorf("master with TLS %d has keys in database 0", i+1)
		}
	}
}

// stressSentinel fails over again and again below a lock on one master. Replication is
// asynchronous, so a failover may lose a lock: what counts is that the lock goes on.
func stressSentinel(t *testing.T, d time.Duration, more func(int, int64) bool) {
	s := startSentinel(t)
	l, client := s.lock(t)
	failovers := 0
	for ; more(failovers, 0); failovers++ {
		for range 100 {
			recovers(t, l)
		}
		s.failOver(t)
		recovers(t, l)
		// Sentinel takes its time to make the old master a replica, and so to be ready for
		// the next failover. The lock goes on meanwhile.
		waittest.Until(t, "the old master is a replica", func() bool {
			recovers(t, l)
			return s.ready(t)
		})
	}
	fewConnections(t, "master behind Sentinel", client.WithTimeout(5*time.Second), d)
	t.Logf("%d failovers", failovers)
}

// tlsServer is a redis-server that can be killed and started again.
type tlsServer struct {
	dir, certificates, port string
	cmd                     *exec.Cmd
}

func (s *tlsServer) start() error {
	s.cmd = exec.Command("redis-server", "--port", "0", "--tls-port", s.port, "--bind", "127.0.0.1", "--dir", s.dir,
		"--tls-cert-file", filepath.Join(s.certificates, "cert.pem"), "--tls-key-file", filepath.Join(s.certificates, "key.pem"),
		"--tls-ca-cert-file", filepath.Join(s.certificates, "cert.pem"), "--tls-auth-clients", "no",
		"--requirepass", "secret", "--save", "", "--appendonly", "yes", "--appendfsync", "always")
	return s.cmd.Start()
}

func (s *tlsServer) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	must(t, err)
	return port
}
