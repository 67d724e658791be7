package virtual

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster"
	"lockpick/cluster/process"
)

// dialogue is what clients say to both, one after the other. What is said of the server itself
// differs, and is not in it.
var dialogue = []string{
	"SET k v", "GET k", "get none", "SET k v2 NX PX 1000", "SET k v2 XX GET", "SETNX k x", "TYPE k", "EXISTS k none", "APPEND k x", "STRLEN k", "MGET k none", "DEL k none",
	"HSET h f 1 g 2", "HGETALL h", "HMGET h f x", "HSETNX h f 2", "HINCRBY h f 3", "GET h", "INCR h", "HDEL h f g", "TYPE h",
	"WATCH w", "MULTI", "SET w 1", "INCR w", "EXEC", "MULTI", "NOSUCH", "EXEC", "MULTI", "GET", "DISCARD", "EXEC", "DISCARD", "MULTI", "MULTI", "GET w", "EXEC",
	"WATCH w", "SET w 5", "MULTI", "GET w", "EXEC", "UNWATCH", "SELECT 0", "SELECT x", "ECHO hi", "PING", "PING you", "NOSUCH a b", "GET", "SET a", "PUBLISH c m",
	"SCRIPT EXISTS 0123", "CLIENT GETNAME", "CLIENT SETNAME me", "CLIENT GETNAME", "WAIT 0 1", "CLIENT SETNAME", "CLIENT NO-EVICT on", "CLIENT NO-EVICT x", "CLIENT KILL ID x", "CLIENT KILL ID 99999", "CLIENT UNBLOCK 99999", "CLIENT UNBLOCK x", "CLIENT UNBLOCK 1 NOW",
	"AUTH x", "AUTH default x", "AUTH me x", "AUTH a b c", "HELLO x", "HELLO 4", "HELLO 3 AUTH me x", "HELLO 3 SETNAME", "HELLO 3 WHAT", "HELLO 2 AUTH default", "CLIENT GETNAME",
	"CLIENT CACHING YES", "CLIENT CACHING", "READONLY", "READWRITE", "ASKING", "CLUSTER SLOTS", "COMMAND COUNT", "SELECT 16", "SELECT -1", "MULTI", "CLIENT SETNAME you", "READONLY", "EXEC",
	"COMMAND GETKEYS SET k v", "COMMAND GETKEYS MSET a 1 b 2", "COMMAND GETKEYS EVAL x 2 a b c", "COMMAND GETKEYS EVAL x 3 a b", "COMMAND GETKEYS EVAL x 0 a", "COMMAND GETKEYS ZUNIONSTORE d 2 a b", "COMMAND GETKEYS ZMPOP 2 a b MIN",
	"COMMAND GETKEYS BLPOP a b 1", "COMMAND GETKEYS RENAME a b", "COMMAND GETKEYS PING", "COMMAND GETKEYS NOSUCH a", "COMMAND GETKEYS GET", "COMMAND GETKEYS", "COMMAND GETKEYS BITOP AND d a b", "COMMAND GETKEYS LMPOP x a LEFT",
	"COMMAND GETKEYS WATCH a b", "COMMAND GETKEYS DEL a b c", "COMMAND GETKEYS BLMPOP 0 1 a LEFT", "COMMAND COUNT x", "COMMAND INFO nosuch", "COMMAND DOCS nosuch",
	"RPUSH l a b", "BLPOP none l 0", "LMPOP 2 none l LEFT COUNT 2", "ZADD z 1 a 2.5 b", "ZRANDMEMBER z -2 WITHSCORES x", "ZRANDMEMBER z 0 WITHSCORES", "ZUNION 2 z z WITHSCORES", "ZINTER 2 z z", "ZDIFF 2 z none WITHSCORES", "ZMPOP 1 z MIN COUNT 1", "BZPOPMAX z 0",
	"ZADD z 1 a", "BZMPOP 0 1 z MIN", "HSET hr f v", "HRANDFIELD hr 1 WITHVALUES", "HRANDFIELD hr 1", "HRANDFIELD none 2 WITHVALUES", "ZADD zr 1.5 m", "ZRANDMEMBER zr 2 WITHSCORES", "ZRANDMEMBER zr", "BLPOP none 0.01", "BLMOVE none l LEFT LEFT 0.01", "BRPOPLPUSH none l 0.01",
	"XADD st 1-1 a 1", "XADD st 1-2 b 2 c 3", "XADD other 5-1 d 4", "TYPE st", "XLEN st", "XRANGE st - +", "XREVRANGE st + - COUNT 1", "XREAD STREAMS st 0", "XREAD COUNT 1 STREAMS st none other 0 0 0", "XREAD STREAMS st $", "XREAD BLOCK 10 STREAMS st $", "XREAD BLOCK 10 STREAMS st 1-1",
	"MULTI", "XREAD BLOCK 0 STREAMS st $", "XREAD STREAMS st 1-1", "EXEC", "XDEL st 1-1 1-2", "EXISTS st", "XRANGE st - +", "XADD st 1-2 a 1", "OBJECT ENCODING st", "COMMAND GETKEYS XREAD COUNT 1 STREAMS a b 0 0", "COMMAND GETKEYS XREAD a b c d", "COMMAND GETKEYS XADD st * a b", "COMMAND LIST FILTERBY PATTERN xr[ae][nav]*ge", "COMMAND LIST x",
}

