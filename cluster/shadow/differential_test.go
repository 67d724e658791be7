package shadow

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockpick/cluster"
	"lockpick/internal/sampletest"
)

var replies = sampletest.Flag("shadow.replies", 1_000_000, 500, 2, "replies of each real server to compare with its account; a tenth of it where the server evicts keys")

// Scripts as locks have them. Each replies 1 if and only if it has changed a key.
const (
	releaseScript = `if redis.call("get",KEYS[1])==ARGV[1] then return redis.call("del",KEYS[1]) end return 0`
	extendScript  = `if redis.call("get",KEYS[1])==ARGV[1] then return redis.call("pexpire",KEYS[1],ARGV[2]) end return 0`
	enterScript   = `if redis.call("exists",KEYS[1])==0 or redis.call("hexists",KEYS[1],ARGV[1])==1 then redis.call("hincrby",KEYS[1],ARGV[1],1) redis.call("pexpire",KEYS[1],math.max(redis.call("pttl",KEYS[1]),tonumber(ARGV[2]))) return 1 end return 0`
	leaveScript   = `if redis.call("hexists",KEYS[1],ARGV[1])==0 then return 0 end if redis.call("hincrby",KEYS[1],ARGV[1],-1)<=0 then redis.call("del",KEYS[1]) end return 1`
	semScript     = `local t=redis.call("time") local now=t[1]*1000+math.floor(t[2]/1000) local n=redis.call("zremrangebyscore",KEYS[1],"-inf",now) if redis.call("zcard",KEYS[1])<2 then redis.call("zadd",KEYS[1],now+tonumber(ARGV[2]),ARGV[1]) redis.call("pexpire",KEYS[1],ARGV[2]) return 1 end if n>0 then return 1 end return 0`
	halfScript    = `redis.call("set",KEYS[1],ARGV[1],"px",ARGV[2]) return redis.call("hset",KEYS[1],"f","1")`
	lookScript    = `if redis.call("exists",KEYS[1])==1 then return 0 end return 0`
)

// workload sends random commands.
type workload struct {
	random *rand.Rand
	name   string // of the client; tokens contain it
	sent   int
	large  bool // sometimes values that make the server evict keys
}

func (w *workload) key(kind string) string {
	if w.random.IntN(40) == 0 {
		kind = []string{"string", "hash", "list", "zset", "set", "stream"}[w.random.IntN(6)]
	}
	return kind + strconv.Itoa(w.random.IntN(5))
}

