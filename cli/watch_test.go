package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/internal/redistest"
	"lockpick/redlock"
)

// TestWatchOverTLS: clients speak plainly to the watch, and it speaks TLS to their Redis. What it
// has measured is a setup that risk takes, and a scenario that run takes, and the leases that it saw can be checked.
func TestWatchOverTLS(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("there is no redis-server here: " + err.Error())
	}
	dir := t.TempDir()
	redistest.Certificate(t, dir)
	port := freePort(t)
	server := exec.Command("redis-server", "--port", "0", "--tls-port", port, "--bind", "127.0.0.1", "--dir", dir, "--tls-cert-file", "cert.pem", "--tls-key-file", "key.pem",
		"--tls-ca-cert-file", "cert.pem", "--tls-auth-clients", "no", "--save", "", "--requirepass", "secret")
	server.Dir = dir
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
	})
	to := "rediss://:secret@localhost:" + port
	watching := exec.Command(binary, "watch", "--listen", "127.0.0.1:0", "--to", to, "--tls-ca", "cert.pem", "--risk", "risk.yaml", "--scenario", "scenario.yaml", "--history", "seen.jsonl", "--json")
	watching.Dir = dir
	var stdout, stderr lines
	watching.Stdout, watching.Stderr = &stdout, &stderr
	if err := watching.Start(); err != nil {
		t.Fatal(err)
	}
	defer watching.Process.Kill()
	address := stderr.await(t, regexp.MustCompile(`connect to (\S+)`))
	client := redis.NewClient(&redis.Options{Addr: address, Password: "secret"})
	defer client.Close()
	for deadline := time.Now().Add(10 * time.Second); client.Ping(t.Context()).Err() != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no answer through the watch: %v\n%s", client.Ping(t.Context()).Err(), stderr.String())
		}
	}
	locks, err := redlock.New([]redis.UniversalClient{client}, redlock.WithTTL(2*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close()
	for range 20 {
		lease, err := locks.Lock(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Unlock(context.Background()); err != nil {
			t.Error(err)
		}
	}
	watching.Process.Signal(os.Interrupt)
	watching.Wait()
	var got struct {
		Leases   int
		Findings []struct{ Rule string }
	}
	if err := json.Unmarshal([]byte(stdout.String()), &got); err != nil || got.Leases != 20 {
		t.Fatalf("%d leases, %v\n%s\n%s", got.Leases, err, stdout.String(), stderr.String())
	}
	if len(got.Findings) > 0 {
		t.Errorf("findings on redlock: %v", got.Findings)
	}
	if strings.Contains(stdout.String()+stderr.String(), "secret") {
		t.Error("the password is printed")
	}
	if out, errs, code := lockpick(t, dir, "risk", "risk.yaml", "--samples", "50", "--no-what-if"); code != exitHolds {
		t.Errorf("risk: exit %d\n%s\n%s", code, out, errs)
	}
	if out, errs, code := lockpick(t, dir, "check", "seen.jsonl"); code != exitUndecided || !strings.Contains(out, "holds 20") || !strings.Contains(strings.Join(strings.Fields(out), " "), "it can show a violation, and not that there is none") {
		t.Errorf("check: exit %d\n%s\n%s", code, out, errs)
	}
	if out, errs, code := lockpick(t, dir, "run", "scenario.yaml", "--driver", "sim", "--faults", "none", "--time-limit", "2s"); code != exitHolds && code != exitUndecided {
		t.Errorf("run: exit %d\n%s\n%s", code, out, errs)
	}
}

// lines is what a process has printed so far.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// await returns what a pattern's group matches, once it is printed.
func (l *lines) await(t *testing.T, pattern *regexp.Regexp) string {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if m := pattern.FindStringSubmatch(l.String()); m != nil {
			return m[1]
		}
		if time.Now().After(deadline) {
			t.Fatalf("it did not print %s:\n%s", pattern, l.String())
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return fmt.Sprint(ln.Addr().(*net.TCPAddr).Port)
}
