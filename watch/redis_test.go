package watch

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster/lua"
	"lockpick/cluster/resp"
	"lockpick/history"
	"lockpick/internal/redistest"
)

const (
	compareDelete = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`
	compareExpire = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0`
	brokenDelete  = `if redis.call("exists", KEYS[1]) then return redis.call("del", KEYS[1]) end return 0`
)

func await(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

// bench is a watch in front of real masters.
type bench struct {
	t         testing.TB
	lint      *Lint
	tap       *Tap
	proxies   []*Proxy
	addresses []string
	closed    bool
}

func watching(t testing.TB, masters int, opt Options) *bench {
	t.Helper()
	opt.Masters = masters
	b := &bench{t: t}
	var err error
	if b.lint, err = NewLint(opt); err != nil {
		t.Fatal(err)
	}
	b.tap = NewTap(b.lint)
	for i := range masters {
		p, err := NewProxy(i, Target{Listen: "127.0.0.1:0", To: redistest.Start(t)}, b.tap)
		if err != nil {
			t.Fatal(err)
		}
		b.proxies, b.addresses = append(b.proxies, p), append(b.addresses, p.Addr())
	}
	t.Cleanup(b.close)
	return b
}

func (b *bench) close() {
	if b.closed {
		return
	}
	b.closed = true
	for _, p := range b.proxies {
		p.Close()
	}
	b.tap.Close()
}

// result ends the watch and returns its result as of two seconds from now.
func (b *bench) result() Result {
	b.close()
	missed, _, _, _ := b.tap.Status()
	return b.lint.Result(time.Now().Add(2*time.Second), missed)
}

func (r *Result) rules() (ids []string) {
	for _, f := range r.Findings {
		ids = append(ids, f.ID)
	}
	return ids
}

// connection is a client with a single connection.
type connection struct {
	*redis.Client
	t testing.TB
}

func (b *bench) connect(master int) connection {
	c := redis.NewClient(&redis.Options{Addr: b.addresses[master], PoolSize: 1, MaxRetries: -1, DisableIdentity: true, Protocol: 2})
	b.t.Cleanup(func() { c.Close() })
	return connection{c, b.t}
}

// fresh returns another client of the same server.
func (c connection) fresh() *redis.Client {
	o := *c.Options()
	other := redis.NewClient(&o)
	c.t.Cleanup(func() { other.Close() })
	return other
}

// do sends a command and returns its reply or error.
func (c connection) do(args ...any) any {
	v, err := c.Do(context.Background(), args...).Result()
	if err != nil {
		return err
	}
	return v
}

func token() string { return rand.Text() }

// TestEachSmellIsFoundAloneInRealTraffic checks that each hand-written client breaks exactly the
// named rules.
func TestEachSmellIsFoundAloneInRealTraffic(t *testing.T) {
	set := func(c connection, key, token string) { c.do("SET", key, token, "NX", "PX", 60_000) }
	free := func(c connection, key, token string) { c.do("EVAL", compareDelete, 1, key, token) }
	for _, x := range []struct {
		name  string
		rules string
		talk  func(a, b connection)
	}{
		{"right", "", func(a, b connection) {
			mine := token()
			set(a, "k", mine)
			set(b, "k", token())
			a.do("EVAL", compareExpire, 1, "k", mine, 60_000)
			a.do("EVAL", compareDelete, 1, "k", mine)
		}},
		{"SETNX then EXPIRE", "setnx-then-expire", func(a, b connection) {
			a.do("SETNX", "k", token())
			a.do("EXPIRE", "k", 60)
			b.do("SETNX", "k", token())
		}},
		{"SET NX without a TTL", "no-ttl", func(a, b connection) {
			a.do("SET", "k", token(), "NX")
			set(b, "k", token())
		}},
		{"a constant token", "weak-token shared-token", func(a, b connection) { set(a, "k", "locked"); set(b, "k", "locked"); free(a, "k", "locked") }},
		{"a time as token", "weak-token", func(a, b connection) {
			set(a, "k", "1732333813.0713")
			free(a, "k", "1732333813.0713")
		}},
		{"one token for two connections", "shared-token", func(a, b connection) {
			mine := token()
			set(a, "k", mine)
			set(b, "k", mine)
			free(a, "k", mine)
		}},
		{"a token that is used again", "reused-token", func(a, b connection) {
			mine := token()
			for range 2 {
				set(a, "k", mine)
				a.do("EVAL", compareDelete, 1, "k", mine)
			}
		}},
		{"a bare DEL", "bare-delete", func(a, b connection) { set(a, "k", token()); a.do("DEL", "k") }},
		{"GET, then DEL", "get-then-delete", func(a, b connection) { set(a, "k", token()); a.do("GET", "k"); a.do("DEL", "k") }},
		{"WATCH, GET, MULTI, DEL, EXEC", "", func(a, b connection) {
			set(a, "k", token())
			for _, c := range [][]any{{"WATCH", "k"}, {"GET", "k"}, {"MULTI"}, {"DEL", "k"}, {"EXEC"}} {
				a.do(c...)
			}
		}},
		{"a bare PEXPIRE", "expire-without-compare", func(a, b connection) { set(a, "k", token()); a.do("PEXPIRE", "k", 90_000) }},
		{"a script that compares nothing", "script-without-compare", func(a, b connection) {
			mine := token()
			set(a, "k", mine)
			a.do("EVAL", brokenDelete, 1, "k", mine)
		}},
		{"a bracket in the wrong place", "script-fails", func(a, b connection) {
			mine := token()
			set(a, "k", mine)
			a.do("EVAL", `if redis.call("get", KEYS[1] == ARGV[1]) then return redis.call("del", KEYS[1]) end return 0`, 1, "k", mine)
		}},
		{"NOSCRIPT is ignored", "noscript-ignored", func(a, b connection) {
			mine := token()
			set(a, "k", mine)
			a.do("EVALSHA", strings.Repeat("0", 40), 1, "k", mine)
			a.do("GET", "k")
		}},
		{"NOSCRIPT of a script that releases nothing is answered with EVAL by another connection", "", func(a, b connection) {
			mine, script := token(), `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("hset", KEYS[1] .. ":readers", ARGV[1], 1) end return 0`
			set(a, "k", mine)
			a.do("EVALSHA", lua.SHA(script), 1, "k", mine)
			b.do("EVAL", script, 1, "k", mine)
			a.do("GET", "k")
		}},
		{"NOSCRIPT is answered with EVAL", "", func(a, b connection) {
			mine := token()
			set(a, "k", mine)
			a.do("EVALSHA", lua.SHA(compareDelete), 1, "k", mine)
			a.do("EVAL", compareDelete, 1, "k", mine)
		}},
		{"a hold that outlasts its lease, and a late extension", "ttl-shorter-than-hold late-extension", func(a, b connection) {
			mine := token()
			a.do("SET", "k", mine, "NX", "PX", 20)
			for a.do("EXISTS", "k") != int64(0) {
			}
			time.Sleep(20 * time.Millisecond)
			a.do("EVAL", compareExpire, 1, "k", mine, 20)
			a.do("EVAL", compareDelete, 1, "k", mine)
		}},
		{"retries at a fixed interval", "fixed-retry-delay", func(a, b connection) {
			mine := token()
			set(a, "k", mine)
			for range 30 {
				set(b, "k", token())
				time.Sleep(20 * time.Millisecond)
			}
			free(a, "k", mine)
		}},
		{"retries without a pause", "busy-polling", func(a, b connection) {
			mine := token()
			set(a, "k", mine)
			for range 40 {
				set(b, "k", token())
			}
			free(a, "k", mine)
		}},
		{"no lock: a cache", "", func(a, b connection) {
			a.do("SET", "page", "<html>", "EX", 60)
			a.do("GET", "page")
			a.do("DEL", "page")
			a.do("SET", "seen:17", "1", "NX", "EX", 60)
		}},
		{"no lock: events that are handled once", "", func(a, b connection) {
			for range 300 {
				a.do("SET", "seen:17", "1", "NX", "EX", 60)
				b.do("SET", "seen:17", "1", "NX", "EX", 60)
			}
		}},
		{"a crowd", "mostly-refused", func(a, b connection) {
			mine := token()
			set(a, "k", mine)
			for range manyRefusals / 2 {
				for range 2 { // of many clients
					set(connection{b.fresh(), b.t}, "k", token())
				}
			}
			free(a, "k", mine)
		}},
		{"a user who may not write", "commands-fail", func(a, b connection) {
			mine := token()
			set(a, "k", mine)
			a.do("ACL", "SETUSER", "reader", "on", ">secret", "~*", "+@read", "+@connection", "+evalsha", "+eval")
			b.do("AUTH", "reader", "secret")
			for range manyErrors {
				free(b, "k", mine)
				set(b, "k", mine)
			}
			free(a, "k", mine)
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			var r Result
			tries := 1
			if x.rules == "fixed-retry-delay" || x.rules == "busy-polling" {
				tries = 5 // a busy machine delays the client, and then its pauses differ
			}
			for range tries {
				b := watching(t, 1, Options{})
				x.talk(b.connect(0), b.connect(0))
				if r = b.result(); strings.Join(r.rules(), " ") == x.rules {
					break
				}
			}
			if got := strings.Join(r.rules(), " "); got != x.rules {
				var report bytes.Buffer
				r.Print(&report)
				t.Errorf("found %q, want %q\n%s", got, x.rules, &report)
			}
		})
	}
}

// TestNoValueIsKept checks that a watch prints and writes no tokens, values or passwords, and no keys
// if they are hashed.
func TestNoValueIsKept(t *testing.T) {
	b := watching(t, 1, Options{HashKeys: true})
	a := b.connect(0)
	a.do("AUTH", "secret-password")
	a.do("SETNX", "secret-key", "secret-token")
	a.do("EXPIRE", "secret-key", 60)
	a.do("SET", "secret-key", "secret-value", "XX")
	a.do("EVAL", "return redis.call('del', KEYS[1])", 1, "secret-key", "secret-argument")
	r := b.result()
	if len(r.Findings) < 3 {
		t.Fatalf("too few findings to say anything: %v", r.rules())
	}
	var all bytes.Buffer
	r.Print(&all)
	if err := b.lint.WriteHistory(&all); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(all.String(), "secret") {
		t.Errorf("a value was kept:\n%s", &all)
	}
}

// TestSmellsOfSeveralMasters checks the rules on an even number of masters and on a lock without a
// quorum.
func TestSmellsOfSeveralMasters(t *testing.T) {
	b := watching(t, 4, Options{})
	for n, masters := range [][]int{{0, 1, 2, 3}, {0, 1}} {
		mine, key, began := token(), string(rune('a'+n)), time.Now()
		for _, m := range masters {
			b.connect(m).do("SET", key, mine, "NX", "PX", 60_000)
		}
		time.Sleep(40*time.Millisecond + 3*time.Since(began)) // the work
		for _, m := range masters {
			b.connect(m).do("EVAL", compareDelete, 1, key, mine)
		}
	}
	r := b.result()
	if got := strings.Join(r.rules(), " "); got != "even-masters less-than-quorum" {
		t.Errorf("found %q", got)
	}
}

// TestReplicationIsAskedFor checks the rules on a master with a replica, with and without WAIT, and
// on a replica.
func TestReplicationIsAskedFor(t *testing.T) {
	master := redistest.Start(t)
	host, port, _ := net.SplitHostPort(master)
	replica := redistest.Start(t, "--replicaof", host+" "+port)
	var roles [2]Role
	await(t, "the replica is connected", func() bool {
		var err error
		roles[0], err = AskRole(t.Context(), &redis.Options{Addr: master})
		return err == nil && roles[0].Replicas == 1
	})
	roles[1], _ = AskRole(t.Context(), &redis.Options{Addr: replica})
	for _, waits := range []bool{false, true} {
		b := watching(t, 1, Options{})
		b.lint.SetRole(0, roles[0])
		a, mine := b.connect(0), token()
		a.do("SET", "k", mine, "NX", "PX", 60_000)
		if waits {
			a.do("WAIT", 1, 1)
		}
		a.do("EVAL", compareDelete, 1, "k", mine)
		r := b.result()
		if got := slices.Contains(r.rules(), "lost-by-failover"); got == waits {
			t.Errorf("WAIT %v, and lost-by-failover %v", waits, got)
		}
	}
	b := watching(t, 1, Options{})
	b.lint.SetRole(0, roles[1])
	a := b.connect(0)
	a.do("SET", "k", token(), "NX", "PX", 60_000)
	a.do("EVAL", compareDelete, 1, "k", token())
	if r := b.result(); !slices.Contains(r.rules(), "lock-on-replica") {
		t.Errorf("on a replica: %v", r.rules())
	}
}

// TestTheHistoryShowsLeasesThatOverlap checks the history of a master that loses a key and grants
// it twice.
func TestTheHistoryShowsLeasesThatOverlap(t *testing.T) {
	b := watching(t, 1, Options{})
	a, c := b.connect(0), b.connect(0)
	a.do("SET", "k", token(), "NX", "PX", 60_000)
	a.do("FLUSHALL")
	mine := token()
	c.do("SET", "k", mine, "NX", "PX", 60_000)
	c.do("EVAL", compareDelete, 1, "k", mine)
	b.close()
	var text bytes.Buffer
	if err := b.lint.WriteHistory(&text); err != nil {
		t.Fatal(err)
	}
	h, err := history.Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	leases := history.Leases(h.Ops)
	if len(leases) != 2 || leases[0].Until() < leases[1].Acquired() || !h.Ended || len(h.Problems) > 0 {
		t.Errorf("leases %+v, ended %v, problems %v", leases, h.Ended, h.Problems)
	}
}

// TestMonitorFindsTheSame checks that MONITOR finds the same as a proxy, without the replies.
func TestMonitorFindsTheSame(t *testing.T) {
	address := redistest.Start(t)
	l, err := NewLint(Options{Masters: 1})
	if err != nil {
		t.Fatal(err)
	}
	tap := NewTap(l)
	defer tap.Close()
	m, err := Monitor(t.Context(), 0, &redis.Options{Addr: address}, tap)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	b := &bench{t: t, addresses: []string{address}}
	a, c := b.connect(0), b.connect(0)
	mine := token()
	a.do("SET", "k", mine, "NX", "PX", 60_000)
	c.do("SET", "k", token(), "NX", "PX", 60_000)
	a.do("EVAL", compareDelete, 1, "k", mine)
	c.do("SET", "k", token(), "NX", "PX", 60_000)
	c.do("DEL", "k")
	a.do("SETNX", "k2", token())
	a.do("EXPIRE", "k2", 60)
	a.do("DEL", "k2")
	a.do("SETNX", "last", token())
	await(t, "the last command is read", func() (done bool) {
		tap.Read(func(l *Lint) { done = l.cells["last"] != nil && l.cells["last"].tries > 0 })
		return done
	})
	tap.Read(func(l *Lint) {
		r := l.Result(time.Now(), Missed{})
		if got := strings.Join(r.rules(), " "); got != "setnx-then-expire bare-delete" || r.Leases != 3 || r.Refused != 1 {
			t.Errorf("found %q, leases %d, refused %d", got, r.Leases, r.Refused)
		}
	})
}

// TestFiguresCountLocksOnly: keys that keep events from being handled twice are in no figure, errors that concern the
// server's role are told, and the replicas of the lock's master are in the file for lockpick risk.
func TestFiguresCountLocksOnly(t *testing.T) {
	for _, c := range []struct {
		role Role
		want string
	}{{Role{Known: true}, "replicas: 0\n"}, {Role{Known: true, Replicas: 1}, "replicas: 1\n"}, {Role{Known: true, Replicas: 5}, "replicas: 2 # of 5\n"}, {Role{}, ""}} {
		l, err := NewLint(Options{Masters: 1})
		if err != nil {
			t.Fatal(err)
		}
		l.SetRole(0, c.role)
		answer := func(conn int64, reply string, args ...string) {
			now := l.start.Add(time.Second)
			l.Exchange(0, conn, resp.Exchange{Args: args, Reply: resp.ReplyOf([]byte(reply)), Sent: now, Answered: now.Add(time.Millisecond)})
		}
		for i := range 100 {
			key := fmt.Sprint("seen:", i%50)
			answer(1, map[bool]string{true: "+OK\r\n", false: "$-1\r\n"}[i < 50], "SET", key, "1", "NX", "EX", "3600")
		}
		mine := token()
		answer(1, "+OK\r\n", "SET", "k", mine, "NX", "PX", "5000")
		answer(2, "$-1\r\n", "SET", "k", token(), "NX", "PX", "5000")
		answer(2, "-MOVED 3999 127.0.0.1:6381\r\n", "SET", "k", token(), "NX", "PX", "5000")
		answer(1, "-READONLY You can't write against a read only replica.\r\n", "EVAL", compareDelete, "1", "k", mine)
		answer(1, ":1\r\n", "EVAL", compareDelete, "1", "k", mine)
		r := l.Result(l.start.Add(10*time.Second), Missed{})
		f := r.Figures
		if r.Locks != 1 || r.Candidates != 50 || r.Refused != 1 || f.Keys != 1 || f.TTL != 5*time.Second || f.Latency.Count != 2 || f.Hold.Count != 1 || f.AcquisitionsPerSecond != 0.1 {
			t.Errorf("locks %d, candidates %d, refused %d, figures %+v", r.Locks, r.Candidates, r.Refused, f)
		}
		if r.Errors["MOVED"] != 1 || r.Errors["READONLY"] != 1 || !strings.Contains(strings.Join(r.Notes, " "), "MOVED was answered once") {
			t.Errorf("errors %v, notes %q", r.Errors, r.Notes)
		}
		if text := f.Risk(); !strings.Contains(text, c.want) || c.want == "" && strings.Contains(text, "replicas:") {
			t.Errorf("%+v: the setup for risk is\n%s", c.role, text)
		}
	}
}
