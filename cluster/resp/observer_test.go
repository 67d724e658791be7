package resp

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// votesOf is what an observer makes of the conversation of one client. A line is a command as a list of words, an arrow
// and the reply's bytes; _ stands for a blank within a word.
func votesOf(t *testing.T, o *Observer, lines ...string) []string {
	t.Helper()
	var votes []string
	o.Vote = func(v Vote) {
		s := fmt.Sprintf("%s %s %s %v", v.Command, v.Key, v.Token, v.Yes)
		if v.TTL > 0 {
			s += " " + v.TTL.String()
		}
		if v.Err != "" {
			s += " (" + v.Err + ")"
		}
		votes = append(votes, s)
	}
	o.Lost = func(why error) { t.Error(why) }
	c := o.Connection()
	at := time.Unix(1_000, 0)
	for _, l := range lines {
		command, reply, _ := strings.Cut(l, " → ")
		words := strings.Fields(command)
		request := fmt.Sprintf("*%d\r\n", len(words))
		for _, w := range words {
			w = strings.ReplaceAll(w, "_", " ")
			request += fmt.Sprintf("$%d\r\n%s\r\n", len(w), w)
		}
		c.Request([]byte(request), at)
		if reply != "" {
			c.Reply([]byte(reply+"\r\n"), at.Add(time.Millisecond))
		}
		at = at.Add(10 * time.Millisecond)
	}
	c.End(at)
	return votes
}

// word makes a script one word of votesOf.
func word(script string) string { return strings.Join(strings.Fields(script), "_") }

