//go:build real

package process

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"lockpick/cluster"
)

const (
	extendScript  = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) else return 0 end`
	releaseScript = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`
)

// lockTraffic is a pipeline of the commands of locks and the replies of a master that has both
// scripts: in each round acquire, read, extend by script and delete; acquire and release by script.
func lockTraffic(rounds int, extend, release string) (commands, replies string, n int) {
	var c, r strings.Builder
	send := func(reply string, args ...string) {
		fmt.Fprintf(&c, "*%d\r\n", len(args))
		for _, a := range args {
			fmt.Fprintf(&c, "$%d\r\n%s\r\n", len(a), a)
		}
		r.WriteString(reply)
		n++
	}
	for i := range rounds {
		key := fmt.Sprintf("lock:orders:%05d", i*7919%20000)
		for turn, token := range []string{fmt.Sprintf("%016x%016x", i*0x9e3779b9, i), fmt.Sprintf("%016x%016x", i, i*0x85ebca6b)} {
			send("+OK\r\n", "SET", key, token, "NX", "PX", "10000")
			if turn == 1 {
				send(":1\r\n", "EVALSHA", release, "1", key, token)
				continue
			}
			send(fmt.Sprintf("$%d\r\n%s\r\n", len(token), token), "GET", key)
			send(":1\r\n", "EVALSHA", extend, "1", key, token, "10000")
			send(":1\r\n", "DEL", key)
		}
	}
	return c.String(), r.String(), n
}

// BenchmarkObservedTraffic says what it costs that an observer follows a link to a Redis master:
// lock commands on two links to the same master, one with an observer, in pipelines of 6, 60 and 1,200.
// An iteration sends 1,200 commands four times: bare, observed, observed, bare. time-ratio is the median
// of how much longer the observed ones took.
//
//	go test ./cluster/process -run '^$' -bench ObservedTraffic -benchtime 300x
func BenchmarkObservedTraffic(b *testing.B) {
	needs(b, "process")
	const allRounds = 200
	for _, rounds := range []int{1, 10, allRounds} {
		b.Run(fmt.Sprintf("pipelines of %d", 6*rounds), func(b *testing.B) {
			g, err := Start(context.Background(), cluster.Config{Masters: 1, Persistence: cluster.None})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { g.Close() })
			votes := 0
			bare, observed := linked(b, g, "c1", nil), linked(b, g, "c2", &cluster.Observer{
				Opened: func(string) {}, Exchange: func(cluster.Exchange) { votes++ }, Lost: func(why error) { b.Error(why) },
			})
			commands, replies, n := lockTraffic(rounds, load(b, observed, extendScript), load(b, observed, releaseScript))
			got := make([]byte, len(replies))
			ask := func(c net.Conn) time.Duration {
				began := time.Now()
				for range allRounds / rounds {
					sent := make(chan error, 1)
					go func() {
						_, err := io.WriteString(c, commands)
						sent <- err
					}()
					if _, err := io.ReadFull(c, got); err != nil || string(got) != replies {
						b.Fatalf("the replies are not those of lock commands: %v, %.100q", err, got)
					}
					if err := <-sent; err != nil {
						b.Fatal(err)
					}
				}
				return time.Since(began)
			}
			ask(bare)
			ask(observed)
			var ratios []float64
			var without, with time.Duration
			votes = 0
			for b.Loop() {
				a1, o1, o2, a2 := ask(bare), ask(observed), ask(observed), ask(bare)
				without, with = without+a1+a2, with+o1+o2
				ratios = append(ratios, float64(o1+o2)/float64(a1+a2))
			}
			all := 2 * b.N * allRounds / rounds
			if votes != all*n {
				b.Errorf("%d votes were seen, of %d commands", votes, all*n)
			}
			for what, took := range map[string]time.Duration{"bare": without, "observed": with} {
				b.ReportMetric(float64(all*n)/took.Seconds(), what+"-commands/s")
				b.ReportMetric(float64(all*(len(commands)+len(replies)))/took.Seconds()/1e6, what+"-MB/s")
			}
			low, median, high := medianOf(ratios)
			b.ReportMetric(low, "time-ratio-low")
			b.ReportMetric(median, "time-ratio")
			b.ReportMetric(high, "time-ratio-high")
		})
	}
}

// linked connects a client to the first master through a link that an observer follows, if there is one.
func linked(b *testing.B, g cluster.Cluster, client string, o *cluster.Observer) net.Conn {
	b.Helper()
	l, err := g.Link(client, 0)
	if err != nil {
		b.Fatal(err)
	}
	if o != nil {
		l.(cluster.Observable).Observe(*o)
	}
	c, err := net.Dial("tcp", l.Addr())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	return c
}

// load loads a script into the master, and returns its hash.
func load(b *testing.B, c net.Conn, script string) string {
	b.Helper()
	sum := sha1.Sum([]byte(script))
	sha := hex.EncodeToString(sum[:])
	fmt.Fprintf(c, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$%d\r\n%s\r\n", len(script), script)
	reply := make([]byte, len("$40\r\n")+len(sha)+len("\r\n"))
	if _, err := io.ReadFull(c, reply); err != nil || !strings.Contains(string(reply), sha) {
		b.Fatalf("the script was not loaded: %v, %q", err, reply)
	}
	return sha
}
