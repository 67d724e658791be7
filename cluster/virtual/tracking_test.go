package virtual

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockpick/cluster"
)

// speaker is a connection in version 3 of the protocol, with the messages that it gets.
type speaker struct {
	conn  net.Conn
	input *bufio.Reader
}

// value reads one value as text. push: it is a message.
func (s *speaker) value() (text string, push bool, err error) {
	line, err := s.input.ReadString('\n')
	if err != nil {
		return "", false, err
	}
	line = strings.TrimSpace(line)
	n, _ := strconv.Atoi(line[1:])
	switch line[0] {
	case '$', '=':
		if n < 0 {
			break
		}
		b := make([]byte, n+2)
		_, err = io.ReadFull(s.input, b)
		return string(b[:len(b)-2]), false, err
	case '*', '>', '%':
		if line[0] == '%' {
			n *= 2
		}
		var items []string
		for range n {
			item, _, err := s.value()
			if err != nil {
				return "", false, err
			}
			items = append(items, item)
		}
		return fmt.Sprint(items), line[0] == '>', nil
	}
	return line, false, nil
}

// say sends a command and reads its reply, and the messages before it.
func (s *speaker) say(command string) (all []string, err error) {
	words := asWords(command)
	request := fmt.Sprintf("*%d\r\n", len(words))
	for _, w := range words {
		request += fmt.Sprintf("$%d\r\n%s\r\n", len(w.(string)), w)
	}
	if _, err := io.WriteString(s.conn, request); err != nil {
		return nil, err
	}
	for {
		text, push, err := s.value()
		if err != nil {
			return all, err
		}
		all = append(all, text)
		if !push {
			return all, nil
		}
	}
}

// trackingTraces are commands of two connections: r tracks, w writes. "r ?" reads a message.
var trackingTraces = []string{
	"r CLIENT TRACKING ON|r GET k|w SET k 1|w SET k 2|r GET k|r GET none|w SET none 1|w DEL k|r SET k 3|w GET k|w SET k 4",
	"r CLIENT TRACKING ON OPTIN|r GET k|w SET k 1|r CLIENT CACHING YES|r GET k|w SET k 2|r GET k|w SET k 3|r CLIENT CACHING NO|r CLIENT CACHING YES|r MULTI|r GET k|r PTTL k|r EXEC|w DEL k|r CLIENT TRACKING OFF|w SET k 1",
	"r CLIENT TRACKING ON OPTOUT|r GET k|w SET k 1|r CLIENT CACHING NO|r GET k|w SET k 2|r GET k|w SET k 3|r CLIENT CACHING YES",
	"r CLIENT TRACKING ON BCAST PREFIX lock: PREFIX other|w SET lock:a 1|w SET lok 1|w MULTI|w SET lock:a 2|w SET otherwise 1|w EXEC|r SET lock:b 1|w DEL lock:a lock:b",
	"r CLIENT TRACKING ON BCAST NOLOOP PREFIX lock:|r SET lock:a 1 NX PX 100000|w SET lock:a 2|r DEL lock:a|w SET lock:a 1 PX 30|r ?",
	"r CLIENT TRACKING ON BCAST|w SET any 1|w EVAL redis.call('set','x',1)_redis.call('del','x')_return_1 0|w GET any",
	"r CLIENT TRACKING ON|w SET k 1 PX 40|r GET k|r ?|r EVAL return_redis.call('get','k') 0|w SET k 1|r EVAL return_redis.call('get','k') 2 k z|w MSET k 1 z 1|r EVAL return_redis.call('set','k',1) 1 k|w SET k 1",
	"r CLIENT TRACKING ON|r EVAL_RO return_1 1 q|w SET q 1|r EVAL return_1 1 q|w SET q 1|r EVAL_RO return_redis.call('get','k') 1 q|w MSET k 1 q 1",
	"r CLIENT TRACKING ON NOLOOP|r GET k|r SET k 1|w SET k 2|r MGET k a b|w MSET a 1 b 2|r HGETALL h|w HSET h f 1",
	"r CLIENT TRACKING ON PREFIX a|r CLIENT TRACKING ON OPTIN OPTOUT|r CLIENT TRACKING ON BCAST OPTIN|r CLIENT TRACKING|r CLIENT TRACKING MAYBE|r CLIENT TRACKING ON what|r CLIENT CACHING YES|r CLIENT TRACKING ON OPTIN|r CLIENT TRACKING ON BCAST|r CLIENT TRACKING ON OPTOUT|r CLIENT CACHING|r CLIENT CACHING MAYBE",
	"r CLIENT TRACKING ON|r EXISTS l|w RPUSH l 1|r BLPOP l 1|r LRANGE l 0 -1|w RPUSH l 1|r TTL l|w EXPIRE l 100|r TYPE l|w RENAME l m",
}

