package transport_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockpick/redlock/internal/transport"
	"lockpick/redlock/protocol"
)

var errClosed = errors.New("closed")

// masters returns Masters whose servers answer each command with the result of reply, or not
// at all if that is "". INFO and the like fail.
func masters(t *testing.T, n int, reply func(master int, words []string) string) *transport.Masters {
	t.Helper()
	var clients []*redis.Client
	for i := range n {
		c := redis.NewClient(&redis.Options{Addr: fmt.Sprintf("master:%d", i), Dialer: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			go serve(server, func(words []string) string { return reply(i, words) })
			return client, nil
		}})
		t.Cleanup(func() { c.Close() })
		clients = append(clients, c)
	}
	m, err := transport.New(clients, errClosed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func serve(c net.Conn, reply func(words []string) string) {
	defer c.Close()
	answers := make(chan string, 1<<12) // net.Pipe has no room: read while the client writes
	defer close(answers)
	go func() {
		for a := range answers {
			if _, err := io.WriteString(c, a); err != nil {
				c.Close()
			}
		}
	}()
	r := bufio.NewReader(c)
	for {
		var n int
		if _, err := fmt.Fscanf(r, "*%d\r\n", &n); err != nil {
			return
		}
		words := make([]string, n)
		for i := range words {
			var size int
			if _, err := fmt.Fscanf(r, "$%d\r\n", &size); err != nil {
				return
			}
			b := make([]byte, size+2)
			if _, err := io.ReadFull(r, b); err != nil {
				return
			}
			words[i] = string(b[:size])
		}
		switch words[0] = strings.ToLower(words[0]); words[0] {
		case "set", "evalsha":
			if a := reply(words); a != "" {
				answers <- a
			}
		case "ping":
			answers <- "+PONG\r\n"
		default:
			answers <- "-ERR unknown command\r\n"
		}
	}
}

// ask sends a command to all masters, and returns after so many votes.
func ask(s protocol.Conversation, purpose protocol.Purpose, key, token string, timeout time.Duration, enough int) (yes int, votes []protocol.Vote) {
	cmd := protocol.Command{Purpose: purpose, Key: key, Token: token, TTL: 10_000}
	if purpose == protocol.Release {
		cmd.Script = protocol.CompareAndDelete
	}
	for v := range s.Ask(context.Background(), cmd, nil, timeout) {
		if votes = append(votes, v); v.Yes {
			yes++
		}
		if len(votes) == enough {
			break
		}
	}
	return yes, votes
}

// Many conversations at once, which go on after two of three votes: each master gets the SET of
// a token before its release, and each vote is about the command that it was cast for, although
// memory is reused.
func TestCommandsKeepTheirOrder(t *testing.T) {
	const callers, pairs = 16, 100
	var mu sync.Mutex
	stored := map[string]string{} // by master and key
	m := masters(t, 3, func(master int, words []string) string {
		mu.Lock()
		defer mu.Unlock()
		name := func(key string) string { return fmt.Sprint(master, " ", key) }
		if words[0] == "set" {
			if stored[name(words[1])] != "" {
				return "$-1\r\n"
			}
			stored[name(words[1])] = words[2]
			return "+OK\r\n"
		}
		n := (len(words) - 3) / 2
		for i := range n {
			if key, token := words[3+i], words[3+n+i]; stored[name(key)] != token {
				t.Errorf("master %d: the release of %q came before its SET", master, token)
			} else {
				delete(stored, name(key))
			}
		}
		return fmt.Sprintf(":%d\r\n", n)
	})
	var all sync.WaitGroup
	for g := range callers {
		all.Go(func() {
			key := fmt.Sprint("k", g)
			for i := range pairs {
				token := fmt.Sprint(g, "-", i)
				s := m.Begin(func(v protocol.Vote) {
					if v.Key != key || v.Token != token {
						t.Errorf("a vote about %s %s for %s %s", v.Key, v.Token, key, token)
					}
				})
				for _, kind := range []protocol.Purpose{protocol.Set, protocol.Release} {
					if yes, votes := ask(s, kind, key, token, 10*time.Second, 2); yes != 2 || votes[0].Token != token {
						t.Errorf("%s: %d of 2 yes: %+v", kind, yes, votes)
						return
					}
				}
			}
		})
	}
	all.Wait()
}

// The vote of a master that does not reply is an error, and the master is suspect after that.
func TestSilentMasterIsSuspect(t *testing.T) {
	suspects := make(chan protocol.MasterHealth, 100)
	m := masters(t, 2, func(master int, words []string) string {
		if master == 1 {
			return ""
		}
		return "+OK\r\n"
	})
	m.OnSuspect(func(h protocol.MasterHealth) { suspects <- h })
	m.Connect(t.Context())
	_, votes := ask(m.Begin(nil), protocol.Set, "k", "t", 20*time.Millisecond, 2)
	for _, v := range votes {
		if v.Master == 1 && v.Err == nil {
			t.Errorf("%+v", v)
		}
	}
	for h := range suspects { // master 0 may be too slow for the timeout, too
		if h.Name == "master:1" {
			break
		}
	}
}

// After Close, every vote is the error that New was given.
func TestClosedMastersDoNotVote(t *testing.T) {
	m := masters(t, 3, func(int, []string) string { return "+OK\r\n" })
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	_, votes := ask(m.Begin(nil), protocol.Set, "k", "t", time.Second, 3)
	if len(votes) != 3 || !errors.Is(votes[2].Err, errClosed) {
		t.Errorf("%+v", votes)
	}
}
