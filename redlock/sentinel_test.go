package redlock_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

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

// A lock on a master behind Sentinel goes on after a failover.
func TestSentinelFailover(t *testing.T) {
	master := redisProcess(t, "--save", "")
	replica := redisProcess(t, "--save", "", "--replicaof", "127.0.0.1 "+master, "--repl-diskless-sync-delay", "0")
	admin := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + replica})
	defer admin.Close()
	role := func() string {
		r, err := admin.Do(t.Context(), "role").Slice()
		if err != nil || len(r) == 0 {
			return ""
		}
		if r[0] == "slave" && len(r) > 3 {
			return fmt.Sprint(r[3])
		}
		return fmt.Sprint(r[0])
	}
	eventually(t, "the replica is connected", func() bool { return role() == "connected" })
	conf := filepath.Join(t.TempDir(), "sentinel.conf")
	must(t, os.WriteFile(conf, []byte("sentinel monitor mymaster 127.0.0.1 "+master+" 1\nsentinel down-after-milliseconds mymaster 2000\nsentinel failover-timeout mymaster 6000\n"), 0o600))
	port := redisProcess(t, conf, "--sentinel")
	sentinel := redis.NewSentinelClient(&redis.Options{Addr: "127.0.0.1:" + port})
	defer sentinel.Close()
	eventually(t, "Sentinel knows the replica", func() bool {
		all, err := sentinel.Replicas(t.Context(), "mymaster").Result()
		return err == nil && len(all) == 1
	})
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "mymaster", SentinelAddrs: []string{"127.0.0.1:" + port}, DialerRetries: 1})
	defer client.Close()
	l, err := redlock.New([]redis.UniversalClient{client}, redlock.WithTimeout(500*time.Millisecond))
	must(t, err)
	defer l.Close()
	recovers(t, l)
	eventually(t, "Sentinel fails over", func() bool {
		_ = sentinel.Failover(t.Context(), "mymaster").Err() // an error while it is not ready
		return role() == "master"
	})
	recovers(t, l)
}
