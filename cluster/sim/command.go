package sim

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	"lockpick/cluster"
)

// command is a Redis command: the allowed numbers of arguments, and a function with its
// effect.
type command struct {
	min, max int  // arguments after the name; max < 0: any number
	writes   bool // refused while the disk fails
	do       func(db DB, args []string) reply
}

// commands holds the commands that a simulated master understands: those that locks need.
// init fills the map, because scripts call commands.
var commands map[string]*command

func init() {
	commands = map[string]*command{
		"ping":     {0, 1, false, ping},
		"time":     {0, 0, false, showTime},
		"set":      {2, -1, true, set},
		"setnx":    {2, 2, true, func(db DB, a []string) reply { return truth(setNX(db, a[0], a[1])) }},
		"get":      {1, 1, false, get},
		"del":      {1, -1, true, del},
		"unlink":   {1, -1, true, del},
		"exists":   {1, -1, false, exists},
		"incr":     {1, 1, true, func(db DB, a []string) reply { return increase(db, a[0], 1) }},
		"incrby":   {2, 2, true, func(db DB, a []string) reply { return increaseBy(db, a[0], a[1], 1) }},
		"decr":     {1, 1, true, func(db DB, a []string) reply { return increase(db, a[0], -1) }},
		"decrby":   {2, 2, true, func(db DB, a []string) reply { return increaseBy(db, a[0], a[1], -1) }},
		"expire":   {2, -1, true, func(db DB, a []string) reply { return expire(db, "expire", a, 1000) }},
		"pexpire":  {2, -1, true, func(db DB, a []string) reply { return expire(db, "pexpire", a, 1) }},
		"persist":  {1, 1, true, persist},
		"ttl":      {1, 1, false, func(db DB, a []string) reply { return left(db, a[0], 1000) }},
		"pttl":     {1, 1, false, func(db DB, a []string) reply { return left(db, a[0], 1) }},
		"hset":     {3, -1, true, hset},
		"hget":     {2, 2, false, hget},
		"hexists":  {2, 2, false, hexists},
		"hdel":     {2, -1, true, hdel},
		"hincrby":  {3, 3, true, hincrby},
		"hlen":     {1, 1, false, hlen},
		"eval":     {2, -1, false, eval},
		"evalsha":  {2, -1, false, evalsha},
		"script":   {1, -1, false, script},
		"wait":     {2, 2, false, wait},
		"dbsize":   {0, 0, false, func(db DB, _ []string) reply { return intReply(int64(len(db.s.pairs))) }},
		"flushall": {0, 1, true, flush},
		"flushdb":  {0, 1, true, flush},

		"setex":   {3, 3, true, func(db DB, a []string) reply { return setFor(db, "setex", a, 1000) }},
		"psetex":  {3, 3, true, func(db DB, a []string) reply { return setFor(db, "psetex", a, 1) }},
		"getset":  {2, 2, true, getSet},
		"getdel":  {1, 1, true, getDel},
		"mget":    {1, -1, false, mget},
		"mset":    {2, -1, true, mset},
		"strlen":  {1, 1, false, strlen},
		"append":  {2, 2, true, appendTo},
		"type":    {1, 1, false, typeOf},
		"hgetall": {1, 1, false, hgetall},
		"hmset":   {3, -1, true, hmset},
		"hmget":   {2, -1, false, hmget},
		"hsetnx":  {3, 3, true, hsetnx},
		"echo":    {1, 1, false, func(_ DB, a []string) reply { return bulkReply(a[0]) }},
		"info":    {0, -1, false, info},
		"publish": {2, 2, false, publish},
		"pubsub":  {1, -1, false, pubsub},
	}
}

const (
	syntaxError  = "ERR syntax error"
	notInteger   = "ERR value is not an integer or out of range"
	wrongType    = "WRONGTYPE Operation against a key holding the wrong kind of value"
	overflow     = "ERR increment or decrement would overflow"
	hashNotInt   = "ERR hash value is not an integer"
	noScript     = "NOSCRIPT No matching script. Please use EVAL."
	misconfAOF   = "MISCONF Errors writing to the AOF file: No space left on device"
	outOfMemory  = "OOM command not allowed when used memory > 'maxmemory'."
	fromAScript  = " script: %s, on @user_script:1."
	unknownWords = "ERR unknown command '%s', with args beginning with: %s"
)

