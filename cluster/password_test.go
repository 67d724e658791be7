package cluster

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"lockpick/internal/waittest"
	"lockpick/internal/wiretest"
)

// guarded is a server that answers AUTH with a line of its own, and CLIENT INFO as Redis does, and
// echoes everything else.
func guarded(t *testing.T, reply string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				r := bufio.NewReader(c)
				for {
					line, err := r.ReadString('\n')
					if err != nil {
						return
					}
					if line == "*2\r\n" { // AUTH and the password
						for range 4 {
							if line, err = r.ReadString('\n'); err != nil {
								return
							}
						}
						line = "AUTH " + line
					}
					if line == "CLIENT INFO\r\n" {
						info := "id=7 addr=" + c.RemoteAddr().String() + " laddr=127.0.0.1:1 name=\n"
						line = fmt.Sprintf("$%d\r\n%s\r\n", len(info), info)
					}
					if strings.HasPrefix(line, "AUTH ") {
						line = strings.ReplaceAll(reply, "PASSWORD", strings.TrimSpace(strings.TrimPrefix(line, "AUTH ")))
					}
					if _, err := io.WriteString(c, line); err != nil {
						return
					}
				}
			}()
		}
	}()
	return ln.Addr().String()
}

func guardedLink(t *testing.T, reply string, accounts func(string) bool) *TCPLink {
	t.Helper()
	addr := guarded(t, reply)
	l, err := NewLink(func() string { return addr }, LinkOptions{Password: "the-password", Accounts: accounts})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// A client of a link neither sends the masters' password nor sees the reply to it.
func TestLinkAuthenticates(t *testing.T) {
	l := guardedLink(t, "+OK\r\n", nil)
	for range 3 {
		c := dial(t, l)
		wiretest.Say(t, c, "PING\r\n")
		wiretest.Hear(t, c, "PING\r\n")
	}
	if got := l.Counts(); got != (LinkCounts{Passed: 36}) {
		t.Errorf("counts %+v; want 36 passed", got)
	}
}

// What a server says that does not accept the password is the last thing that the client hears:
// otherwise each reply would be taken for that to the command before.
func TestLinkToAnotherServerEnds(t *testing.T) {
	l := guardedLink(t, "-ERR no password but PASSWORD\r\n", nil)
	c := dial(t, l)
	wiretest.Say(t, c, "PING\r\n")
	if said, err := io.ReadAll(c); string(said) != "-ERR no password but the-password\r\n" {
		t.Errorf("%q, %v", said, err)
	}
}

// The reply to the password is not an item of the link: while replies are dropped it is not missed.
func TestLinkAuthenticatesDuringFaults(t *testing.T) {
	l := guardedLink(t, "+OK\r\n", nil)
	l.Set(LinkFault{Requests: Hold, Replies: Hold})
	c := dial(t, l)
	wiretest.Say(t, c, "PING\r\n")
	waittest.Until(t, "the request is held", func() bool { return l.Counts().Held == 6 })
	l.Set(LinkFault{Replies: Hold})
	waittest.Until(t, "the reply is held", func() bool { return l.Counts().Held == 12 })
	l.Set(LinkFault{})
	wiretest.Hear(t, c, "PING\r\n")
}

// The client sees nothing of the question for its address, and is refused all the same by a server
// with another password.
func TestLinkLearnsTheAddressOfEachConnection(t *testing.T) {
	all := func(string) bool { return true }
	l := guardedLink(t, "+OK\r\n", all)
	c := dial(t, l)
	wiretest.Say(t, c, "PING\r\n")
	wiretest.Hear(t, c, "PING\r\n")
	l.mu.Lock()
	for o := range l.conns {
		if want := o.upstream.LocalAddr().String(); o.address != want {
			t.Errorf("address %q, want %q", o.address, want)
		}
	}
	l.mu.Unlock()
	if got := l.Counts(); got != (LinkCounts{Passed: 12}) {
		t.Errorf("counts %+v; want 12 passed", got)
	}
	refusing := guardedLink(t, "-ERR no\r\n", all)
	c = dial(t, refusing)
	if said, err := io.ReadAll(c); string(said) != "-ERR no\r\n" {
		t.Errorf("%q, %v", said, err)
	}
}

func TestReadAddressBoundsWhatAServerSays(t *testing.T) {
	for reply, want := range map[string]string{
		"$22\r\nid=1 addr=[::1]:6 name=\r\n": "[::1]:6",
		"$4\r\nid=1\r\n":                     "",
		"-ERR unknown subcommand\r\n":        "",
	} {
		if got, err := readAddress(strings.NewReader(reply + "more")); got != want || err != nil {
			t.Errorf("%q: %q, %v; want %q", reply, got, err, want)
		}
	}
	for _, reply := range []string{"", "$-1\r\n", "$x\r\n", "$99999999999\r\n", "$10\r\nshort"} {
		if got, err := readAddress(strings.NewReader(reply)); err == nil {
			t.Errorf("%q: %q, and no error", reply, got)
		}
	}
}
