package locks

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/internal/redistest"
)

const (
	token  = "9b2f4c1de2a34f6e8b7a1234567890ab"
	thread = "8743c9c0-0795-4907-87fd-6c719a6b4586:"
)

// server starts a Redis, and returns it with a client.
func server(t *testing.T, args ...string) (*redis.Options, *redis.Client) {
	o := &redis.Options{Addr: redistest.Start(t, args...)}
	c := redis.NewClient(o)
	t.Cleanup(func() { c.Close() })
	return o, c
}

// send sends commands, a line each.
func send(t *testing.T, c *redis.Client, lines string) {
	t.Helper()
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		var args []any
		for _, w := range strings.Fields(line) {
			args = append(args, w)
		}
		if err := c.Do(t.Context(), args...).Err(); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
}

// words says in one line each what a result has.
func words(r *Result) string {
	var b strings.Builder
	for _, l := range r.Locks {
		fmt.Fprintf(&b, "%s %s certain=%v waiters=%v subscribers=%d problems=%q\n", l.Key, l.Type, l.Certain, l.Waiters, l.Listen, l.Problems)
		for _, h := range l.Holders {
			fmt.Fprintf(&b, "  %q %s x%d %s on %v endless=%v left=%v time=%v\n", h.Owner, h.Mode, h.Count, h.State, h.On, h.Endless, h.Left > 0, h.Stored != nil)
		}
	}
	return b.String()
}

// Every kind of lock that clients store on one server is found, and what is none is not. Every command that the
// server has executed for it reads only.
func TestEachKindOfLockIsReadWithoutWriting(t *testing.T) {
	o, c := server(t)
	now := time.Now().UnixMilli()
	send(t, c, `SET lock:orders `+token+` PX 60000
SET job-lock 1
SET k0 `+token+` PX 60000
SET cached `+token+`
SET clock 12
SET lock:orders:fence 17
SET page:1 {"a":"`+token+`"} PX 60000
HSET anyLock `+thread+`1 2
PEXPIRE anyLock 60000
HSET rw mode read `+thread+`1 1 `+thread+`2 1
PEXPIRE rw 60000
HSET user:1 visits 3
RPUSH redisson_lock_queue:{anyLock} `+thread+`7
ZADD redisson_lock_timeout:{anyLock} `+fmt.Sprint(now)+` `+thread+`7
ZADD permits `+fmt.Sprint(now)+` `+token+`
ZADD ranking 12 alice`)
	sub := c.Subscribe(t.Context(), "lock:orders:released")
	defer sub.Close()
	if _, err := sub.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	send(t, c, "CONFIG RESETSTAT")
	r := List(t.Context(), []*redis.Options{o}, Options{})
	if !r.Complete || r.Servers[0].Keys != 14 || !strings.HasPrefix(r.Servers[0].Server, "redis ") {
		t.Errorf("read %+v", r.Servers[0])
	}
	const want = `anyLock hash certain=true waiters=[` + thread + `7] subscribers=0 problems=[]
  "` + thread + `1"  x2 held on [m1] endless=false left=true time=false
job-lock string certain=true waiters=[] subscribers=0 problems=["no owner: the value is a number of 1 characters" "no TTL: it stays until a client deletes it"]
  "1"  x0 held on [m1] endless=true left=false time=false
lock:orders string certain=true waiters=[] subscribers=1 problems=[]
  "` + token + `"  x0 held on [m1] endless=false left=true time=false
rw hash certain=true waiters=[] subscribers=0 problems=[]
  "` + thread + `1" read x1 held on [m1] endless=false left=true time=false
  "` + thread + `2" read x1 held on [m1] endless=false left=true time=false
k0 string certain=false waiters=[] subscribers=0 problems=[]
  "` + token + `"  x0 held on [m1] endless=false left=true time=false
permits zset certain=false waiters=[] subscribers=0 problems=["no TTL: it stays until a client deletes it"]
  "` + token + `"  x0 held on [m1] endless=true left=false time=true
`
	if got := words(r); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	readsOnly(t, c)
	r = List(t.Context(), []*redis.Options{o}, Options{Match: "cl*k"})
	if got := words(r); !strings.HasPrefix(got, "clock string certain=true") || len(r.Locks) != 1 {
		t.Errorf("--match: %s", got)
	}
}

