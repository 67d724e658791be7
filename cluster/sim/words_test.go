package sim

import (
	"strings"

	"pgregory.net/rapid"

	"lockpick/cluster/lua"
	"lockpick/redlock/protocol"
	"lockpick/workload"
)

var (
	keys   = rapid.SampledFrom([]string{"a", "b", "c"})
	tokens = rapid.SampledFrom([]string{"t1", "t2", "7", "-3", "9223372036854775807", "x y"})
	spans  = rapid.SampledFrom([]string{"1", "2", "50", "1000", "2500", "0", "-5", "nonsense", "9223372036854775807"})
	texts  = rapid.SampledFrom(luaTexts())
)

// luaTexts are the scripts of redlock and of the locks under test.
func luaTexts() []string {
	var all []string
	for _, s := range []*protocol.Script{
		protocol.SetAndCount, protocol.CompareAndDelete, protocol.CompareAndDeleteMany, protocol.CompareDeleteAndPublish, protocol.Compare, protocol.CompareAndExpire,
		protocol.CompareAndRaise, workload.DeleteByHash, workload.DeleteBroken, workload.ExpireOrSet, workload.ReentrantSet, workload.ReentrantExpire, workload.ReentrantRelease,
		workload.FairSet, workload.FairLeave, workload.ReadWriteSet, workload.ReadWriteSetShort, workload.ReadWriteExtend, workload.ReadWriteRelease, workload.ReadWriteReleaseAny,
		workload.SemaphoreSet, workload.SemaphoreSetAnew, workload.SemaphoreExtend, workload.SemaphoreRelease, workload.SemaphoreReleaseTwice,
		workload.NestedSet, workload.NestedSetShort, workload.NestedExtend, workload.NestedReleaseAll,
	} {
		all = append(all, s.Text)
	}
	return all
}

// words draws a command that locks could send, right or wrong.
func words(t *rapid.T) []string {
	key, token, span := keys.Draw(t, "key"), tokens.Draw(t, "token"), spans.Draw(t, "span")
	options := rapid.SampledFrom([]string{"", "NX", "PX " + span, "NX PX " + span, "px " + span + " nx", "XX", "EX 1", "GET", "NX GET", "XX PX 50 GET", "KEEPTTL", "NX XX", "PX", "PX 5 EX 5", "wrong", "PXAT 1", "EXAT 2"})
	script := texts.Draw(t, "script")
	arguments := []string{"2", key, key + ":fence", token, span}
	return rapid.SampledFrom([][]string{
		append([]string{"set", key, token}, strings.Fields(options.Draw(t, "options"))...),
		append([]string{"SET", key, token}, "NX", "PX", "1000"),
		append([]string{"SET", key, token}, "NX", "PX", "50"),
		{"get", key}, {"GET", key}, {"del", key}, {"del", "a", "b"}, {"exists", "a", "b", "a"}, {"setnx", key, token},
		{"pexpire", key, span}, {"expire", key, span}, {"pexpire", key, "50", "NX"}, {"pexpire", key, "1500", "GT"}, {"pexpire", key, "40", "LT"}, {"pexpire", key, "5", "oops"},
		{"pttl", key}, {"ttl", key}, {"persist", key}, {"incr", key}, {"decr", key}, {"incrby", key, token},
		{"hset", key, "f", token}, {"hset", key, "f", "1", "g", "2"}, {"hset", key, "f"}, {"hget", key, "f"}, {"hexists", key, "g"}, {"hdel", key, "f"}, {"hdel", key, "f", "g"},
		{"hincrby", key, "f", span}, {"hincrby", key, "g", "-1"}, {"hlen", key},
		{"setex", key, span, token}, {"psetex", key, span, token}, {"getset", key, token}, {"getdel", key}, {"mget", "a", "b", "c"}, {"mset", "a", token, "b", "1"}, {"mset", "a"},
		{"strlen", key}, {"append", key, token}, {"type", key}, {"hmset", key, "f", "1"}, {"hmset", key, "f", "1", "g"}, {"hmget", key, "f", "g"}, {"hsetnx", key, "f", token}, {"echo", token},
		append([]string{"evalsha", lua.SHA(script)}, arguments...), append([]string{"eval", script}, arguments...), {"script", "load", script},
		{"script", "exists", lua.SHA(script)}, {"evalsha", lua.SHA("return 1"), "0"}, {"eval", script, "9", key},
		traceOf(t, typedCommands, key), traceOf(t, typedCommands, key), traceOf(t, typedCommands, key), traceOf(t, typedCommands, key), traceOf(t, typedCommands, key), traceOf(t, typedCommands, key),
		{"ping"}, {"ping", "you"}, {"time"}, {"time", "x"}, {"wait", "0", "10"}, {"get"}, {"nosuch", "thing"},
	}).Draw(t, "command")
}