// execute executes one command.
func (db DB) execute(name string, args []string) reply {
	c := commands[name]
	if c == nil {
		lower := strings.ToLower(name)
		if c = commands[lower]; c == nil {
			return errorReply(unknownCommand(name, args))
		}
		name = lower
	}
	return db.carryOut(c, name, args)
}

func (db DB) carryOut(c *command, name string, args []string) reply {
	if len(args) < c.min || c.max >= 0 && len(args) > c.max {
		return errorReply("ERR wrong number of arguments for '" + name + "' command")
	}
	if c.writes {
		if refused := db.refuses(name); refused != "" {
			return errorReply(refused)
		}
	}
	return c.do(db, args)
}

func unknownCommand(name string, args []string) string {
	var b strings.Builder
	for _, a := range args {
		if b.Len() >= 128 {
			break
		}
		fmt.Fprintf(&b, "'%.*s' ", 128-b.Len(), a)
	}
	return fmt.Sprintf(unknownWords, name, b.String())
}

func ping(_ DB, args []string) reply {
	if len(args) == 1 {
		return bulkReply(args[0])
	}
	return reply{kind: replyStatus, text: "PONG"}
}

func showTime(db DB, _ []string) reply {
	t := Epoch.UnixMicro() + db.clock()/1000
	return arrayReply(bulkReply(strconv.FormatInt(t/1e6, 10)), bulkReply(strconv.FormatInt(t%1e6, 10)))
}

func get(db DB, args []string) reply {
	v, ok := db.s.get(args[0], db.now)
	switch {
	case !ok:
		return nilReply
	case v.hash != nil:
		return errorReply(wrongType)
	}
	return bulkReply(v.text)
}

func del(db DB, args []string) reply {
	var n int64
	for _, key := range args {
		if _, ok := db.s.get(key, db.now); ok {
			db.s.drop(key, cluster.Deleted)
			n++
		}
	}
	return intReply(n)
}

func exists(db DB, args []string) reply {
	var n int64
	for _, key := range args {
		if _, ok := db.s.get(key, db.now); ok {
			n++
		}
	}
	return intReply(n)
}

func flush(db DB, _ []string) reply {
	for _, key := range db.s.names() {
		db.s.drop(key, cluster.Deleted)
	}
	return okReply
}

func increaseBy(db DB, key, by string, sign int64) reply {
	n, err := strconv.ParseInt(by, 10, 64)
	if err != nil {
		return errorReply(notInteger)
	}
	if sign < 0 && n == math.MinInt64 {
		return errorReply("ERR decrement would overflow")
	}
	return increase(db, key, sign*n)
}

func increase(db DB, key string, by int64) reply {
	v, ok := db.s.get(key, db.now)
	if ok && v.hash != nil {
		return errorReply(wrongType)
	}
	var n int64
	if ok {
		var err error
		if n, err = canonical(v.text); err != nil {
			return errorReply(notInteger)
		}
	} else {
		v.expires = never
	}
	if by < 0 && n < math.MinInt64-by || by > 0 && n > math.MaxInt64-by {
		return errorReply(overflow)
	}
	n += by
	v.text = strconv.FormatInt(n, 10)
	db.s.put(key, v)
	return intReply(n)
}

// canonical parses a number as Redis does: it accepts only the form in which Redis would
// write it.
func canonical(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err == nil && strconv.FormatInt(n, 10) != s {
		err = strconv.ErrSyntax
	}
	return n, err
}

