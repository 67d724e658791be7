//go:build real

package card

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"lockpick/internal/browsertest"
)

// TestScoreboardPage: the page shows what the cards have, and names and reasons never execute.
func TestScoreboardPage(t *testing.T) {
	var page bytes.Buffer
	if err := ScoreboardPage(&page, "store", sampleScoreboard()); err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{"<beta>", "<halves>", "<some>", "<hash>", "<fails>"} {
		if strings.Contains(page.String(), raw) {
			t.Errorf("%s stands in the page as it is", raw)
		}
	}
	b := browsertest.Open(t, browsertest.Start(t), func(w io.Writer) error { return ScoreboardPage(w, "store", sampleScoreboard()) }, 1300, 900, false)
	for _, x := range []struct{ js, want string }{
		{`[...document.querySelectorAll('tbody tr')].filter(r => r.querySelector('a')).map(r => [...r.children].map(c => c.textContent.trim()).join(';')).join('\n')`,
			"mine;C <hash>;mine | 1.0 <beta> (libmine 1.0-2);✓;✗ 1;?;✓\nabsent;Ruby;;not tried: needs libabsent"},
		{`[...document.querySelectorAll('.situations tbody tr:not(.heading)')].map(r => [...r.children].map(c => c.textContent.trim()).join(';')).join('\n')`,
			"a few clients;?;–\nrestarts that forget;(✗);–\nthe leader is lost;(✗);–\nstopped in the section;?;–\na divided network;✗ L2;–\nstopped, with fencing;–;–"},
		{`document.querySelector('#mine .command').textContent`, "lockpick audit --client mine --only two-halves"},
		{`document.querySelector('#mine a').getAttribute('href')`, "audit-mine/index.html"},
		{`String(document.documentElement.scrollWidth <= innerWidth)`, "true"},
	} {
		if got := browsertest.Ask[string](b, x.js); got != x.want {
			t.Errorf("%s\nis %q, want %q", x.js, got, x.want)
		}
	}
	b.Picture("scoreboard")
	b.Quiet()
}