// typedCommands are commands about values of each type. K, L and M stand for keys, T for a token, S for a number or none,
// I for an index, X for a score, and B for an end of a range of scores.
var typedCommands = []string{
	"getex K", "getex K px S", "getex K persist", "getex K exat S", "getex K px 5 persist", "msetnx a T b T", "msetnx a", "getrange K I I", "substr K I I", "setrange K I T", "setrange K S T",
	"incrbyfloat K S", "incrbyfloat K 0.1", "incrbyfloat K 1e3", "set K 1.5", "setbit K 7 1", "setbit K S 0", "setbit K 3 2", "getbit K 7", "getbit K S", "bitcount K", "bitcount K I I", "bitcount K I I bit", "bitcount K 1",
	"touch K L", "unlink K", "expireat K S", "pexpireat K S", "expiretime none", "pexpiretime none", "rename K L", "renamenx K L", "copy K L", "copy K L replace", "keys *", "keys [ab]", "keys ?x",
	"scan 0", "scan 0 match a*", "scan x", "scan 0 count 0", "scan 0 type hash", "dbsize", "type K",
	"hincrbyfloat K f S", "hincrbyfloat K f 0.2", "hkeys K", "hvals K", "hgetall K", "hstrlen K f", "hscan K 0", "hscan K 0 match f", "hset K f T g T",
	"lpush K T T", "rpush K T", "lpushx K T", "rpushx K T", "lpop K", "rpop K", "lpop K S", "rpop K 2", "llen K", "lindex K I", "lindex K S", "lrange K I I", "lset K I T", "ltrim K I I", "lrem K I T", "linsert K before T T",
	"linsert K after T T", "linsert K at T T", "lpos K T", "lpos K T rank I", "lpos K T count S", "lpos K T rank -1 count 2 maxlen 2", "lmove K L left right", "lmove K K right left", "lmove K L up left", "rpoplpush K L",
	"sadd K T T", "sadd K T", "srem K T", "scard K", "sismember K T", "smismember K T T", "smembers K", "smove K L T", "sinter K L", "sunion K L", "sdiff K L", "sinterstore M K L", "sunionstore M K L", "sdiffstore K K L", "sscan K 0", "srandmember K 0",
	"zadd K X T", "zadd K X T X T", "zadd K nx X T", "zadd K xx ch X T", "zadd K gt X T", "zadd K lt ch X T", "zadd K incr X T", "zadd K gt lt X T", "zadd K nx xx X T", "zadd K X", "zincrby K X T", "zrem K T", "zcard K", "zscore K T", "zmscore K T T",
	"zrank K T", "zrevrank K T", "zcount K B B", "zlexcount K - +", "zlexcount K [7 (x", "zrange K I I", "zrange K I I withscores", "zrange K B B byscore", "zrange K B B byscore rev limit 0 2", "zrange K - + bylex", "zrange K I I limit 0 1",
	"zrange K - + bylex withscores", "zrangestore M K I I", "zrangestore M K B B byscore", "zrevrange K I I", "zrevrange K I I withscores", "zrangebyscore K B B", "zrangebyscore K B B withscores limit 0 1", "zrevrangebyscore K B B", "zrangebylex K - +",
	"zrangebylex K a b", "zrevrangebylex K + -", "zremrangebyrank K I I", "zremrangebyscore K B B", "zremrangebylex K [7 +", "zpopmin K", "zpopmax K 2", "zpopmin K S", "zscan K 0",
	"lmpop 1 K left", "lmpop 2 K L right count 2", "lmpop S K left", "lmpop 1 K left count S", "lmpop 1 K up", "lmpop 2 K left", "lmpop 1 K left count 1 count 1",
	"blpop K L 0.1", "blpop K S", "brpop K L 0.1", "blmove K L left right 0.1", "blmove K L up right x", "brpoplpush K L 0.1", "brpoplpush K L x", "blmpop 0.1 2 K L left count 2", "blmpop x 0 K left", "blmpop 0.1 S K right",
	"bzpopmin K L 0.1", "bzpopmax K 0.1", "bzpopmin K -1", "bzmpop 0.1 2 K L min", "bzmpop -1 0 K max", "zmpop 2 K L max count 2", "zmpop 1 K min count S", "zmpop 0 K min", "zmpop 1 K left",
	"sintercard 2 K L", "sintercard 2 K L limit S", "sintercard S K", "sintercard 1 K limit", "sintercard x K",
	"zunion 2 K L", "zunion 2 K L withscores", "zunion 2 K L weights X X withscores", "zunion 2 K L aggregate max withscores", "zinter 2 K L withscores", "zinter 2 K L weights X X aggregate min withscores", "zdiff 2 K L withscores",
	"zdiff 2 K L weights 1 1", "zunion S K L", "zunion 1 K aggregate avg", "zunion 2 K L weights 1", "zunionstore M 2 K L", "zunionstore M 2 K L weights X X aggregate max", "zinterstore M 2 K L", "zdiffstore M 2 K L", "zunionstore M 0 K",
	"zunionstore M 1 K withscores", "zintercard 2 K L", "zintercard 2 K L limit S", "zintercard 1 K weights 1", "zrandmember K 0", "zrandmember K S x", "hrandfield K 0 withvalues", "hrandfield K 0 x", "hrandfield none", "zrandmember none 3",
	"bitpos K 1", "bitpos K 0", "bitpos K 1 I", "bitpos K 0 I", "bitpos K 0 I I", "bitpos K 1 I I", "bitpos K 1 I I bit", "bitpos K 0 I I bit", "bitpos K 0 I I what", "bitpos K 2", "bitpos K x", "bitpos none 0", "setbit K 0 1",
	"bitop and M K L", "bitop or M K L", "bitop xor M K L", "bitop not M K", "bitop not M K L", "bitop nor M K", "bitop and M none none",
	"move K 0", "move K x", "move K 99", "copy K L db 0", "copy K L db x", "copy K L db 99 replace", "copy K L db", "object encoding none", "object refcount none", "object refcount K L",
	"flushdb wrong", "flushall async sync", "script nosuch",
	"xadd K N f T", "xadd K N f T g T", "xadd K nomkstream N f T", "xadd K N f", "xadd K N f T g", "xadd K maxlen I N f T", "xadd K maxlen = 2 N f T", "xadd K maxlen ~ 1 N f T", "xadd K maxlen ~ 1 limit S N f T", "xadd K maxlen 1 limit 1 N f T",
	"xadd K minid N N f T", "xadd K minid ~ N limit 0 N f T", "xadd K minid 1 maxlen 1 N f T", "xadd K limit 1 N f T", "xlen K", "xrange K N N", "xrange K - + count I", "xrange K - +", "xrange K (N N", "xrange K N (N", "xrange K - + what 1", "xrevrange K + -", "xrevrange K N N count 1",
	"xrevrange K N (N", "xdel K N", "xdel K N N", "xtrim K maxlen I", "xtrim K maxlen ~ 1", "xtrim K minid N", "xtrim K maxlen 1 limit 1", "xtrim K limit 1", "xtrim K what 1", "xtrim K maxlen ~ 1 limit S",
	"xread streams K N", "xread count I streams K L N N", "xread count 1 streams K N", "xread block S streams K N", "xread streams K $", "xread streams K >", "xread streams K L N", "xread what streams K N", "xread count x streams K N", "xread block x streams K N", "xread count 1 K N", "xread block 1 streams K $",
	"copy K M", "set K 1-1",
	"command count", "cluster info", "cluster slots", "cluster",
}