// next returns the next commands, which are sent together.
func (w *workload) next() [][]string {
	w.sent++
	token := fmt.Sprintf("%s-%d\r\n\"\\\x00\xff[x] ", w.name, w.sent)
	ttl := strconv.Itoa(10 + w.random.IntN(300))
	s, h, l, z, m := w.key("string"), w.key("hash"), w.key("list"), w.key("zset"), w.key("set")
	n := strconv.Itoa(w.random.IntN(100))
	if w.large && w.random.IntN(3) == 0 {
		return one("SET", "large"+strconv.Itoa(w.random.IntN(1000)), token+strings.Repeat("x", 20000), "PX", "60000")
	}
	switch w.random.IntN(41) {
	case 0, 1, 2, 3:
		return one("SET", s, token, "NX", "PX", ttl)
	case 4:
		return one("SET", s, token, []string{"XX", "KEEPTTL", "GET"}[w.random.IntN(3)])
	case 5, 6:
		return one("EVAL", releaseScript, "1", s, w.guess(s))
	case 7:
		return one("EVAL", extendScript, "1", s, w.guess(s), ttl)
	case 8, 9:
		return one("EVAL", enterScript, "1", h, w.name, ttl)
	case 10:
		return one("EVAL", leaveScript, "1", h, w.name)
	case 11:
		return one("EVAL", semScript, "1", z, w.name, ttl)
	case 12:
		return one([]string{"PEXPIRE", "EXPIRE"}[w.random.IntN(2)], w.key("hash"), n, []string{"NX", "XX", "GT", "LT"}[w.random.IntN(4)])
	case 13:
		return one([]string{"DEL", "UNLINK", "EXISTS"}[w.random.IntN(3)], s, h, l, s)
	case 14:
		return one("HINCRBY", h, w.name, n)
	case 15:
		return one("HDEL", h, w.name, "f")
	case 16:
		return one("ZREM", z, w.name)
	case 17:
		return one([]string{"LPUSH", "RPUSH"}[w.random.IntN(2)], l, token)
	case 18:
		return one([]string{"BLPOP", "BRPOP"}[w.random.IntN(2)], l, fmt.Sprintf("0.01%06d", w.sent)) // no two of a client are the same, so that a step is one reply's
	case 19:
		return one([]string{"LPOP", "RPOP"}[w.random.IntN(2)], l)
	case 20, 21:
		return [][]string{{"MULTI"}, {"SET", s, token, "PX", ttl}, {"INCR", w.key("number")}, {"LPUSH", l, token}, {"EXEC"}}
	case 22:
		return [][]string{{"WATCH", s}, {"GET", s}, {"MULTI"}, {"EVAL", releaseScript, "1", s, w.guess(s)}, {"DEL", h}, {"EXEC"}}
	case 23:
		return one("EVAL", halfScript, "1", s, token, ttl)
	case 24:
		return one("EVAL", lookScript, "1", s)
	case 25:
		return one([]string{"GETDEL", "PERSIST", "GET", "STRLEN"}[w.random.IntN(4)], s)
	case 26:
		return one([]string{"RENAME", "RENAMENX", "COPY"}[w.random.IntN(3)], s, w.key("string"))
	case 27:
		return one([]string{"SETNX", "GETSET", "APPEND"}[w.random.IntN(3)], s, token)
	case 28:
		return one("GETEX", s, []string{"PX", "EX", "PXAT"}[w.random.IntN(3)], ttl)
	case 29:
		return one([]string{"INCRBY", "DECRBY"}[w.random.IntN(2)], w.key("number"), n)
	case 30:
		return one([]string{"PSETEX", "SETEX"}[w.random.IntN(2)], s, n+"1", token)
	case 31:
		return one([]string{"MSET", "MSETNX"}[w.random.IntN(2)], s, token, w.key("string"), token)
	case 32:
		return one([]string{"SADD", "SREM"}[w.random.IntN(2)], m, w.name, n)
	case 33:
		return [][]string{{"SET", s, token, "PX", ttl}, {"GET", s}, {"SETRANGE", s, n, "x"}, {"GET", s}}
	case 34:
		return one("LMOVE", l, w.key("list"), "LEFT", "RIGHT")
	case 35:
		return one("SUNIONSTORE", w.key("set"), m, w.key("set"))
	case 36:
		return one("PEXPIREAT", s, strconv.FormatInt(time.Now().UnixMilli()+int64(w.random.IntN(300))-20, 10))
	case 37:
		return one("XADD", w.key("stream"), "MAXLEN", n, "*", w.name, n)
	case 38:
		return one("XTRIM", w.key("stream"), "MAXLEN", n)
	case 39:
		return one("XREAD", "BLOCK", "1"+strconv.Itoa(w.random.IntN(9)), "STREAMS", w.key("stream"), "$")
	default:
		return one("GET", s)
	}
}

// guess returns a token that a client may have stored.
func (w *workload) guess(string) string {
	return fmt.Sprintf("%s-%d\r\n\"\\\x00\xff[x] ", w.name, max(0, w.sent-w.random.IntN(30)))
}

func one(args ...string) [][]string { return [][]string{args} }

// view is what somebody knows of a master who gets nothing but the account.
type view struct {
	t    *testing.T
	keys map[string]cluster.Change // the last change of each key that exists
}

