package process

import (
	"io"
	"net"
	"strings"
	"testing"

	"lockpick/cluster"
	"lockpick/internal/waittest"
)

func TestAHostWithoutRedisIsToldWhatToInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if ok, why := Available(t.Context()); ok || !strings.Contains(why, "apt-get install redis-server") {
		t.Errorf("%v, %s", ok, why)
	}
	if _, err := Start(t.Context(), cluster.Config{}); err == nil || !strings.Contains(err.Error(), "apt-get install redis-server") {
		t.Errorf("error: %v", err)
	}
}

func TestIdentityTellsProcessesApart(t *testing.T) {
	me := Self()
	if again, err := ParseIdentity(me.String()); err != nil || again != me || !me.Alive() {
		t.Fatalf("%v, %v, alive %v", again, err, me.Alive())
	}
	if (identity{me.Pid, me.start + "1"}).Alive() {
		t.Error("a process of that id that started at another time lives")
	}
	for _, s := range []string{"", "1", "x@1", "0@1", "1@", "-3@7"} {
		if id, err := ParseIdentity(s); err == nil {
			t.Errorf("%q is taken for %v", s, id)
		}
	}
	st, err := parsePS("Ss   Fri Nov 20 09:01:00 2026\n")
	if err != nil || st.state != "S" || len(st.start) != 10 {
		t.Errorf("ps: %+v, %v", st, err)
	}
}

// TestAProbeAllocatesNoSizeOfAStranger: whatever answers on a master's port, its sizes and lines are bounded.
func TestAProbeAllocatesNoSizeOfAStranger(t *testing.T) {
	for _, reply := range []string{
		"+OK\r\n+PONG\r\n$9223372036854775807\r\n", "+OK\r\n+PONG\r\n$99999999999\r\n", "+OK\r\n+PONG\r\n$-5\r\n", "+OK\r\n+PONG\r\n$65536\r\nshort",
		"+OK\r\n+PONG\r\n$" + strings.Repeat("9", 1<<20), strings.Repeat("a", 1<<20), "+OK\r\n" + strings.Repeat("a", 1<<20),
	} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, reply)
			_ = c.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, c)
			c.Close()
		}()
		waittest.Returns("the probe", func() {
			if info, err := probe(t.Context(), cluster.Dial, ln.Addr().String(), "secret"); err == nil {
				t.Errorf("%.40q: %+v", reply, info)
			}
		})
		ln.Close()
	}
}
