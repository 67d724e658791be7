package virtual

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/cluster"
)

// told is what an observer was told, each change in one line.
func told(x cluster.Executed) (lines []string) {
	who := x.Client
	if x.Conn == "" {
		who = "itself"
	} else if x.Client == "" {
		who = "?"
	}
	if x.Apart {
		who += " (apart)"
	}
	for _, c := range x.Changes {
		line := fmt.Sprint(who, ": ", c.Key, " ", c.Kind, " ", c.Type)
		if c.Type == "string" {
			line += fmt.Sprintf(" %q>%q", c.Before, c.Value)
		}
		if c.Left != 0 {
			line += " " + c.Left.String()
		}
		if len(x.Args) > 0 {
			line += " by " + strings.ToLower(x.Args[0])
		}
		if c.Call != nil {
			line += " calling " + strings.Join(c.Call, " ")
		}
		lines = append(lines, line)
	}
	return lines
}

func TestMastersTellWhatTheyDidToKeys(t *testing.T) {
	in(t, cluster.Config{Masters: 1, Replicas: 1, Persistence: cluster.Always}, func(b *bench) {
		var got []string
		b.cluster.Account(func(_ int, x cluster.Executed) { got = append(got, told(x)...) })
		do := func(words ...any) {
			t.Helper()
			if err := b.client.Do(ctx, words...).Err(); err != nil && err != redis.Nil {
				t.Fatal(err)
			}
		}
		want := func(what string, lines ...string) {
			t.Helper()
			if !slices.Equal(got, lines) {
				t.Errorf("%s: the observer was told\n\t%s\nwant\n\t%s", what, strings.Join(got, "\n\t"), strings.Join(lines, "\n\t"))
			}
			got = nil
		}
		do("set", "k", "a", "px", 1000)
		do("set", "k", "b", "nx")
		want("a key and a refusal", `c1: k created string "">"a" 1s by set`)
		do("set", "k", "b", "px", 1000)
		do("set", "k", "b", "xx", "px", 3000)
		do("pexpire", "k", 2000)
		do("get", "k")
		want("values and deadlines", `c1: k changed string "a">"b" 1s by set`, `c1: k ttl string "b">"b" 3s by set`, `c1: k ttl string "b">"b" 2s by pexpire`)
		do("del", "k", "none")
		do("del", "k")
		want("a deletion", `c1: k deleted string "b">"" by del`)

		do("hset", "h", "f", "1", "g", "2")
		do("hset", "h", "f", "3", "g", "2")
		do("hdel", "h", "f")
		want("fields", `c1: h created hash by hset`, `c1: h changed hash by hset`, `c1: h changed hash by hdel`)
		do("del", "h")
		want("a hash", `c1: h deleted hash by del`)

		do("set", "k", "a", "px", 10)
		want("a key", `c1: k created string "">"a" 10ms by set`)
		time.Sleep(20 * time.Millisecond)
		const look = `if redis.call("get", KEYS[1]) then return 1 end redis.call("set", KEYS[2], "x") redis.call("incr", KEYS[3]) return redis.call("incr", KEYS[3])`
		do("eval", look, 3, "k", "x", "n")
		want("a script that found an expired key", `itself: k expired string "a">""`, `c1: x created string "">"x" by eval calling set x x`,
			`c1: n created string "">"1" by eval calling incr n`, `c1: n changed string "1">"2" by eval calling incr n`)
		do("set", "k", "a", "px", 10)
		got = nil
		time.Sleep(20 * time.Millisecond)
		do("eval", `return redis.call("exists", KEYS[1])`, 1, "k")
		want("a script that only looked", `itself: k expired string "a">""`)
		_, err := b.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, "x", "y", 0)
			p.Get(ctx, "x")
			p.Del(ctx, "n")
			return nil
		})
		b.ok(err)
		want("a transaction", `c1: x changed string "x">"y" by exec calling set x y`, `c1: n deleted string "2">"" by exec calling del n`)

		b.ok(b.m.Kill(ctx))
		b.ok(b.m.Start(ctx))
		want("a restart that keeps all")
		time.Sleep(time.Second)
		b.ok(b.m.HoldReplication(ctx, true))
		do("set", "x", "z")
		do("set", "new", "1")
		do("set", "short", "1", "px", 1)
		time.Sleep(5 * time.Millisecond)
		got = nil
		b.ok(b.m.Failover(ctx, cluster.Takeover{}))
		want("a failover", `itself: new lost string "1">""`, `itself: short expired string "1">""`, `itself: x restored string "z">"y"`)
		b.ok(b.m.HoldReplication(ctx, false))
		b.ok(b.m.Start(ctx))
		time.Sleep(time.Second)
		b.ok(b.m.Failover(ctx, cluster.Takeover{Apart: []string{"c1"}}))
		time.Sleep(time.Second)
		do("set", "x", "apart")
		want("a primary that lives on", `c1 (apart): x changed string "y">"apart" by set`)
	})
}

