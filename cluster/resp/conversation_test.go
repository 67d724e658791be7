package resp

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// transcript follows a conversation given as lines: "> " begins what the client sends, "< " what the
// master does. In both, \r\n is appended. It returns the exchanges, as text.
func transcript(t *testing.T, lines ...string) (exchanges []string, lost error) {
	t.Helper()
	c := &Conversation{
		Tell: func(x Exchange) { exchanges = append(exchanges, text(x)) },
		Lost: func(why error) { lost = why },
	}
	for _, l := range lines {
		b := []byte(l[2:] + "\r\n")
		if l[0] == '>' {
			c.Request(b, time.Time{})
		} else {
			c.Reply(b, time.Time{})
		}
	}
	c.End(time.Time{})
	return exchanges, lost
}

func text(x Exchange) string {
	s := strings.Join(x.Args, " ") + " → "
	if x.Reply == nil {
		return s + "nothing"
	}
	show := func(v Value) string {
		switch {
		case v.Null:
			return "null"
		case v.Type == ':' || v.Type == '#':
			return fmt.Sprint(v.Int)
		}
		return string(v.Type) + string(v.Text)
	}
	s += show(x.Reply.Value)
	for _, e := range x.Reply.Elems {
		s += " " + show(e)
	}
	return s
}

func TestCommandsAreMatchedWithTheirReplies(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"a command", []string{"> *2\r\n$3\r\nGET\r\n$1\r\nk", "< $1\r\nv"}, []string{"GET k → $v"}},
		{"no value", []string{"> *2\r\n$3\r\nGET\r\n$1\r\nk", "< $-1"}, []string{"GET k → null"}},
		{"no value, RESP3", []string{"> *2\r\n$3\r\nGET\r\n$1\r\nk", "< _"}, []string{"GET k → null"}},
		{"a binary value", []string{"> *3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\na\r\nb", "< +OK"}, []string{"SET k a\r\nb → +OK"}},
		{"an empty value", []string{"> *2\r\n$3\r\nGET\r\n$0\r\n", "< $0\r\n"}, []string{"GET  → $"}},
		{"a pipeline", []string{"> *1\r\n$1\r\nA\r\n*1\r\n$1\r\nB", "< :1\r\n:-2"}, []string{"A → 1", "B → -2"}},
		{"inline", []string{`> SET k "a \x41\n" 'it\'s'`, "< +OK"}, []string{"SET k a A\n it's → +OK"}},
		{"inline between others", []string{"> PING", "< +PONG", "> ", "> *1\r\n$1\r\nA", "< :1"}, []string{"PING → +PONG", "A → 1"}},
		{"nothing asked", []string{"> *0", "> *-1", "> *1\r\n$1\r\nA", "< :1"}, []string{"A → 1"}},
		{"nested", []string{"> A", "< *2\r\n*2\r\n:1\r\n*1\r\n:2\r\n:3", "> B", "< :4"}, []string{"A → * * 3", "B → 4"}},
		{"RESP3", []string{"> A", "< %1\r\n+k\r\n:1", "> B", "< ~1\r\n#t", "> C", "< =5\r\ntxt:x", "> D", "< ,1.5", "> E", "< (99", "> F", "< !3\r\nERR"},
			[]string{"A → % +k 1", "B → ~ 1", "C → =txt:x", "D → ,1.5", "E → (99", "F → !ERR"}},
		{"an attribute", []string{"> A", "< |1\r\n+ttl\r\n*1\r\n:7\r\n:1", "> B", "< *2\r\n|1\r\n+a\r\n$2\r\nxx\r\n:1\r\n:2"}, []string{"A → 1", "B → * 1 2"}},
		{"push messages", []string{"> A", "< >2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n:1"}, []string{"A → 1"}},
		{"subscriptions", []string{"> SUBSCRIBE ch", "< *3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1", "> PING", "< *3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$1\r\nm\r\n*2\r\n$4\r\npong\r\n$0\r\n"}, []string{"PING → * $pong $"}},
		{"a transaction", []string{"> MULTI", "< +OK", "> SET k v", "< +QUEUED", "> GET k", "< +QUEUED", "> EXEC", "< *2\r\n+OK\r\n$1\r\nv"}, []string{"SET k v → +OK", "GET k → $v"}},
		{"a transaction at once", []string{"> MULTI\r\nA\r\nEXEC\r\nB", "< +OK\r\n+QUEUED\r\n*1\r\n:1\r\n:2"}, []string{"A → 1", "B → 2"}},
		{"a transaction that is given up", []string{"> MULTI", "< +OK", "> A", "< +QUEUED", "> DISCARD", "< +OK", "> B", "< :1"}, []string{"B → 1"}},
		{"a transaction that fails", []string{"> MULTI", "< +OK", "> A", "< +QUEUED", "> B", "< -ERR no such command", "> EXEC", "< -EXECABORT"}, []string{"B → -ERR no such command"}},
		{"a watched key changed", []string{"> MULTI", "< +OK", "> A", "< +QUEUED", "> EXEC", "< *-1", "> B", "< :1"}, []string{"B → 1"}},
		{"no reply", []string{"> A", "> B", "< :1"}, []string{"A → 1", "B → nothing"}},
		{"refused", []string{"< -ERR max number of clients reached"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, lost := transcript(t, c.lines...)
			if !slices.Equal(got, c.want) || lost != nil {
				t.Errorf("got %q, %v; want %q", got, lost, c.want)
			}
		})
	}
}