// traceOf draws one of the commands for a key.
func traceOf(t *rapid.T, commands []string, key string) []string {
	words := strings.Fields(rapid.SampledFrom(commands).Draw(t, "typed"))
	for i, word := range words {
		switch word {
		case "K":
			words[i] = key
		case "L", "M":
			words[i] = keys.Draw(t, "other key")
		case "T":
			words[i] = tokens.Draw(t, "token")
		case "S":
			words[i] = spans.Draw(t, "span")
		case "I":
			words[i] = rapid.SampledFrom([]string{"0", "1", "-1", "2", "-2", "5", "-7", "nonsense"}).Draw(t, "index")
		case "N", "(N":
			words[i] = strings.Replace(word, "N", rapid.SampledFrom([]string{"1-1", "1-2", "2-0", "2", "3-*", "0-0", "0-1", "5-5", "x", "-", "+", "18446744073709551615-18446744073709551615", "18446744073709551615-18446744073709551614", "18446744073709551615-*", "7-x", "1-1-1", "-1-1"}).Draw(t, "ID"), 1)
		case "X":
			words[i] = rapid.SampledFrom([]string{"1", "-2.5", "0.1", "1e20", "inf", "-inf", "nan", "x", "3"}).Draw(t, "score")
		case "B":
			words[i] = rapid.SampledFrom([]string{"1", "(1", "-inf", "+inf", "0.1", "(3", "bad"}).Draw(t, "bound")
		}
	}
	return words
}