// apply checks changes against the view, and applies them.
func (v *view) apply(x cluster.Executed) {
	v.t.Helper()
	for _, c := range x.Changes {
		old, had := v.keys[c.Key]
		wrong := ""
		switch c.Kind {
		case cluster.Created:
			if had {
				wrong = "it existed"
			}
		case cluster.Restored:
		default:
			if !had {
				wrong = "it did not exist"
			}
		}
		if c.Doubtful == "" && had && old.Doubtful == "" && old.Value != c.Before {
			wrong = fmt.Sprintf("it stored %q", old.Value)
		}
		if wrong != "" && c.Doubtful == "" {
			v.t.Errorf("%.200q: %.300q: %.200s", x.Args, fmt.Sprint(c), wrong)
		}
		switch c.Kind {
		case cluster.Deleted, cluster.Expired, cluster.Evicted, cluster.Lost:
			delete(v.keys, c.Key)
		default:
			v.keys[c.Key] = c
		}
	}
}

// contradicts says what is wrong with a reply, given the step of the command; empty: nothing. The
// view is that before the step.
func (v *view) contradicts(e exchange, x cluster.Executed) string {
	if e.reply.kind == '-' {
		if len(x.Changes) > 0 && !strings.HasPrefix(strings.ToUpper(e.args[0]), "EVAL") && e.args[0] != "EXEC" {
			return "it changed something, and replied an error"
		}
		return ""
	}
	got, n := string(e.reply.text), e.reply.integer()
	absent := e.reply.kind == '_'
	changed := len(x.Changes) > 0
	if slices.ContainsFunc(x.Changes, func(c cluster.Change) bool { return c.Doubtful != "" }) {
		return ""
	}
	is := func(yes bool) string {
		if changed != yes {
			return fmt.Sprintf("changed %v", changed)
		}
		return ""
	}
	stored := func(key string) string {
		if old := v.keys[key]; old.Doubtful == "" && (old.Value != got || absent != (old.Kind == "")) {
			return fmt.Sprintf("the account says %q", old.Value)
		}
		return ""
	}
	switch name := e.args[0]; name {
	case "SET":
		if slices.Contains(e.args, "GET") {
			return stored(e.args[1])
		}
		if changed && (x.Changes[0].Value != e.args[2] || x.Changes[0].Key != e.args[1]) {
			return "another value"
		}
		return is(got == "OK")
	case "GET":
		return stored(e.args[1])
	case "GETSET", "GETDEL", "GETEX":
		return stored(e.args[1])
	case "STRLEN", "APPEND", "SETRANGE":
		after := v.keys[e.args[1]]
		if changed {
			after = x.Changes[0]
		}
		if after.Doubtful == "" && len(after.Value) != n {
			return fmt.Sprintf("the account says %q", after.Value)
		}
	case "INCRBY", "DECRBY":
		if !changed || x.Changes[0].Value != got {
			return "another number"
		}
	case "DEL", "UNLINK":
		if len(x.Changes) != n {
			return "another number"
		}
	case "EXISTS":
		count := 0
		for _, key := range e.args[1:] {
			if _, is := v.keys[key]; is {
				count++
			}
		}
		if count != n {
			return fmt.Sprintf("%d exist", count)
		}
	case "EVAL":
		if e.args[1] != snapshotScript {
			return is(n > 0)
		}
	case "PEXPIRE", "EXPIRE", "PERSIST", "PEXPIREAT", "HDEL", "ZREM", "SETNX", "MSETNX", "SADD", "SREM", "COPY", "RENAMENX", "XTRIM":
		return is(n > 0)
	case "LPUSH", "RPUSH", "HINCRBY", "MSET", "SETEX", "PSETEX", "XADD":
		return is(true)
	case "LPOP", "RPOP", "LMOVE":
		return is(!absent)
	case "EXEC":
		if absent {
			return is(false)
		}
		if len(e.reply.elems) > len(x.Calls) {
			return "a call is missing"
		}
	}
	return ""
}