// TestClientsAreToldOfChangedKeysLikeReal compares every reply and every message.
func TestClientsAreToldOfChangedKeysLikeReal(t *testing.T) {
	real := realMaster(t)
	memory := New(cluster.Config{Masters: 1, Admin: true}, Options{})
	defer memory.Close()
	memory.OnUnmodelled(func(_, what string) { t.Errorf("not modelled: %s", what) })
	told := 0
	for _, trace := range trackingTraces {
		var there, here []string
		for _, x := range []struct {
			c   cluster.Cluster
			all *[]string
		}{{real, &there}, {memory, &here}} {
			speakers := map[string]*speaker{}
			for _, name := range []string{"r", "w"} {
				s := &speaker{conn: dial(t, x.c)}
				defer s.conn.Close()
				s.input = bufio.NewReader(s.conn)
				speakers[name] = s
				if _, err := s.say("HELLO 3"); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := speakers["w"].say("FLUSHALL"); err != nil {
				t.Fatal(err)
			}
			for _, line := range strings.Split(trace, "|") {
				name, command, _ := strings.Cut(line, " ")
				if command == "?" {
					text, _, err := speakers[name].value()
					*x.all = append(*x.all, fmt.Sprint(line, ": ", text, err))
					continue
				}
				got, err := speakers[name].say(command)
				*x.all = append(*x.all, fmt.Sprint(line, ": ", got, err))
				for _, name := range []string{"r", "w"} { // what they are told by now
					got, err := speakers[name].say("ECHO told")
					*x.all = append(*x.all, fmt.Sprint(name, " ", got, err))
					told += len(got) - 1
				}
			}
		}
		for i := range there {
			if i >= len(here) || there[i] != here[i] {
				t.Errorf("%s\nreal      %q\nin memory %q", trace, there[:i+1], here[:min(i+1, len(here))])
				break
			}
		}
	}
	if told == 0 {
		t.Error("no connection was told anything")
	}
}

func dial(t *testing.T, c cluster.Cluster) net.Conn {
	t.Helper()
	l, err := c.Link("c1", 0)
	if err != nil {
		t.Fatal(err)
	}
	var conn net.Conn
	if m, ok := c.(*Cluster); ok {
		conn, err = m.DialContext(ctx, "tcp", l.Addr())
	} else {
		conn, err = net.Dial("tcp", l.Addr())
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil { // a message that never comes
		t.Fatal(err)
	}
	return conn
}

// TestConnectionsAreListedLikeReal compares what CLIENT LIST and CLIENT INFO say of connections in several states,
// except numbers, addresses, times and sizes of buffers.
func TestConnectionsAreListedLikeReal(t *testing.T) {
	real := realMaster(t)
	memory := New(cluster.Config{Masters: 1}, Options{})
	defer memory.Close()
	var said [][]string
	for _, c := range []cluster.Cluster{real, memory} {
		var all []string
		speakers := map[string]*speaker{}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			s := &speaker{conn: dial(t, c)}
			defer s.conn.Close()
			s.input = bufio.NewReader(s.conn)
			speakers[name] = s
			version := map[bool]string{true: "2", false: "3"}[name == "d"] // in version 3 the replies to SUBSCRIBE are messages
			for _, command := range []string{"HELLO " + version, "CLIENT SETNAME test-" + name} {
				if _, err := s.say(command); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, line := range []string{
			"b WATCH k", "b MULTI", "b SET x 1", "b GET x", "a SET k 1", "c CLIENT TRACKING ON BCAST", "d SUBSCRIBE c1", "d PSUBSCRIBE p*", "e NOSUCH", "a CLIENT LIST", "a CLIENT INFO", "e GET k", "b DISCARD", "c CLIENT TRACKING OFF",
			"d UNSUBSCRIBE c1", "e HELLO 2", "a CLIENT LIST TYPE pubsub", "a CLIENT LIST TYPE normal", "a CLIENT LIST TYPE x", "a CLIENT LIST ID x", "a CLIENT LIST ID", "a CLIENT LIST ID 999999", "a CLIENT LIST WHAT",
		} {
			name, command, _ := strings.Cut(line, " ")
			got, err := speakers[name].say(command)
			if err != nil {
				t.Fatal(line, err)
			}
			for _, text := range got {
				all = append(all, line)
				if rest, verbatim := strings.CutPrefix(text, "txt:"); verbatim {
					text = rest
					all = append(all, "txt:")
				}
				for l := range strings.Lines(text) {
					if fields := listedFields(l); fields != "" {
						all = append(all, fields)
					}
				}
			}
		}
		said = append(said, all)
	}
	if d := cmp.Diff(said[0], said[1]); d != "" {
		t.Errorf("real (-), in memory (+):\n%s", d)
	}
}

// listedFields leaves out the values of a connection that differ from server to server, and other connections than
// those of the test.
func listedFields(l string) string {
	fields := strings.Fields(l)
	if len(fields) < 10 {
		return strings.TrimSpace(l)
	}
	if !strings.Contains(l, " name=test-") {
		return ""
	}
	for i, f := range fields {
		name, _, _ := strings.Cut(f, "=")
		if !slices.Contains([]string{"name", "flags", "db", "sub", "psub", "ssub", "multi", "cmd", "user", "redir", "resp"}, name) {
			fields[i] = name
		}
	}
	return strings.Join(fields, " ")
}
