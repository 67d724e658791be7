package resp

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"lockpick/internal/inputs"
)

// generator makes traffic: commands as clients of locks send them, in both encodings and in pipelines,
// replies of RESP 2 and 3, and both broken in places.
type generator struct {
	random  *rand.Rand
	mutator *inputs.Mutator
}

func newGenerator(random *rand.Rand) *generator {
	g := &generator{random: random}
	var known [][]byte
	for _, x := range seeds {
		known = append(known, []byte(x.requests), []byte(x.replies))
	}
	for range 20 {
		known = append(known, g.commands(), g.replies())
	}
	g.mutator = inputs.NewMutator(random, known)
	return g
}

func (g *generator) next() *traffic {
	r := g.random
	x := &traffic{requests: g.commands(), replies: g.replies(), size: 1 << r.IntN(7)}
	if r.IntN(8) == 0 {
		s := seeds[r.IntN(len(seeds))]
		x.requests, x.replies = []byte(s.requests), []byte(s.replies)
	}
	for range r.IntN(4) {
		if r.IntN(2) == 0 {
			x.requests = g.mutator.Change(x.requests)
		} else {
			x.replies = g.mutator.Change(x.replies)
		}
	}
	if r.IntN(2) == 0 {
		x.requestCut, x.replyCut = r.IntN(len(x.requests)+1), r.IntN(len(x.replies)+1)
	}
	return x
}

// shapes are commands, with K for a key, T for a token, M for a lifetime and L for a script.
var shapes = strings.Split(`SET K T NX PX M
set K T EX M NX
SET K T XX GET
SET K T
SETNX K T
GETSET K T
SETEX K M T
PSETEX K M T
GET K
GETDEL K
DEL K
UNLINK K K
DELEX K IFEQ T
PEXPIRE K M
EXPIREAT K M
HSETNX K T 1
HINCRBY K T -1
HSET K T 1
HDEL K T
EVAL L 1 K T M
EVALSHA 0123456789abcdef0123456789abcdef01234567 1 K T
EVALSHA x 99 K T
EVAL L M K
SCRIPT LOAD L
MULTI
EXEC
DISCARD
RESET
WATCH K
WAIT 1 M
PING
SUBSCRIBE K
UNSUBSCRIBE
CLIENT REPLY ON
CLIENT REPLY OFF
MONITOR
HELLO 3`, "\n")

func (g *generator) word(w string) string {
	r := g.random
	switch w {
	case "K":
		return []string{"k0", "lock:orders:17", "{a}k", "", "k\x00\xff", "k\r\n$1"}[r.IntN(6)]
	case "T":
		return []string{"0123456789abcdef", "t", "\xff\x00", "", "*1\r\n", strings.Repeat("t", r.IntN(2000))}[r.IntN(6)]
	case "M":
		return []string{"1", "30000", "-1", "0", "99999999999999999999", "x"}[r.IntN(6)]
	case "L":
		return []string{"return redis.call('set',KEYS[1],ARGV[1],'px',ARGV[2])", "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end", "return 1", "redis.call(("}[r.IntN(4)]
	}
	return w
}

// commands makes some commands of a pipeline.
func (g *generator) commands() []byte {
	r := g.random
	var b []byte
	for range 1 + r.IntN(4) {
		words := strings.Fields(shapes[r.IntN(len(shapes))])
		inline := r.IntN(6) == 0
		if !inline {
			b = fmt.Appendf(b, "*%d\r\n", len(words))
		}
		for i, w := range words {
			w = g.word(w)
			switch {
			case !inline:
				b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(w), w)
			case i > 0:
				b = fmt.Appendf(b, " %q", w)
			default:
				b = append(b, w...)
			}
		}
		if inline {
			b = append(b, "\r\n"...)
		}
	}
	return b
}

// replies makes some replies.
func (g *generator) replies() []byte {
	var b []byte
	for range 1 + g.random.IntN(4) {
		b = g.reply(b, 0)
	}
	return b
}

func (g *generator) reply(b []byte, depth int) []byte {
	r := g.random
	kinds := 14
	if depth > 3 {
		kinds = 9
	}
	switch r.IntN(kinds) {
	case 0, 1:
		return append(b, []string{"+OK\r\n", "+QUEUED\r\n", "+PONG\r\n", "+\r\n"}[r.IntN(4)]...)
	case 2:
		return append(b, []string{"-ERR no\r\n", "-NOSCRIPT No matching script\r\n", "-MOVED 1 a:1\r\n", "!5\r\nERR x\r\n"}[r.IntN(4)]...)
	case 3, 4:
		return fmt.Appendf(b, ":%d\r\n", r.IntN(4)-1)
	case 5, 6:
		t := g.word("T")
		return fmt.Appendf(b, "$%d\r\n%s\r\n", len(t), t)
	case 7:
		return append(b, []string{"$-1\r\n", "*-1\r\n", "_\r\n", "*0\r\n"}[r.IntN(4)]...)
	case 8:
		return append(b, []string{"#t\r\n", "#f\r\n", ",1.5\r\n", "(99999999999999999999\r\n", "=5\r\ntxt:x\r\n"}[r.IntN(5)]...)
	case 9:
		b = append(b, "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n"...)
		return g.reply(b, depth+1)
	default:
		kind := "*~>%|*"[r.IntN(6)]
		n := r.IntN(3)
		b = fmt.Appendf(b, "%c%d\r\n", kind, n)
		if kind == '%' || kind == '|' {
			n *= 2
		}
		for range n {
			b = g.reply(b, depth+1)
		}
		return b
	}
}