// scripts are Lua that locks have in this or a similar form, and what a script may return.
var scripts = []string{
	`return 1`, `return 1.9`, `return -1.9`, `return "a"`, `return nil`, `return true`, `return false`, `return {1, 2, "a", nil, 3}`, `return {1, {2, "b"}, false, true, 4}`,
	`return {ok = "FINE"}`, `return {err = "BAD thing"}`, `return redis.error_reply("BAD thing")`, `return redis.status_reply("FINE")`, `return {}`,
	`return redis.call("set", KEYS[1], ARGV[1], "NX", "PX", 100000)`, `return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", 100000)`, `return redis.call("get", KEYS[1]) == ARGV[1]`,
	`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`, `return redis.call("get", KEYS[1])`, `return redis.call("pttl", KEYS[1])`,
	`if (redis.call('exists', KEYS[1]) == 0) then redis.call('hincrby', KEYS[2], ARGV[1], 1); redis.call('pexpire', KEYS[2], 30000); return nil; end; return redis.call('pttl', KEYS[1]);`,
	`return redis.call("hgetall", KEYS[2])`, `return redis.call("mget", KEYS[1], KEYS[2], "none")`, `return redis.pcall("incr", KEYS[2])`, `return redis.call("incr", KEYS[2])`,
	`local r = redis.pcall("incr", KEYS[2]); return r.err`, `local ok, e = pcall(redis.call, "incr", KEYS[2]); return ok`, `return redis.call("nosuch")`, `return redis.call()`, `return redis.call("get")`,
	`return tonumber("12") + 1`, `return tostring(12)`, `return 1 / 4 * 8`, `return #ARGV`, `return ARGV[1] .. ":" .. #KEYS`, `return redis.sha1hex("a")`, `return string.format("%d", 12)`,
	`return table.concat({1, 2, 3}, ",")`, `return math.floor(2.7)`, `local t = redis.call("time"); return #t`, `return unpack({1, 2})`, `redis.call("set", "n", 12); return redis.call("incrby", "n", 3)`,
	`redis.call("set", "f", 1.5); return redis.call("get", "f")`, `return syntax error`, `error("oops")`, `return nothing.at_all`, `redis.log(redis.LOG_NOTICE, "x"); return 1`,
	`redis.call("xadd", "st", "1-1", "a", "b"); return redis.call("xread", "streams", "st", "0")`, `return redis.call("xread", "streams", "none", "0")`, `return redis.call("xread", "block", "0", "streams", "none", "$")`, `return redis.call("xrange", "st", "-", "+")`,
	`x = 1`, `local x = 1; x = 2; return x`, `return redis.call("del", KEYS[1], KEYS[2])`,
}

