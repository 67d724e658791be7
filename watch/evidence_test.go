package watch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lockpick/cluster/resp"
)

// TestEvidenceOutlastsTheCall: the list of arguments and the reply are valid during a call only, and the evidence of a
// rule that is broken later has those of its time.
func TestEvidenceOutlastsTheCall(t *testing.T) {
	l, err := NewLint(Options{Masters: 1})
	if err != nil {
		t.Fatal(err)
	}
	args, text := make([]string, 6), make([]byte, 16)
	now := l.start
	answer := func(reply string, words ...string) {
		now = now.Add(time.Millisecond)
		r := resp.ReplyOf([]byte(reply))
		r.Text = text[:copy(text, r.Text)]
		l.Exchange(0, 1, resp.Exchange{Args: args[:copy(args, words)], Reply: r, Sent: now, Answered: now})
		clear(args)
		clear(text)
	}
	mine, next := token(), token()
	answer("+OK\r\n", "SET", "k", mine, "NX", "PX", "5000")
	answer(fmt.Sprintf("$%d\r\n", len(mine))+mine+"\r\n", "GET", "k")
	answer(":1\r\n", "DEL", "k")
	answer("+OK\r\n", "SET", "k", next, "NX", "PX", "5000")
	answer(":1\r\n", "DEL", "k")
	got := ""
	for _, f := range l.Result(l.start.Add(time.Minute), Missed{}).Findings {
		got += f.Rule.ID + ": " + strings.Join(f.Evidence, "; ") + "\n"
	}
	for _, want := range []string{"connection 1: GET k → <…>; ", "NX PX 5000 → OK; "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