func TestWhatCannotBeFollowedIsSaidOnce(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{[]string{"> \x16\x03\x01\x02\x00\x01"}, "TLS"},
		{[]string{"> *1\r\n+A"}, "an argument begins with"},
		{[]string{"> *1\r\n$-5"}, "not a number in range"},
		{[]string{"> *99999999999999999999"}, "not a number in range"},
		{[]string{"> A", "< hello"}, "a reply begins with"},
		{[]string{"< :1"}, "to no command"},
		{[]string{"> A", "< " + strings.Repeat("*1\r\n", 40) + ":1"}, "nested too deeply"},
		{[]string{"> MONITOR", "< +OK"}, "MONITOR"},
		{[]string{"> CLIENT REPLY OFF", "> A"}, "turned replies off"},
		{[]string{"> " + strings.Repeat("x", 70_000)}, "too long"},
	} {
		got, lost := transcript(t, c.lines...)
		if lost == nil || !strings.Contains(lost.Error(), c.want) || len(got) > 0 {
			t.Errorf("%.40q: exchanges %.100q, lost: %v, want %q", c.lines, got, lost, c.want)
		}
	}
}

// TestMemoryIsBounded: neither a huge value nor commands without replies make a conversation keep more
// than its bounds.
func TestMemoryIsBounded(t *testing.T) {
	var seen []Exchange
	c := &Conversation{Tell: func(x Exchange) {
		x.Args = slices.Clone(x.Args)
		seen = append(seen, x)
	}}
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	c.Request([]byte("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$104857600\r\n"), time.Time{})
	for range 100 {
		c.Request(chunk, time.Time{})
	}
	c.Request([]byte("\r\n"), time.Time{})
	c.Reply([]byte("+OK\r\n"), time.Time{})
	if len(seen) != 1 || len(seen[0].Args[2]) != maxArg {
		t.Fatalf("%d exchanges", len(seen))
	}
	if n := cap(c.requests.kept); n > maxKept {
		t.Errorf("%d bytes are kept", n)
	}
	command := []byte("*2\r\n$4\r\nEVAL\r\n$60000\r\n" + strings.Repeat("y", 60_000) + "\r\n")
	for range 1000 {
		c.Request(command, time.Time{})
	}
	if c.size > maxPendingText {
		t.Errorf("%d bytes of arguments wait", c.size)
	}
	seen = nil
	c.Reply(bytes.Repeat([]byte(":1\r\n"), 1000), time.Time{})
	if len(seen) == 0 || len(seen) == 1000 || c.size != 0 {
		t.Errorf("%d exchanges, %d bytes remain", len(seen), c.size)
	}
}