func TestMastersTellWhatARestartLostAndWhatTheyEvicted(t *testing.T) {
	in(t, cluster.Config{Masters: 2, MaxMemory: 2 << 20, Eviction: "allkeys-random"}, func(b *bench) {
		var got []string
		b.cluster.Account(func(master int, x cluster.Executed) {
			for _, line := range told(x) {
				got = append(got, fmt.Sprint("m", master+1, " ", line))
			}
		})
		b.set("k", "a")
		b.ok(b.m.FillMemory(ctx, 0))
		for range 100 {
			b.ok(b.m.FillMemory(ctx, 1<<20))
		}
		b.ok(b.m.DrainMemory(ctx))
		b.set("j", "b")
		b.ok(b.m.Kill(ctx))
		b.ok(b.m.Start(ctx))
		want := []string{`m1 c1: k created string "">"a" by set`, `m1 itself: k evicted string "a">""`, `m1 c1: j created string "">"b" by set`, `m1 itself: j lost string "b">""`}
		if !slices.Equal(got, want) {
			t.Errorf("the observer was told %q, want %q", got, want)
		}
	})
}

// TestConnectionsTellWhatBecameOfEachCommand: with pipelines, transactions, blocked and unanswered commands,
// each command has its own reply and its own changes.
func TestConnectionsTellWhatBecameOfEachCommand(t *testing.T) {
	in(t, cluster.Config{Masters: 1, Replicas: 1}, func(b *bench) {
		addrs, err := b.cluster.Addrs("c2")
		b.ok(err)
		followed, err := b.cluster.Link("c2", 0)
		b.ok(err)
		b.ok(b.cluster.Account(func(int, cluster.Executed) {}))
		var got []string
		conn := ""
		followed.(cluster.Observable).Observe(cluster.Observer{Exchange: func(x cluster.Exchange) {
			conn = max(conn, x.Conn)
			line := strings.Join(x.Args, " ")
			switch {
			case x.Queued:
				line += " queued"
			case x.Replied:
				line += " answered"
			}
			if !x.Accounted || x.Answered.Before(x.Sent) || x.Executed != (x.Conn != "") {
				t.Errorf("%+v", x)
			}
			if x.Executed {
				line += " executed"
			}
			for _, c := range x.Changes {
				line += fmt.Sprint(" ", c.Key, " ", c.Kind)
			}
			got = append(got, line)
		}})
		c, err := b.cluster.DialContext(ctx, "tcp", addrs[0])
		b.ok(err)
		read := func(reply string) {
			t.Helper()
			for all := ""; all != reply; {
				p := make([]byte, 1000)
				c.SetReadDeadline(time.Now().Add(10 * time.Second))
				n, err := c.Read(p)
				if err != nil {
					t.Fatalf("%v after %q", err, all)
				}
				all += string(p[:n])
			}
		}
		write := func(text string) { c.Write([]byte(text)) }
		write("SET a 1\r\nSET a 2 NX\r\nDEL a\r\nMULTI\r\nSET b 1\r\nINCR b\r\nEXEC\r\nCLIENT ID\r\nSUBSCRIBE x y\r\n")
		read("+OK\r\n$-1\r\n:1\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n:2\r\n:1\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\ny\r\n:2\r\n")
		b.ok(b.client.Publish(ctx, "x", "news").Err())
		read("*3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$4\r\nnews\r\n")
		write("UNSUBSCRIBE x y\r\n")
		read("*3\r\n$11\r\nunsubscribe\r\n$1\r\nx\r\n:1\r\n*3\r\n$11\r\nunsubscribe\r\n$1\r\ny\r\n:0\r\n")
		write("SET c 1\r\nWAIT 1 1000\r\nGET c\r\n")
		read("+OK\r\n:1\r\n$1\r\n1\r\n")
		l, err := b.cluster.Link("c2", 0)
		b.ok(err)
		l.Set(cluster.LinkFault{Replies: cluster.Hold})
		write("INCR c\r\n")
		time.Sleep(time.Second)
		l.Set(cluster.LinkFault{Requests: cluster.Hold, Replies: cluster.Hold})
		write("DEL c\r\n")
		write("*2\r\n$3\r\nGET")
		c.Close()
		want := []string{
			`SET a 1 answered executed a created`, `SET a 2 NX answered executed`, `DEL a answered executed a deleted`,
			`MULTI answered executed`, `SET b 1 queued executed`, `INCR b queued executed`, `EXEC answered executed b created b changed`,
			`CLIENT ID answered executed`, `SUBSCRIBE x y answered executed`,
			`UNSUBSCRIBE x y answered executed`,
			`SET c 1 answered executed c created`, `WAIT 1 1000 answered executed`, `GET c answered executed`,
			`INCR c executed c changed`, `DEL c`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
		}
		if conn != "1" {
			t.Errorf("connection %s", conn)
		}
	})
}