// judge compares all steps with the exchanges of the clients. It returns how many replies it has compared,
// and how many replies and steps have no counterpart.
func (v *view) judge(steps []cluster.Executed, clients []*testClient) (compared, unseen, open int) {
	t := v.t
	t.Helper()
	pending := map[string][]exchange{}
	blocked := map[string]exchange{}
	for _, c := range clients {
		pending[c.addr] = c.exchanges
	}
	served := 0
	var before []cluster.Change
	for _, x := range steps {
		queue, ours := pending[x.Conn]
		if b, is := blocked[x.Conn]; is && slices.Equal(b.args, x.Args) && len(x.Changes) > 0 {
			if b.answered && len(b.reply.elems) != 2 {
				t.Errorf("%q was served, and replied %s", x.Args, b.reply.describe())
			}
			delete(blocked, x.Conn)
			served--
			ours = false
		}
		rival := before // a blocked client or this command may have got the element
		before = nil
		if x.Conn == "" && len(x.Args) > 0 {
			open++
			served--
			before = x.Changes
		}
		for ours && len(queue) > 0 {
			e := queue[0]
			queue = queue[1:]
			if !slices.Equal(e.args, x.Args) {
				if e.answered && e.reply.kind != '-' && string(e.reply.text) != "QUEUED" {
					t.Errorf("%.200q replied %.200s, and has no step; the next one is %.200q", e.args, e.reply.describe(), x.Args)
				}
				continue
			}
			delete(blocked, x.Conn)
			if strings.HasPrefix(e.args[0], "B") && len(x.Changes) == 0 {
				blocked[x.Conn] = e
				if len(e.reply.elems) == 2 {
					served++
				}
			} else if e.answered {
				if len(rival) > 0 && pops[strings.ToLower(e.args[0])] && e.args[1] == rival[0].Key && len(x.Changes) == 0 && e.reply.kind == '$' {
					served++
				} else if why := v.contradicts(e, x); why != "" {
					t.Errorf("%.200q replied %.200s: %.200s; step %.500q", e.args, e.reply.describe(), why, fmt.Sprint(x))
				}
				compared++
			}
			break
		}
		pending[x.Conn] = queue
		v.apply(x)
	}
	if served < 0 {
		t.Errorf("%d steps of blocked clients have no reply", -served)
	}
	unseen = max(0, served)
	for _, queue := range pending {
		for _, e := range queue {
			if e.answered && e.reply.kind != '-' && string(e.reply.text) != "QUEUED" {
				unseen++
			}
		}
	}
	return compared, unseen, open
}

// compareSnapshot compares what the account knew with what the server replied at the same place. later
// are the steps after it.
func compareSnapshot(t *testing.T, copied map[place]entry, reply value, later []cluster.Executed) (keys int) {
	t.Helper()
	s := parseSnapshot(reply)
	if s.err != nil {
		t.Fatal(s.err)
	}
	gone := map[string]bool{} // before the account knew that the script was over
	for _, x := range later {
		if len(x.Changes) == 0 || x.Changes[0].Kind != cluster.Expired && x.Changes[0].Kind != cluster.Evicted {
			break
		}
		gone[x.Changes[0].Key] = true
	}
	for p, want := range s.all {
		got, is := copied[p]
		late := max(got.deadline-want.deadline, want.deadline-got.deadline)
		switch {
		case !is && gone[p.name()], got.doubt != "", want.doubt != "":
		case !is:
			t.Errorf("%s is missing: %.200q", p.name(), fmt.Sprint(want))
		case got.kind != want.kind || got.text != want.text || (got.deadline == 0) != (want.deadline == 0) || late > deadlineSlack:
			t.Errorf("%s is %.200q; the server says %.200q", p.name(), fmt.Sprint(got), fmt.Sprint(want))
		}
		keys++
	}
	for p, got := range copied {
		if _, is := s.all[p]; !is && got.doubt == "" && (got.deadline == 0 || got.deadline > s.now+deadlineSlack) {
			t.Errorf("%s is too much: %.200q at %d", p.name(), fmt.Sprint(got), s.now)
		}
	}
	return keys
}