// readsOnly fails if a server has executed a command that writes, or KEYS.
func readsOnly(t *testing.T, c *redis.Client) {
	t.Helper()
	stats, err := c.Info(context.Background(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	commands, err := c.Command(context.Background()).Result()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(stats) {
		name, found := strings.CutPrefix(line, "cmdstat_")
		if !found {
			continue
		}
		seen++
		name, _, _ = strings.Cut(name, ":")
		name, _, _ = strings.Cut(name, "|")
		if info := commands[name]; info == nil || slices.Contains(info.Flags, "write") || name == "keys" || strings.HasPrefix(name, "eval") {
			t.Errorf("it sent %s", name)
		}
	}
	if seen < 5 {
		t.Errorf("only %d commands were counted", seen)
	}
}

// A user who may do nothing but read sees the locks, and no command that writes was refused to it.
func TestUserWhoMayOnlyRead(t *testing.T) {
	o, c := server(t)
	send(t, c, `ACL SETUSER reader on >secret ~* +@read
SET lock:a `+token+` PX 60000`)
	o.Username, o.Password = "reader", "secret"
	r := List(t.Context(), []*redis.Options{o}, Options{})
	if !r.Complete || len(r.Locks) != 1 || r.Locks[0].Listen != -1 || r.Servers[0].Server != "" {
		t.Errorf("got %+v\n%s", r.Servers, words(r))
	}
	refused, err := c.Do(t.Context(), "ACL", "LOG").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []string{"set", "del", "expire", "eval", "keys"} {
		if strings.Contains(strings.ToLower(fmt.Sprint(refused)), "object:"+w+" ") {
			t.Errorf("%s was refused: %v", w, refused)
		}
	}
}

// With three masters a lock needs two. What one has is left behind if it stays, and of a master that does not answer
// nothing is known.
func TestLocksOnSeveralMasters(t *testing.T) {
	var at []*redis.Options
	var clients []*redis.Client
	for range 3 {
		o, c := server(t)
		at, clients = append(at, o), append(clients, c)
	}
	for i, c := range clients {
		send(t, c, fmt.Sprintf("SET lock:all %s PX %d", token, 60_000+i))
	}
	send(t, clients[0], "SET lock:two "+token+" PX 60000\nSET lock:left "+token+" PX 60000\nSET lock:split "+token+" PX 60000")
	send(t, clients[1], "SET lock:two "+token+"\nSET lock:split "+strings.ToUpper(token)+" PX 60000")
	send(t, clients[2], "SET lock:passing "+token+" PX 60000")
	opt := Options{settle: 50 * time.Millisecond}
	found := map[string]string{}
	for _, l := range passing(t, at, opt, clients[2]).Locks {
		for _, h := range l.Holders {
			found[l.Key] += fmt.Sprintf("%s on %v %v;", h.State, h.On, h.Endless)
		}
	}
	for key, want := range map[string]string{
		"lock:all": "held on [m1 m2 m3] false;", "lock:two": "held on [m1 m2] false;", "lock:left": "left behind on [m1] false;",
		"lock:split": "left behind on [m1] false;left behind on [m2] false;", "lock:passing": "passing on [m3] false;",
	} {
		if key == "lock:split" && strings.Contains(found[key], "m2") && strings.Contains(found[key], "m1") {
			continue
		}
		if found[key] != want {
			t.Errorf("%s: %s, want %s", key, found[key], want)
		}
	}
	at[2] = &redis.Options{Addr: "127.0.0.1:1"}
	r := List(t.Context(), at, opt)
	if r.Complete || r.Servers[2].Error == "" {
		t.Errorf("a master that does not answer: %+v", r.Servers[2])
	}
	for _, l := range r.Locks {
		if want := map[string]State{"lock:all": Held, "lock:two": Held}[l.Key]; want != "" && l.Holders[0].State != want || want == "" && l.Holders[0].State != Unclear {
			t.Errorf("%s without m3: %s", l.Key, l.Holders[0].State)
		}
	}
}

// passing reads the masters while a client deletes a key between the first and the second look.
func passing(t *testing.T, at []*redis.Options, opt Options, c *redis.Client) *Result {
	opt.settled = func() { send(t, c, "DEL lock:passing") }
	return List(t.Context(), at, opt)
}

// The bound holds, and what it cuts off is not said to be complete.
func TestBoundOfKeys(t *testing.T) {
	o, c := server(t, "--enable-debug-command", "local")
	send(t, c, "DEBUG POPULATE 3000 lock: 40")
	for most, complete := range map[int]bool{10: false, 1500: false, 2999: false, 3000: true, 100_000: true} {
		r := List(t.Context(), []*redis.Options{o}, Options{MaxKeys: most})
		if r.Complete != complete || r.Servers[0].Keys != min(most, 3000) || len(r.Locks) != min(most, 3000) {
			t.Errorf("at most %d keys: %d locks, %+v", most, len(r.Locks), r.Servers[0])
		}
	}
}

// A lock whose key nobody touches has been held at least so long, and with the TTL that locks set it is known when.
func TestHeldSince(t *testing.T) {
	e := &entry{key: "lock:a", kind: "string", text: token, left: 20 * time.Second, idle: 7 * time.Second}
	c := &contents{Server: Server{Name: "m1", Complete: true}, entries: map[string]*entry{"lock:a": e}, now: time.Now()}
	r := &Result{Quorum: 1}
	j := join{result: r, all: []*contents{c}, opt: Options{TTL: 30 * time.Second}, locks: map[string]*Lock{}, holders: map[holderOf][]seen{}}
	j.add()
	j.finish(t.Context())
	if h := r.Locks[0].Holders[0]; h.Untouched != 7*time.Second || h.Set != 10*time.Second || h.Left != 20*time.Second {
		t.Errorf("got %+v", h)
	}
}

// The master of a Sentinel is found through it; a name that it does not know is an error.
func TestMasterOfASentinel(t *testing.T) {
	o, c := server(t)
	send(t, c, "SET lock:a "+token+" PX 60000")
	host, port, _ := strings.Cut(o.Addr, ":")
	conf := filepath.Join(t.TempDir(), "sentinel.conf")
	if err := os.WriteFile(conf, []byte("sentinel monitor orders "+host+" "+port+" 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sentinel := &redis.Options{Addr: redistest.Start(t, conf, "--sentinel")}
	for _, name := range []string{"", "orders"} {
		found, err := Find(t.Context(), []*redis.Options{{Addr: "127.0.0.1:1"}, sentinel}, name)
		if err != nil || len(found) != 1 || found[0].Addr != o.Addr {
			t.Errorf("master %q: %v, %v", name, found, err)
		}
	}
	if _, err := Find(t.Context(), []*redis.Options{sentinel}, "other"); err == nil {
		t.Error("a name that the Sentinel does not know is not an error")
	}
	if _, err := Find(t.Context(), []*redis.Options{o}, "orders"); err == nil {
		t.Error("a Redis passes for a Sentinel")
	}
	send(t, redis.NewClient(sentinel), "SENTINEL MONITOR jobs "+host+" "+port+" 1")
	if _, err := Find(t.Context(), []*redis.Options{sentinel}, ""); err == nil || !strings.Contains(err.Error(), "jobs") {
		t.Errorf("two masters: %v", err)
	}
}