func expire(db DB, name string, args []string, unit int64) reply {
	n, err := canonical(args[1])
	if err != nil {
		return errorReply(notInteger)
	}
	var nx, xx, gt, lt bool
	for _, word := range args[2:] {
		switch strings.ToLower(word) {
		case "nx":
			nx = true
		case "xx":
			xx = true
		case "gt":
			gt = true
		case "lt":
			lt = true
		default:
			return errorReply("ERR Unsupported option " + word)
		}
	}
	switch {
	case nx && (xx || gt || lt):
		return errorReply("ERR NX and XX, GT or LT options at the same time are not compatible")
	case gt && lt:
		return errorReply("ERR GT and LT options at the same time are not compatible")
	case n > math.MaxInt64/unit || n < math.MinInt64/unit || n*unit > never-1-Epoch.UnixMilli()-db.now:
		return errorReply("ERR invalid expire time in '" + name + "' command")
	}
	v, ok := db.s.get(args[0], db.now)
	if !ok {
		return intReply(0)
	}
	at := db.now + n*unit
	if nx && v.expires != never || xx && v.expires == never || gt && at <= v.expires || lt && v.expires != never && at >= v.expires {
		return intReply(0)
	}
	if at <= db.now {
		db.s.drop(args[0], cluster.Deleted)
		return intReply(1)
	}
	v.expires = at
	db.s.put(args[0], v)
	return intReply(1)
}

func persist(db DB, args []string) reply {
	v, ok := db.s.get(args[0], db.now)
	if !ok || v.expires == never {
		return intReply(0)
	}
	v.expires = never
	db.s.put(args[0], v)
	return intReply(1)
}

func left(db DB, key string, unit int64) reply {
	v, ok := db.s.get(key, db.now)
	switch {
	case !ok:
		return intReply(-2)
	case v.expires == never:
		return intReply(-1)
	}
	return intReply((max(v.expires-db.now, 0) + unit/2) / unit)
}

// hash finds the hash under a key; problem is the text of an error.
func (db DB) hash(key string) (v value, problem string) {
	v, ok := db.s.get(key, db.now)
	switch {
	case !ok:
		return value{expires: never}, ""
	case v.hash == nil:
		return v, wrongType
	}
	return v, ""
}

func hset(db DB, args []string) reply {
	if len(args)%2 == 0 {
		return errorReply("ERR wrong number of arguments for 'hset' command")
	}
	v, problem := db.hash(args[0])
	if problem != "" {
		return errorReply(problem)
	}
	before := len(v.hash)
	v.hash = maps.Clone(v.hash)
	if v.hash == nil {
		v.hash = map[string]string{}
	}
	for i := 1; i < len(args); i += 2 {
		v.hash[args[i]] = args[i+1]
	}
	db.s.put(args[0], v)
	return intReply(int64(len(v.hash) - before))
}

func hget(db DB, args []string) reply {
	v, problem := db.hash(args[0])
	if problem != "" {
		return errorReply(problem)
	}
	if x, ok := v.hash[args[1]]; ok {
		return bulkReply(x)
	}
	return nilReply
}

func hexists(db DB, args []string) reply {
	v, problem := db.hash(args[0])
	if problem != "" {
		return errorReply(problem)
	}
	_, ok := v.hash[args[1]]
	return truth(ok)
}

func hlen(db DB, args []string) reply {
	v, problem := db.hash(args[0])
	if problem != "" {
		return errorReply(problem)
	}
	return intReply(int64(len(v.hash)))
}

func hdel(db DB, args []string) reply {
	v, problem := db.hash(args[0])
	if problem != "" {
		return errorReply(problem)
	}
	before := len(v.hash)
	v.hash = maps.Clone(v.hash)
	for _, field := range args[1:] {
		delete(v.hash, field)
	}
	switch len(v.hash) {
	case before:
	case 0:
		db.s.drop(args[0], cluster.Deleted)
	default:
		db.s.put(args[0], v)
	}
	return intReply(int64(before - len(v.hash)))
}

func hincrby(db DB, args []string) reply {
	by, err := canonical(args[2])
	if err != nil {
		return errorReply(notInteger)
	}
	v, problem := db.hash(args[0])
	if problem != "" {
		return errorReply(problem)
	}
	var n int64
	if x, ok := v.hash[args[1]]; ok {
		if n, err = canonical(x); err != nil {
			return errorReply(hashNotInt)
		}
	}
	if by < 0 && n < math.MinInt64-by || by > 0 && n > math.MaxInt64-by {
		return errorReply(overflow)
	}
	n += by
	v.hash = maps.Clone(v.hash)
	if v.hash == nil {
		v.hash = map[string]string{}
	}
	v.hash[args[1]] = strconv.FormatInt(n, 10)
	db.s.put(args[0], v)
	return intReply(n)
}
