package watch

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/redlock"
)

// speak makes one of Lockpick's example clients acquire, extend and release a lock several times,
// by the protocol of docs/clients.md.
func speak(t *testing.T, command []string, masters []string, rounds int) error {
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Wait()
	defer in.Close()
	lines := bufio.NewScanner(out)
	ask := func(request map[string]any) (map[string]any, error) {
		text, _ := json.Marshal(request)
		if _, err := fmt.Fprintf(in, "%s\n", text); err != nil {
			return nil, err
		}
		if !lines.Scan() {
			return nil, io.ErrUnexpectedEOF
		}
		var reply map[string]any
		err := json.Unmarshal(lines.Bytes(), &reply)
		if err == nil && reply["type"] == "info" {
			err = fmt.Errorf("%v: %v", request["op"], reply)
		}
		return reply, err
	}
	var urls []string
	for _, address := range masters {
		urls = append(urls, "redis://"+address)
	}
	if _, err := ask(map[string]any{"op": "init", "masters": masters, "urls": urls, "ttl_ms": 20_000, "ttl": 20 * time.Second, "client": "c", "protocol": 2}); err != nil {
		return err
	}
	for range rounds {
		reply, err := ask(map[string]any{"op": "acquire", "key": "guarded", "within_ms": 15_000, "within": 15 * time.Second})
		if err != nil || reply["type"] != "ok" {
			return fmt.Errorf("acquire: %v, %w", reply, err)
		}
		for _, op := range []string{"extend", "release"} {
			if _, err := ask(map[string]any{"op": op, "key": "guarded", "token": reply["token"]}); err != nil {
				return err
			}
		}
	}
	return nil
}

// library is a client that is watched.
type library struct {
	name    string
	masters int
	command []string // what starts it; nil: redlock, in the test
	probe   []string // succeeds if the library is installed
	dir     string   // the module to build first; then command are its arguments
	truly   string   // rules that the library really breaks when clients contend
}

// libraries are those whose clients need no module of their own.
var libraries = []library{
	{name: "redis-py", masters: 1, command: []string{"/usr/bin/python3", "../clients/python/redis_py.py"}, probe: []string{"/usr/bin/python3", "-c", "import redis"}, truly: "fixed-retry-delay"},
	{name: "symfony", masters: 1, command: []string{"php", "../clients/php/symfony_lock.php"}, probe: []string{"php", "-r", "require 'Symfony/Component/Lock/autoload.php'; new Redis();"}, truly: "fixed-retry-delay"},
	// Its clients may split the masters between them. Then CombinedStore deletes the keys that it got, and tries again with the token of the Key.
	{name: "symfony combined", masters: 3, command: []string{"php", "../clients/php/symfony_lock.php", "combined"}, probe: []string{"php", "-r", "require 'Symfony/Component/Lock/autoload.php'; new Redis();"}, truly: "fixed-retry-delay reused-token"},
	{name: "redlock", masters: 3},
}

func TestNoFalseFindingOnRealClients(t *testing.T) { contend(t, libraries) }

// contend lets three clients of each library contend for a lock. It accepts only the findings listed as true of the library.
func contend(t *testing.T, libraries []library) {
	for _, x := range libraries {
		t.Run(x.name, func(t *testing.T) {
			command := x.command
			if x.dir != "" {
				program := filepath.Join(t.TempDir(), "client")
				build := exec.Command("go", "build", "-o", program, ".")
				build.Dir = x.dir
				if out, err := build.CombinedOutput(); err != nil {
					t.Skipf("the client cannot be built: %v: %s", err, out)
				}
				command = append([]string{program}, x.command...)
			}
			if x.probe != nil {
				if out, err := exec.Command(x.probe[0], x.probe[1:]...).CombinedOutput(); err != nil {
					t.Skipf("the library is not installed: %v: %s", err, out)
				}
			}
			b := watching(t, x.masters, Options{})
			var clients sync.WaitGroup
			for range 3 {
				clients.Go(func() {
					var err error
					if command == nil {
						err = useRedlock(t.Context(), b.addresses, 10)
					} else {
						err = speak(t, command, b.addresses, 10)
					}
					if err != nil {
						t.Error(err)
					}
				})
			}
			clients.Wait()
			r := b.result()
			if r.Leases != 30 || r.Locks != 1 {
				t.Errorf("30 leases of one lock were granted; the watch saw %d of %d", r.Leases, r.Locks)
			}
			for _, f := range r.Findings {
				if !strings.Contains(x.truly, f.ID) {
					t.Errorf("a false finding: %s\n%s", f.ID, strings.Join(f.Evidence, "\n"))
				}
			}
		})
	}
}

// useRedlock acquires and releases a lock several times.
func useRedlock(ctx context.Context, masters []string, rounds int) error {
	var clients []*redis.Client
	for _, a := range masters {
		c := redis.NewClient(&redis.Options{Addr: a, MaxRetries: -1})
		defer c.Close()
		clients = append(clients, c)
	}
	lock, err := redlock.New(clients)
	if err != nil {
		return err
	}
	defer lock.Close()
	for range rounds {
		lease, err := lock.Lock(ctx, "guarded")
		if err != nil {
			return err
		}
		if err := lease.Unlock(ctx); err != nil {
			return err
		}
	}
	return nil
}