// load runs clients until they got so many replies together, or stop is closed.
func (s *testServer) load(number, limit int, large bool, stop <-chan struct{}) []*testClient {
	clients := make([]*testClient, number)
	snapshotEvery := 20
	if large {
		snapshotEvery = 200
	}
	var total atomic.Int64
	var all sync.WaitGroup
	for i := range clients {
		c := s.client()
		clients[i] = c
		all.Go(func() {
			defer c.Close()
			w := workload{random: rand.New(rand.NewPCG(uint64(i), uint64(time.Now().UnixNano()))), name: "c" + strconv.Itoa(i), large: large}
			for n := 0; total.Load() < int64(limit); n++ {
				select {
				case <-stop:
					return
				default:
				}
				commands := w.next()
				if i == 0 && n%snapshotEvery == 0 {
					commands = one(snapshotCommand(fmt.Sprintf("snapshot %s %d", c.addr, n))...)
				}
				if !c.send(commands...) {
					return
				}
				total.Add(int64(len(commands)))
				if n%5 == 0 {
					time.Sleep(time.Duration(w.random.IntN(2000)) * time.Microsecond)
				}
			}
		})
	}
	all.Wait()
	return clients
}

// judge judges everything since the last time.
func (s *testServer) judge(v *view, clients []*testClient) (compared, unseen, open int) {
	s.t.Helper()
	steps := s.take()
	compared, unseen, open = v.judge(steps, clients)
	for _, c := range clients {
		for _, e := range c.exchanges {
			if len(e.args) < 4 || e.args[1] != snapshotScript || !e.answered {
				continue
			}
			at := slices.IndexFunc(steps, func(x cluster.Executed) bool { return slices.Equal(x.Args, e.args) })
			if at < 0 {
				continue
			}
			compareSnapshot(s.t, s.copies[e.args[3]], e.reply, steps[at+1:])
			delete(s.copies, e.args[3])
		}
	}
	return compared, unseen, open
}

func TestAccountAgreesWithEveryReply(t *testing.T) {
	eachServer(t, func(t *testing.T, program string) {
		for _, setup := range []struct {
			name    string
			args    []string
			replies int
		}{
			{"no limit", nil, replies()},
			{"evictions", []string{"--maxmemory", "4mb", "--maxmemory-policy", "allkeys-random"}, replies() / 10},
		} {
			t.Run(setup.name, func(t *testing.T) {
				s := newTestServer(t, program, setup.args...)
				s.attach()
				v := &view{t, map[string]cluster.Change{}}
				compared, unseen, open := 0, 0, 0
				const portion = 25_000 // what is kept until it is judged
				for left := setup.replies; left > 0 && !t.Failed(); left -= portion {
					clients := s.load(8, min(left, portion), setup.args != nil, nil)
					s.settle()
					c, u, o := s.judge(v, clients)
					compared, unseen, open = compared+c, unseen+u, open+o
				}
				if unseen > 0 || s.wanted > 0 {
					t.Errorf("%d replies have no step, %d snapshots were wanted", unseen, s.wanted)
				}
				t.Logf("%d replies agree; in %d cases it is open which blocked client was served", compared, open)
			})
		}
	})
}

func TestAccountGoesOnAfterKills(t *testing.T) {
	eachServer(t, func(t *testing.T, program string) {
		tried, number := sampletest.Of(t, 3, 2), 0
		for name, args := range map[string][]string{
			"none":     {"--appendonly", "no"},
			"everysec": {"--appendonly", "yes", "--appendfsync", "everysec"},
			"always":   {"--appendonly", "yes", "--appendfsync", "always"},
		} {
			if number++; !tried(number) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				s := newTestServer(t, program, args...)
				s.attach()
				v := &view{t, map[string]cluster.Change{}}
				total, missing := 0, 0
				for range max(3, replies()/100_000) {
					stop := make(chan struct{})
					done := make(chan []*testClient)
					go func() { done <- s.load(6, 1<<30, false, stop) }()
					time.Sleep(time.Duration(50+rand.IntN(200)) * time.Millisecond)
					s.kill()
					clients := <-done
					close(stop)
					s.start()
					s.attach()
					s.settle()
					compared, unseen, _ := s.judge(v, clients)
					total, missing = total+compared, missing+unseen
				}
				t.Logf("%d replies agree; %d last ones before a kill have no step", total, missing)
			})
		}
	})
}
