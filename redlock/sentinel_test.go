package redlock_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/internal/waittest"
	"lockpick/redlock"
)

// redisProcess starts a redis-server that ends with the test, and returns its port.
func redisProcess(t *testing.T, args ...string) (port string) {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("needs redis-server: ", err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	_, port, err = net.SplitHostPort(ln.Addr().String())
	must(t, err)
	must(t, ln.Close())
	cmd := exec.Command(path, append(args, "--port", port, "--bind", "127.0.0.1", "--dir", t.TempDir())...)
	must(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return port
}

// sentinel is a master with a replica, and a Sentinel that watches them.
type sentinel struct {
	addr     string
	sentinel *redis.SentinelClient
}

func startSentinel(t *testing.T) *sentinel {
	t.Helper()
	master := redisProcess(t, "--save", "", "--repl-diskless-sync-delay", "0")
	replica := redisProcess(t, "--save", "", "--replicaof", "127.0.0.1 "+master, "--repl-diskless-sync-delay", "0")
	admin := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + replica})
	defer admin.Close()
	waittest.Until(t, "the replica is connected", func() bool {
		r, err := admin.Do(t.Context(), "role").Slice()
		return err == nil && len(r) > 3 && r[3] == "connected"
	})
	conf := filepath.Join(t.TempDir(), "sentinel.conf")
	must(t, os.WriteFile(conf, []byte("sentinel monitor mymaster 127.0.0.1 "+master+" 1\nsentinel down-after-milliseconds mymaster 2000\nsentinel failover-timeout mymaster 6000\n"), 0o600))
	s := &sentinel{addr: "127.0.0.1:" + redisProcess(t, conf, "--sentinel")}
	s.sentinel = redis.NewSentinelClient(&redis.Options{Addr: s.addr})
	t.Cleanup(func() { s.sentinel.Close() })
	waittest.Until(t, "Sentinel knows the replica", func() bool {
		all, err := s.sentinel.Replicas(t.Context(), "mymaster").Result()
		return err == nil && len(all) == 1
	})
	return s
}

// lock is a lock on the master that Sentinel names, and the connections below it.
func (s *sentinel) lock(t *testing.T) (*redlock.Client, *redis.Client) {
	t.Helper()
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "mymaster", SentinelAddrs: []string{s.addr}, DialerRetries: 1})
	t.Cleanup(func() { client.Close() })
	l, err := redlock.New([]redis.UniversalClient{client}, redlock.WithTimeout(500*time.Millisecond))
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l, client
}

// failOver has Sentinel promote the replica.
func (s *sentinel) failOver(t *testing.T) {
	t.Helper()
	before := s.master(t)
	waittest.Until(t, "Sentinel fails over", func() bool {
		_ = s.sentinel.Failover(t.Context(), "mymaster").Err() // an error while it is not ready
		return s.master(t) != before
	})
}

// master is where the master is, as Sentinel says.
func (s *sentinel) master(t *testing.T) string {
	addr, _ := s.sentinel.GetMasterAddrByName(t.Context(), "mymaster").Result()
	return strings.Join(addr, ":")
}

// ready says that the replica follows the master, as Sentinel says.
func (s *sentinel) ready(t *testing.T) bool {
	all, err := s.sentinel.Replicas(t.Context(), "mymaster").Result()
	return err == nil && len(all) == 1 && all[0]["master-link-status"] == "ok"
}

// A lock on a master behind Sentinel goes on after a failover.
func TestSentinelFailover(t *testing.T) {
	s := startSentinel(t)
	l, _ := s.lock(t)
	recovers(t, l)
	s.failOver(t)
	recovers(t, l)
}
