package watch

import (
	"strings"
	"testing"
	"time"

	"lockpick/cluster/resp"
)

// TestAClientThatIsCutOffIgnoresNoNoscript: only a connection that sends something else afterwards has ignored it.
func TestAClientThatIsCutOffIgnoresNoNoscript(t *testing.T) {
	start := time.Now()
	for _, then := range []string{"nothing", "a command that was sent before", "another command"} {
		ignored, sent := then == "another command", start.Add(time.Second)
		l, err := NewLint(Options{Masters: 1, Start: start})
		if err != nil {
			t.Fatal(err)
		}
		do := func(kind byte, reply string, args ...string) {
			l.Exchange(0, 1, resp.Exchange{Args: args, Reply: &resp.Reply{Value: resp.Value{Type: kind, Text: []byte(reply)}}, Sent: sent, Answered: sent.Add(time.Second)})
		}
		const token = "5d9dc9f81818e811892f902bd23f0824"
		do('+', "OK", "SET", "k", token, "NX", "PX", "60000")
		do('-', "NOSCRIPT No matching script.", "EVALSHA", strings.Repeat("0", 40), "1", "k", token)
		if ignored {
			sent = sent.Add(time.Minute)
		}
		if then != "nothing" {
			do('$', token, "GET", "k")
		}
		r := l.Result(start.Add(time.Hour), Missed{})
		if got := strings.Join(r.rules(), " "); (got == "noscript-ignored") != ignored {
			t.Errorf("found %q, where the client sends %s then", got, then)
		}
	}
}
