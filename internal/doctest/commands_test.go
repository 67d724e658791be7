package doctest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lockpick/cluster/sim"
)

// missing are the commands of miniredis that simulated masters do not know, and why. A client that sends one of them ends the
// run as inconclusive.
var missing = []struct{ names, why string }{
	{"xack xautoclaim xclaim xgroup xinfo xpending xreadgroup", "consumer groups: streams are modelled without them"},
	{"hexpire hpersist hpttl hsetex httl delex", "Redis 7.0 does not have them either: they came with 7.4, 8.0 and 8.4"},
	{"geoadd geodist geopos georadius georadius_ro georadiusbymember georadiusbymember_ro geosearch", "places on the earth: no known lock stores them"},
	{"pfadd pfcount pfmerge", "numbers that are estimates: no known lock counts with them"},
	{"dump restore", "the format of values in the files of Redis"},
	{"memory", "how many bytes a value needs depends on the allocator"},
	{"swapdb", "only one database is modelled; clients may not send it either"},
}

// miniredis are the commands of github.com/alicebob/miniredis 2.40.
const miniredis = `
append auth bitcount bitop bitpos blmove blpop brpop brpoplpush bzmpop bzpopmax bzpopmin client cluster command copy
dbsize decr decrby del delex discard dump echo eval eval_ro evalsha evalsha_ro exec exists expire expireat expiretime
flushall flushdb geoadd geodist geopos georadius georadius_ro georadiusbymember georadiusbymember_ro geosearch get
getbit getdel getex getrange getset hdel hello hexists hexpire hget hgetall hincrby hincrbyfloat hkeys hlen hmget hmset
hpersist hpttl hrandfield hscan hset hsetex hsetnx hstrlen httl hvals incr incrby incrbyfloat info keys lindex linsert
llen lmove lmpop lpop lpos lpush lpushx lrange lrem lset ltrim memory mget move mset msetnx multi object persist pexpire
pexpireat pexpiretime pfadd pfcount pfmerge ping psetex psubscribe pttl publish pubsub punsubscribe quit randomkey
rename renamenx restore rpop rpoplpush rpush rpushx sadd scan scard script sdiff sdiffstore select set setbit setex
setnx setrange sinter sintercard sinterstore sismember smembers smismember smove spop srandmember srem sscan strlen
subscribe sunion sunionstore swapdb time touch ttl type unlink unsubscribe unwatch wait watch xack xadd xautoclaim
xclaim xdel xgroup xinfo xlen xpending xrange xread xreadgroup xrevrange xtrim zadd zcard zcount zincrby zinter
zinterstore zlexcount zmpop zmscore zpopmax zpopmin zrandmember zrange zrangebylex zrangebyscore zrank zrem
zremrangebylex zremrangebyrank zremrangebyscore zrevrange zrevrangebylex zrevrangebyscore zrevrank zscan zscore zunion
zunionstore`

// simulatedCommands is the table of the commands that simulated masters know.
func simulatedCommands(*testing.T) []string {
	lines := []string{"| subject | commands |", "|---|---|"}
	for _, t := range sim.KnownCommands() {
		lines = append(lines, fmt.Sprintf("| %s | %s |", t.Subject, strings.ToUpper(strings.Join(t.Names, ", "))))
	}
	return lines
}

// missingCommands is the table of the commands that miniredis has and simulated masters do not.
func missingCommands(*testing.T) []string {
	lines := []string{"| commands | why |", "|---|---|"}
	for _, m := range missing {
		lines = append(lines, fmt.Sprintf("| %s | %s |", strings.ToUpper(strings.Join(strings.Fields(m.names), ", ")), m.why))
	}
	return lines
}

// TestCommandsOfMiniredis: simulated masters know them, or the documentation says why not.
func TestCommandsOfMiniredis(t *testing.T) {
	var known, explained []string
	for _, g := range sim.KnownCommands() {
		known = append(known, g.Names...)
	}
	for _, m := range missing {
		explained = append(explained, strings.Fields(m.names)...)
	}
	for _, name := range strings.Fields(miniredis) {
		if slices.Contains(known, name) == slices.Contains(explained, name) {
			t.Errorf("%s is known: %v; it is said why it is not: %v", name, slices.Contains(known, name), slices.Contains(explained, name))
		}
	}
	for _, name := range explained {
		if !slices.Contains(strings.Fields(miniredis), name) {
			t.Errorf("miniredis does not have %s", name)
		}
	}
}