// realMaster starts a redis-server for the test to compare with, or skips the test.
func realMaster(t *testing.T) cluster.Cluster {
	t.Helper()
	if ok, why := process.Available(ctx); !ok {
		t.Skip("nothing to compare with: ", why)
	}
	real, err := process.Start(ctx, cluster.Config{Masters: 1, Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { real.Close() })
	return real
}

// TestMastersInMemoryAnswerLikeReal has the same said to a master in memory and to a real
// redis-server, in versions 2 and 3 of the protocol.
func TestMastersInMemoryAnswerLikeReal(t *testing.T) {
	real := realMaster(t)
	memory := New(cluster.Config{Masters: 1, Admin: true}, Options{})
	defer memory.Close()
	for _, version := range []int{2, 3} {
		var clients []*redis.Conn
		for i, c := range []cluster.Cluster{real, memory} {
			l, err := c.Link("c1", 0)
			if err != nil {
				t.Fatal(err)
			}
			o := &redis.Options{Addr: l.Addr(), Protocol: version, MaxRetries: -1, DisableIdentity: true}
			if i == 1 {
				o.Dialer = memory.DialContext
			}
			client := redis.NewClient(o)
			defer client.Close()
			if err := client.FlushAll(ctx).Err(); err != nil {
				t.Fatal(err)
			}
			conn := client.Conn()
			defer conn.Close()
			clients = append(clients, conn)
		}
		compare := func(words ...any) {
			t.Helper()
			a, b := said(clients[0], words), said(clients[1], words)
			if a != b && !(strings.Contains(a, "compiling script") && strings.Contains(b, "compiling script")) {
				t.Errorf("RESP%d %q: real %s, in memory %s", version, words, a, b)
			}
		}
		for _, s := range scripts {
			compare("EVAL", s, 2, "k1", "k2", "v")
		}
		// Masters in memory have no password, and the real one has.
		password := clients[0].ConfigGet(ctx, "requirepass").Val()["requirepass"]
		if err := clients[0].ConfigSet(ctx, "requirepass", "").Err(); err != nil {
			t.Fatal(err)
		}
		for _, line := range dialogue {
			var words []any
			for _, w := range strings.Fields(line) {
				words = append(words, w)
			}
			compare(words...)
		}
		if err := clients[0].ConfigSet(ctx, "requirepass", password).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheTableOfCommandsIsThatOfRedis compares what COMMAND INFO says of each command that masters in memory know: its
// arguments, its keys, and whether it writes, needs memory, may block, or may not be in a script.
func TestTheTableOfCommandsIsThatOfRedis(t *testing.T) {
	real := realMaster(t)
	memory := New(cluster.Config{Masters: 1}, Options{})
	defer memory.Close()
	var tables []map[string]*redis.CommandInfo
	for _, c := range []cluster.Cluster{real, memory} {
		l, err := c.Link("c1", 0)
		if err != nil {
			t.Fatal(err)
		}
		o := &redis.Options{Addr: l.Addr(), MaxRetries: -1, DisableIdentity: true}
		if c == cluster.Cluster(memory) {
			o.Dialer = memory.DialContext
		}
		client := redis.NewClient(o)
		defer client.Close()
		table, err := client.Command(ctx).Result()
		if err != nil {
			t.Fatal(err)
		}
		tables = append(tables, table)
	}
	if len(tables[1]) < 150 {
		t.Fatalf("%d commands", len(tables[1]))
	}
	shown := func(c *redis.CommandInfo) string {
		flags := slices.DeleteFunc(slices.Clone(c.Flags), func(f string) bool {
			return !slices.Contains([]string{"write", "readonly", "denyoom", "noscript", "blocking", "movablekeys"}, f)
		})
		slices.Sort(flags)
		return fmt.Sprint(c.Arity, flags, c.FirstKeyPos, c.LastKeyPos, c.StepCount)
	}
	for name, here := range tables[1] {
		there := tables[0][name]
		if there == nil {
			t.Errorf("%s: Redis does not know it", name)
		} else if a, b := shown(there), shown(here); a != b {
			t.Errorf("%s: real %s, in memory %s", name, a, b)
		}
	}
}

// TestInlineCommandsAreReadLikeReal compares the replies to commands that are one line of words, which may be quoted.
// After a line that cannot be read the connection ends.
func TestInlineCommandsAreReadLikeReal(t *testing.T) {
	real := realMaster(t)
	memory := New(cluster.Config{Masters: 1}, Options{})
	defer memory.Close()
	for _, line := range []string{
		"PING", "  PING\t you ", `ECHO "two words"`, `ECHO 'it\'s'`, `ECHO "\x41\n\t\q\"b"`, `ECHO a"b`, `ECHO a"b"`, `ECHO ""`, `ECHO 'a\nb'`,
		`ECHO "a"b`, `ECHO "a`, `ECHO 'a`, `ECHO a\`, `SET k "v w" PX 100000`, `GET "k"`, `"GET" k`,
	} {
		var got []string
		for _, c := range []cluster.Cluster{real, memory} {
			s := &speaker{conn: dial(t, c)}
			s.input = bufio.NewReader(s.conn)
			if _, err := io.WriteString(s.conn, line+"\r\n"); err != nil {
				t.Fatal(err)
			}
			text, _, err := s.value()
			if err == nil && strings.HasPrefix(text, "-ERR Protocol error") {
				_, _, err = s.value()
			}
			got = append(got, fmt.Sprintf("%q %v", text, err))
			s.conn.Close()
		}
		if got[0] != got[1] {
			t.Errorf("%s: real %s, in memory %s", line, got[0], got[1])
		}
	}
}

// said is the reply to a command. Of an error of a script it leaves out where it was.
func said(c *redis.Conn, words []any) string {
	v, err := c.Do(context.Background(), words...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		text, _, _ := strings.Cut(err.Error(), " script: ")
		return "error " + text
	}
	if names, is := v.([]any); is && len(words) > 1 && words[0] == "COMMAND" && words[1] == "LIST" { // in the order of a hash table
		slices.SortFunc(names, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return fmt.Sprintf("%v %T", v, v)
}