func TestLockCommandsBecomeVotes(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"the textbook", []string{"SET k t NX PX 2000 → +OK", "get k → $1\r\nt", "del k → :1"}, []string{"set k t true 2s", "read k t true", "release k t true"}},
		{"refused", []string{"SET k t NX EX 2 → $-1", "SET k t NX EX 2 → _"}, []string{"set k t false 2s", "set k t false 2s"}},
		{"no TTL", []string{"SETNX k t → :1", "SETNX k t → :0"}, []string{"set k t true", "set k t false"}},
		{"a TTL of its own", []string{"SETNX k t → :1", "PEXPIRE k 500 → :1", "EXPIRE k 3 → :0"}, []string{"set k t true", "extend k t true 500ms", "extend k t false 3s"}},
		{"a time of the day", []string{"SET k t NX PXAT 1001000 → +OK", "PEXPIREAT k 1003010 → :1"}, []string{"set k t true 1s", "extend k t true 3s"}},
		{"only if it exists", []string{"SET k t NX PX 10 → +OK", "SET k t XX PX 20 → +OK", "SET k t XX PX 20 → $-1"}, []string{"set k t true 10ms", "extend k t true 20ms", "extend k t false 20ms"}},
		{"with the old value", []string{"SET k t NX GET PX 10 → $-1", "SET k u NX GET PX 10 → $1\r\nt"}, []string{"set k t true 10ms", "set k u false 10ms"}},
		{"unlink", []string{"SET k t NX → +OK", "UNLINK k → :0"}, []string{"set k t true", "release k t false"}},
		{"compare and delete of Redis 8", []string{"SET k t NX → +OK", "DELEX k IFEQ t → :1"}, []string{"set k t true", "release k t true"}},
		{"compare and delete of Valkey", []string{"DELIFEQ k t → :0"}, []string{"release k t false"}},
		{"a hash", []string{"HSETNX k t 1 → :1", "HINCRBY k t -1 → :0", "HDEL k t → :1"}, []string{"set k t true", "release k t false", "release k t true"}},
		{"taken again by the same token", []string{"SET k t NX PX 2000 → +OK", "DEL k → :1", "SET k t NX PX 2000 → +OK"}, []string{"set k t true 2s", "release k t true", "set k t true 2s"}},
		{"a key that is not its own", []string{"GET k → $1\r\nx", "DEL k → :1", "EXPIRE k 1 → :1"}, nil},
		{"no memory", []string{"SET k t NX → -OOM command not allowed when used memory > 'maxmemory'."}, []string{"set k t false (OOM command not allowed when used memory > 'maxmemory'.)"}},
		{"no reply", []string{"SET k t NX"}, []string{"set k t false (no reply)"}},
		{"what is about no lock", []string{"INCR k → :1", "PING → +PONG", "INFO → $1\r\nx", "EVAL return_1 0 → :1"}, nil},
		{"a token that is no text", []string{"SET k a\xffb NX → +OK"}, []string{`set k a\xffb true`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := votesOf(t, &Observer{Scripts: &Scripts{}}, c.lines...); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// The scripts of well-known libraries, as they send them.
const (
	compareAndDelete = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`
	redisPyRelease   = `local token = redis.call('get', KEYS[1])
		if not token or token ~= ARGV[1] then return 0 end
		redis.call('del', KEYS[1]) return 1`
	redisPyExtend = `local token = redis.call('get', KEYS[1])
		if not token or token ~= ARGV[1] then return 0 end
		local expiration = redis.call('pttl', KEYS[1])
		if expiration < 0 then return 0 end
		local newttl = ARGV[2]
		if ARGV[3] == "0" then newttl = ARGV[2] + expiration end
		redis.call('pexpire', KEYS[1], newttl) return 1`
	symfonySave = `local key = KEYS[1] local uniqueToken = ARGV[2] local ttl = tonumber(ARGV[3])
		if redis.call("TYPE", key).ok == "string" then return false end
		local now = redis.call("TIME") now = now[1] * 1000 + math.floor(now[2] / 1000)
		redis.call("ZREMRANGEBYSCORE", key, "-inf", now)
		if redis.call("ZSCORE", key, uniqueToken) then return false
		elseif redis.call("ZCOUNT", key, "-inf", "+inf") > 0 then return false end
		redis.call("ZADD", key, now + ttl, uniqueToken)
		redis.call("PEXPIREAT", key, redis.call("ZREVRANGE", key, 0, 0, "WITHSCORES")[2])
		return true`
	redissonTry = `if ((redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1)) then
		redis.call('hincrby', KEYS[1], ARGV[2], 1); redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end;
		return redis.call('pttl', KEYS[1]);`
	redissonUnlock = `if (redis.call('hexists', KEYS[1], ARGV[3]) == 0) then return nil; end;
		local counter = redis.call('hincrby', KEYS[1], ARGV[3], -1);
		if (counter > 0) then redis.call('pexpire', KEYS[1], ARGV[2]); return 0;
		else redis.call('del', KEYS[1]); redis.call(ARGV[4], KEYS[2], ARGV[1]); redis.call('set', KEYS[3], 1, 'px', 30000); return 1; end;`
	redsyncTouch = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2])
		elseif redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2], "NX") then return 1 else return 0 end`
	mediaWikiLock = `local failed = {}
		local rSession, rTTL, rMaxTTL, rTime = unpack(ARGV)
		for i,requestKey in ipairs(KEYS) do
			local _, _, rType, resourceKey = string.find(requestKey,"(%w+):(%w+)$")
			redis.call('hDel',resourceKey,lockKey)
			redis.call('hSet',resourceKey,rType .. ':' .. rSession,rTime + rTTL)
			redis.call('expire',resourceKey,rMaxTTL)
		end
		return failed`
	setAndCount = `if redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return redis.call("incr", KEYS[2]) end return 0`
	writeBack   = `if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
		redis.call("set", KEYS[2], ARGV[2]) return 1`
)

func TestScriptsAreUnderstoodByTheirText(t *testing.T) {
	eval := func(script, rest string) string { return "EVAL " + word(script) + " " + rest }
	for _, c := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"compare and delete", []string{eval(compareAndDelete, "1 k t → :1"), eval(compareAndDelete, "1 k t → :0")}, []string{"release k t true", "release k t false"}},
		{"redis-py", []string{"SET k t NX PX 10 → +OK", eval(redisPyExtend, "1 k t 2000 1 → :1"), eval(redisPyRelease, "1 k t → :0")},
			[]string{"set k t true 10ms", "extend k t true", "release k t false"}},
		{"Symfony", []string{eval(symfonySave, "1 k 1.5 t 2000 → :1"), eval(symfonySave, "1 k 1.5 t 2000 → :1"), eval(symfonySave, "1 k 1.5 u 2000 → $-1")},
			[]string{"set k t true 2s", "extend k t true 2s", "set k u false 2s"}},
		{"Redisson", []string{eval(redissonTry, "1 k 3000 id:1 → $-1"), eval(redissonTry, "1 k 3000 id:2 → :2990"), eval(redissonUnlock, "3 k ch latch 0 3000 id:1 publish → :1")},
			[]string{"set k id:1 true 3s", "set k id:2 false 3s", "release k id:1 true"}},
		{"redsync", []string{eval(redsyncTouch, "1 k t 2000 → :1"), eval(redsyncTouch, "1 k t 2000 → :1")}, []string{"set k t true 2s", "extend k t true 2s"}},
		{"MediaWiki", []string{eval(mediaWikiLock, "1 l:EX:k session 5 3600 1000 → *0"), eval(mediaWikiLock, "1 l:EX:k other 5 3600 1000 → *1\r\n$1\r\nk")},
			[]string{"set l:EX:k session true 1h0m0s", "set l:EX:k other false 1h0m0s"}},
		{"a fencing token", []string{eval(setAndCount, "2 k k:fence t 2000 → :7"), eval(writeBack, "2 k k:fence t 9 → :1")}, []string{"set k t true 2s", "read k t true"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := votesOf(t, &Observer{Scripts: &Scripts{}}, c.lines...); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestScriptsThatComputeTheirKeys: what a master stores under the key that a script was called with says nothing then.
func TestScriptsThatComputeTheirKeys(t *testing.T) {
	const eachKey = `for i, key in ipairs(KEYS) do redis.call("set", key, ARGV[1], "PX", ARGV[2]) end return #KEYS`
	for text, want := range map[string]bool{
		mediaWikiLock: true, compareAndDelete: false, redisPyExtend: false, symfonySave: false, redissonTry: false, redsyncTouch: false, setAndCount: false, eachKey: false,
	} {
		if got := readScript(text).elsewhere; got != want {
			t.Errorf("%v, want %v: %s", got, want, text)
		}
	}
}

// TestScriptsAreKnownByTheirHash: from SCRIPT LOAD, from EVAL, and from what another client has sent. A
// script that the master does not have was not run.
func TestScriptsAreKnownByTheirHash(t *testing.T) {
	hash := func(script string) string {
		sum := sha1.Sum([]byte(strings.ReplaceAll(word(script), "_", " ")))
		return hex.EncodeToString(sum[:])
	}
	scripts := &Scripts{}
	one, other := &Observer{Scripts: scripts}, &Observer{Scripts: scripts}
	got := votesOf(t, one,
		"EVALSHA "+hash(compareAndDelete)+" 1 k t → :1", // nobody knows it yet
		"SCRIPT LOAD "+word(compareAndDelete)+" → $1\r\nx",
		"EVALSHA "+strings.ToUpper(hash(compareAndDelete))+" 1 k t → :1",
		"EVALSHA "+hash(compareAndDelete)+" 1 k t → -NOSCRIPT No matching script. Please use EVAL.",
		"EVAL "+word(redsyncTouch)+" 1 k t 5 → :0",
	)
	if want := []string{"release k t true", "set k t false 5ms"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := votesOf(t, other, "EVALSHA "+hash(redsyncTouch)+" 1 k u 5 → :1"), []string{"set k u true 5ms"}; !slices.Equal(got, want) {
		t.Errorf("another client: got %q, want %q", got, want)
	}
}

// BenchmarkFollow is what following a small command and its reply costs.
func BenchmarkFollow(b *testing.B) {
	o := &Observer{Scripts: &Scripts{}, Vote: func(Vote) {}}
	c := o.Connection()
	for _, x := range []struct{ name, request, reply string }{
		{"ping", "*1\r\n$4\r\nPING\r\n", "+PONG\r\n"},
		{"large", "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4000\r\n" + strings.Repeat("x", 4000) + "\r\n", "+OK\r\n"},
		{"get", "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", "$1\r\nx\r\n"},
		{"set", "*6\r\n$3\r\nSET\r\n$2\r\nk0\r\n$32\r\n0123456789abcdef0123456789abcdef\r\n$2\r\nNX\r\n$2\r\nPX\r\n$4\r\n2000\r\n", "+OK\r\n"},
	} {
		request, reply, at := []byte(x.request), []byte(x.reply), time.Now()
		b.Run(x.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Request(request, at)
				c.Reply(reply, at)
			}
		})
	}
}
