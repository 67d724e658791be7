package cluster

import (
	"cmp"
	"strings"
	"testing"
	"time"
)

// TestWhatNoLockSendsIsRefused: a command as a whole or one of its subcommands, in any case; the rest is not.
func TestWhatNoLockSendsIsRefused(t *testing.T) {
	for line, want := range map[string]string{
		"flushall": "FLUSHALL", "FlushDB async": "FLUSHDB", "config get x": "CONFIG", "config": "CONFIG", "client KILL 1": "CLIENT KILL", "script flush": "SCRIPT FLUSH",
		"client id": "", "client": "", "client setname kill": "", "script load x": "", "evalsha x 0": "", "set flushall 1": "", "": "", "multi": "",
	} {
		words := strings.Split(line, " ")
		if got := Refused(words[0], words[1:]...); got != want {
			t.Errorf("%q is refused as %q, not %q", line, got, want)
		}
	}
}

// TestLinksTellWhichCommandsWereRefused: also of commands that prepare a connection, and of those in a transaction, which
// are not exchanges of their own otherwise.
func TestLinksTellWhichCommandsWereRefused(t *testing.T) {
	for _, c := range []struct{ user, want string }{
		{"client", "CLIENT KILL! EXEC FLUSHALL! EXEC MONITOR! CONFIG! GET"},
		{"", "EXEC EXEC CONFIG! GET"},
	} {
		var told []string
		o := Observer{Exchange: func(x Exchange) {
			name := x.Refused()
			if name != "" {
				name += "!"
			}
			told = append(told, cmp.Or(name, strings.ToUpper(x.Args[0])))
		}}
		follow := o.follow(&conn{link: &TCPLink{LinkOptions: LinkOptions{User: c.user}}})
		for _, x := range [][2]string{
			{"client kill 1", "-NOPERM no"}, {"client id", ":1"},
			{"multi", "+OK"}, {"client kill 1", "+QUEUED"}, {"exec", "*1\r\n:0"},
			{"multi", "+OK"}, {"set a 1", "+QUEUED"}, {"flushall", "-NOPERM no"}, {"exec", "-EXECABORT no"},
			{"monitor", "-NOPERM no"}, {"config get x", "-NOPERM no"}, {"get a", "$-1"},
		} {
			if x[0] == "monitor" && c.user == "" { // nothing is known after it
				continue
			}
			follow.Request([]byte(x[0]+"\r\n"), time.Time{})
			follow.Reply([]byte(x[1]+"\r\n"), time.Time{})
		}
		if got := strings.Join(told, " "); got != c.want {
			t.Errorf("user %q: %s; want %s", c.user, got, c.want)
		}
	}
}
