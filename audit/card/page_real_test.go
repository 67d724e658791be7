//go:build real

package card

import (
	"fmt"
	"io"
	"testing"

	"lockpick/internal/browsertest"
)

// TestAuditPageInBrowser opens the page, filters it and opens a situation.
func TestAuditPageInBrowser(t *testing.T) {
	b := browsertest.Open(t, browsertest.Start(t), func(w io.Writer) error { return WritePage(w, ".", sampleCard()) }, 1300, 900, false)
	shown := `[...document.querySelectorAll('.row')].filter(r => !r.hidden).map(r => r.id).join(' ')`
	set := func(id, value string) string {
		return `(() => { const e = document.getElementById('` + id + `'); e.value = '` + value + `'; e.dispatchEvent(new Event('input')); return ` + shown + ` })()`
	}
	for _, x := range []struct{ js, want string }{
		{shown, "quiet restart-forgets leader-lost stopped-inside two-halves fenced"},
		{`document.querySelector('#two-halves .mark').textContent + document.querySelector('#two-halves a.mark').getAttribute('href')`, "–store/audit-mine/run-two-halves/report.html"},
		{set("search", "restart"), "restart-forgets"},
		{set("search", ""), "quiet restart-forgets leader-lost stopped-inside two-halves fenced"},
		{set("outcome", "broken"), "stopped-inside two-halves"},
		{set("outcome", "inconclusive"), "quiet"},
		{set("outcome", ""), "quiet restart-forgets leader-lost stopped-inside two-halves fenced"},
		{`(() => { document.querySelector('#two-halves .open').click(); return String(document.querySelector('#two-halves .more').hidden) })()`, "false"},
		{`(() => { document.getElementById('all').click(); return String([...document.querySelectorAll('.more')].some(r => r.hidden)) })()`, "false"},
		{`String(document.documentElement.scrollWidth <= innerWidth)`, "true"},
	} {
		if got := browsertest.Ask[string](b, x.js); got != x.want {
			t.Errorf("%s\nis %q, want %q", x.js, got, x.want)
		}
	}
	b.Picture("audit")
	b.Quiet()
}

// TestPrintedAudit: a card of sixty situations, half of them broken, is printed on ten pages at most.
func TestPrintedAudit(t *testing.T) {
	c := sampleCard()
	few := c.Rows
	c.Rows = nil
	for i := range 60 {
		s := few[i%len(few)]
		s.ID = fmt.Sprint(s.ID, "-", i)
		c.Rows = append(c.Rows, s)
	}
	b := browsertest.Open(t, browsertest.Start(t), func(w io.Writer) error { return WritePage(w, ".", c) }, 1300, 900, false)
	if _, n := b.Printed(); n < 2 || n > 10 {
		t.Errorf("it takes %d pages", n)
	}
}
