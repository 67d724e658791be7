package account

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"lockpick/cluster"
	"lockpick/history"
)

// TestVotes plays what clients exchanged and what masters did, and compares the votes. A line is
//
//	c1 m1 3 opens                                connection 3
//	c1 m1 3 SET k v NX PX 100 => ok              an exchange on connection 3: ok, error TEXT or silent; "earlier" before these: it was sent before any gap
//	m1 3 SET k v NX PX 100 => created k v 100ms  a step of the master; changes are separated by a semicolon
//	m1 => expired k                              the master did it by itself
//	m1 settled                                   the account of the master is complete
//	m1 gap
//
// changes plays the same for a lock that reports its votes itself.
func TestVotes(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			a := &Account{OwnVotes: d.Cmd == "changes"}
			a.Unseen = func(why string) { fmt.Fprintf(&out, "unseen: %s\n", why) }
			a.Noted = func(op history.Op, _ time.Time) {
				v := op.Value
				fmt.Fprintf(&out, "%s %s %s", op.Process, v.Command, op.Key)
				if v.Client != "" {
					fmt.Fprintf(&out, " by %s's %s", v.Client, v.Evidence)
				}
				if op.Error != "" {
					fmt.Fprintf(&out, " (%s)", op.Error)
				}
				out.WriteString("\n")
			}
			for line := range strings.SplitSeq(strings.TrimSpace(d.Input), "\n") {
				play(t, a, line, func(client string) func(history.Op, time.Time) {
					return func(op history.Op, _ time.Time) {
						v := op.Value
						fmt.Fprintf(&out, "vote of %s on %s's %s of %s, token %s: ", op.Process, client, v.Command, op.Key, v.Token)
						switch {
						case op.Type == history.Info:
							fmt.Fprintf(&out, "unknown (%s)", op.Error)
						case op.Error != "":
							fmt.Fprintf(&out, "error (%s)", op.Error)
						case v.Yes:
							out.WriteString("yes")
						default:
							out.WriteString("no")
						}
						if v.TTL != 0 {
							fmt.Fprintf(&out, ", for %v", v.TTL)
						}
						fmt.Fprintf(&out, " [%s]\n", v.Form)
					}
				})
			}
			return out.String()
		})
	})
}

func play(t *testing.T, a *Account, line string, vote func(client string) func(history.Op, time.Time)) {
	t.Helper()
	what, then, _ := strings.Cut(line, " =>")
	then = strings.TrimSpace(then)
	words := strings.Fields(what)
	for i := range words {
		words[i] = strings.Trim(words[i], `"`)
	}
	start, now := time.Unix(0, 0), time.Unix(1, 0)
	if words[0][0] == 'c' {
		x := cluster.Exchange{Conn: words[2], Args: words[3:], Sent: now, Answered: now, Replied: then != "silent"}
		if then, x.Sent = strings.TrimPrefix(then, "earlier "), now; strings.Contains(line, "=> earlier ") {
			x.Sent = start
		}
		x.Error, _ = strings.CutPrefix(then, "error ")
		if !strings.HasPrefix(then, "error ") {
			x.Error = ""
		}
		m := int(number(words[1][1:])) - 1
		if words[3] == "opens" {
			a.Opened(words[0], m, x.Conn, vote(words[0]))
			return
		}
		a.Exchange(words[0], m, x, nil)
		return
	}
	master := int(number(words[0][1:])) - 1
	x := cluster.Executed{At: now}
	switch {
	case len(words) > 1 && words[1] == "settled":
		a.Sweep(func(int) error { return nil }, false)
		return
	case len(words) > 1 && words[1] == "gap":
		x.Gap = "the connection broke"
	case len(words) > 1:
		x.Conn, x.Args = words[1], words[2:]
	}
	for change := range strings.SplitSeq(then, "; ") {
		if change == "" {
			continue
		}
		x.Changes = append(x.Changes, parseChange(t, strings.Fields(change)))
	}
	a.Executed(master, x)
}

// parseChange parses "created k v 100ms", "changed k v was u", "ttl k v 100ms", "deleted k was v", with
// "hash" or another type as the last word unless it is a string.
func parseChange(t *testing.T, words []string) cluster.Change {
	t.Helper()
	ch := cluster.Change{Kind: cluster.ChangeKind(words[0]), Key: words[1], Type: "string"}
	rest := words[2:]
	for len(rest) > 0 {
		switch d, err := time.ParseDuration(rest[0]); {
		case rest[0] == "was":
			ch.Before, rest = rest[1], rest[1:]
		case rest[0] == "hash" || rest[0] == "zset" || rest[0] == "list" || rest[0] == "set":
			ch.Type = rest[0]
		case err == nil && strings.HasSuffix(rest[0], "s"):
			ch.Left = d
		default:
			ch.Value = rest[0]
		}
		rest = rest[1:]
	}
	if ch.Kind == cluster.TTLSet && ch.Before == "" {
		ch.Before = ch.Value
	}
	return ch
}

// TestSettleWaitsForTheMaster: Settle returns once the master's account has what a client was answered,
// and not later than its bound.
func TestSettleWaitsForTheMaster(t *testing.T) {
	a := &Account{}
	voted := make(chan history.Op, 2)
	x := cluster.Exchange{Conn: "1", Args: []string{"SET", "k", "v", "NX"}, Replied: true}
	a.Opened("c1", 0, "1", func(op history.Op, _ time.Time) { voted <- op })
	a.Exchange("c1", 0, x, nil)
	settled := make(chan bool)
	go func() {
		a.Settle("c1", time.Hour)
		settled <- len(voted) == 1
	}()
	a.Settle("c2", time.Hour) // another client's exchanges do not matter
	a.Executed(0, cluster.Executed{Conn: "1", Args: x.Args, Changes: []cluster.Change{{Key: "k", Kind: cluster.Created, Type: "string", Value: "v"}}})
	if !<-settled {
		t.Error("Settle returned before the vote was delivered")
	}
	x.Args = []string{"SET", "k", "w", "NX"}
	a.Exchange("c1", 0, x, nil)
	a.Settle("c1", time.Millisecond)
	if len(voted) > 1 {
		t.Error("a vote that the account does not have")
	}
}

// TestLastSweepTakesWhatMastersStillHave: a step that a master has not given yet, of a client that waits for none of its
// exchanges to be accounted for, is a client's.
func TestLastSweepTakesWhatMastersStillHave(t *testing.T) {
	var noted []history.Op
	a := &Account{OwnVotes: true, Noted: func(op history.Op, _ time.Time) { noted = append(noted, op) }}
	a.Opened("c1", 0, "1", nil)
	a.Sweep(func(master int) error {
		a.Executed(master, cluster.Executed{Conn: "1", Args: []string{"EVAL"}, Changes: []cluster.Change{{Key: "k", Kind: cluster.Created, Type: "hash"}}})
		return nil
	}, true)
	if len(noted) != 1 || noted[0].Value.Client != "c1" {
		t.Errorf("noted %v", noted)
	}
}
