package virtual

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster"
	"lockpick/internal/waittest"
)

// callers are connections to one master whose commands may block.
type callers struct {
	control *redis.Conn
	conns   []*redis.Conn
	ids     []string
	replies []chan string
	busy    []bool // no reply has come yet
}

func newCallers(t *testing.T, c cluster.Cluster, n int) *callers {
	t.Helper()
	l, err := c.Link("c1", 0)
	if err != nil {
		t.Fatal(err)
	}
	o := &redis.Options{Addr: l.Addr(), Protocol: 2, MaxRetries: -1, DisableIdentity: true, ReadTimeout: -1, PoolSize: n + 1}
	if m, ok := c.(*Cluster); ok {
		o.Dialer = m.DialContext
	}
	client := redis.NewClient(o)
	t.Cleanup(func() { client.Close() })
	x := &callers{control: client.Conn()}
	for range n {
		conn := client.Conn()
		x.conns, x.replies, x.busy = append(x.conns, conn), append(x.replies, make(chan string, 1)), append(x.busy, false)
		x.ids = append(x.ids, strconv.FormatInt(conn.ClientID(ctx).Val(), 10))
	}
	return x
}

// blocked returns the number of connections that the master has blocked.
func (x *callers) blocked() int {
	_, rest, _ := strings.Cut(x.control.Info(ctx, "clients").Val(), "\nblocked_clients:")
	text, _, _ := strings.Cut(rest, "\r")
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

func (x *callers) waiting() (n int) {
	for _, busy := range x.busy {
		if busy {
			n++
		}
	}
	return n
}

// step sends a command, and returns the replies that connections get before the master is idle.
func (x *callers) step(i int, line string) map[int]string {
	before := x.waiting()
	x.busy[i] = true
	words := asWords(line)
	go func() { x.replies[i] <- said(x.conns[i], words) }()
	waittest.BecomesTrue(func() bool { return len(x.replies[i]) == 1 || x.blocked() == before+1 })
	return x.collect()
}

// collect returns the replies that have come, once all connections without one are blocked.
func (x *callers) collect() map[int]string {
	got := map[int]string{}
	waittest.BecomesTrue(func() bool {
		for i := range x.replies {
			if len(x.replies[i]) == 1 {
				got[i], x.busy[i] = <-x.replies[i], false
			}
		}
		return x.blocked() == x.waiting()
	})
	return got
}

// asWords splits a command. In words in lower case an underscore stands for a space.
func asWords(line string) (all []any) {
	for _, w := range strings.Fields(line) {
		if w != strings.ToUpper(w) {
			w = strings.ReplaceAll(w, "_", " ")
		}
		all = append(all, w)
	}
	return all
}

// blockingLines are drawn at random. A line may have several commands of one connection.
var blockingLines = []string{
	"BLPOP k1 k2 0", "BLPOP k2 0", "BRPOP k1 k2 0", "BLMOVE k1 k2 LEFT RIGHT 0", "BRPOPLPUSH k2 k1 0", "BLMPOP 0 2 k1 k2 LEFT COUNT 2", "BZPOPMIN z1 z2 0", "BZPOPMAX z2 0", "BZMPOP 0 2 z1 z2 MAX COUNT 3", "BLPOP z1 k1 0",
	"LPUSH k1 a", "RPUSH k2 a b c", "RPUSH k1 a b", "ZADD z1 1 a 2 b 3 c", "ZADD z2 5 x", "SET k1 text", "DEL k1 k2", "RENAME k2 k1", "RPUSH spare p q", "RENAME spare k2", "COPY spare k1", "SET z1 text", "DEL z1 z2",
	"LMOVE spare k1 LEFT LEFT", "ZUNIONSTORE z2 2 z1 spare", "EVAL redis.call('rpush','k1','s')redis.call('lpop','k1')return_1 0", "EVAL redis.call('rpush','k2','1','2')return_redis.call('rpush','k1','3') 0",
	"XREAD BLOCK 0 STREAMS x1 x2 $ $", "XREAD BLOCK 0 STREAMS x2 $", "XREAD COUNT 1 BLOCK 0 STREAMS x1 1-1", "XREAD BLOCK 0 STREAMS x1 x1 0 $", "XADD x1 1-* f v", "XADD x1 1-* f v", "XADD x2 1-* f v", "XDEL x1 1-1 1-2 1-3", "XTRIM x1 MAXLEN 0", "SET x1 text", "DEL x1 x2",
	"RENAME x2 x1", "COPY x1 x2", "MULTI;XADD x1 1-* f v;XADD x2 1-* g w;EXEC", "MULTI;XREAD BLOCK 0 STREAMS x1 $;EXEC", "MULTI;XADD x1 2-* f v;DEL x1;EXEC", "EVAL redis.call('xadd','x1','2-*','f','v')return_redis.call('xadd','x2','2-*','f','v') 0",
	"MULTI;RPUSH k1 m;RPUSH k2 n;EXEC", "MULTI;BLPOP k1 0;BZPOPMIN z1 0;BLMOVE k1 k2 LEFT LEFT 0;EXEC", "MULTI;RPUSH k1 m;DEL k1;EXEC",
}

// TestBlockedConnectionsAreServedLikeReal runs random commands of several connections on a real master and on one in memory.
// The same connections must get the same replies after each of them.
func TestBlockedConnectionsAreServedLikeReal(t *testing.T) {
	real := realMaster(t)
	const n = 6
	there := newCallers(t, real, n)
	served := 0
	for began := time.Now(); time.Since(began) < 3*time.Second || served == 0; {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 1))
		memory := New(cluster.Config{Masters: 1, Admin: true}, Options{Seed: seed})
		here := newCallers(t, memory, n)
		var done []string
		both := func(i int, line string) {
			for _, command := range strings.Split(line, ";") {
				done = append(done, fmt.Sprintf("%d: %s", i, command))
				a, b := there.step(i, command), here.step(i, command)
				if !maps.Equal(a, b) {
					t.Fatalf("seed %d: %s\nreal %v\nin memory %v", seed, strings.Join(done, "\n"), a, b)
				}
				if len(a) > 1 {
					served += len(a) - 1
				}
			}
		}
		both(0, "FLUSHALL")
		if served == 0 { // a stream that comes without the entry that a client waits for
			both(0, "XADD x1 1-* f v;XTRIM x1 MAXLEN 0")
			both(1, "XREAD BLOCK 0 STREAMS x2 $")
			both(2, "COPY x1 x2;FLUSHALL")
		}
		for range 40 {
			if i := r.IntN(n); !there.busy[i] {
				both(i, blockingLines[r.IntN(len(blockingLines))])
			}
		}
		for i := range n {
			if !there.busy[i] {
				continue
			}
			how := []string{"TIMEOUT", "ERROR"}[r.IntN(2)]
			for _, x := range []*callers{there, here} {
				if k := x.control.Do(ctx, "CLIENT", "UNBLOCK", x.ids[i], how).Val(); k != int64(1) {
					t.Fatalf("seed %d: %s\nCLIENT UNBLOCK %d: %v", seed, strings.Join(done, "\n"), i, k)
				}
			}
			if a, b := there.collect(), here.collect(); !maps.Equal(a, b) {
				t.Fatalf("seed %d: %s\nunblocked: real %v, in memory %v", seed, strings.Join(done, "\n"), a, b)
			}
		}
		memory.Close()
	}
	t.Logf("%d connections were served", served)
}
