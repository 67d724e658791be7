//go:build real

package reports

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"lockpick/internal/browsertest"
)

// TestFilters: the timeline shows one client and the faults of one kind, as the address says, too.
func TestFilters(t *testing.T) {
	b := open(t, browsertest.Start(t), violatedPlan(), 1400, 900, false)
	lanes := func(kind string) string {
		return fmt.Sprintf(`lockpick.lanes.filter((l) => l.startsWith('%s')).join()`, kind)
	}
	all := browsertest.Ask[string](b, lanes("client"))
	choose := func(id, value string) {
		t.Helper()
		browsertest.Ask[bool](b, fmt.Sprintf(`(() => { const s = document.getElementById(%q); s.value = [...s.options].find((o) => o.textContent === %q).value; s.dispatchEvent(new Event('change')); return true; })()`, id, value))
	}
	choose("client", "c2")
	b.Wait("one client", lanes("client")+` === 'client1' && lockpick.lanes.includes('rest0')`)
	before := browsertest.Ask[float64](b, `lockpick.drawn`)
	choose("fault-kind", "kill")
	b.Wait("fewer faults", fmt.Sprintf(`lockpick.drawn < %v`, before))
	b.Wait("the address", `location.hash.includes('client=c2') && location.hash.includes('faults=kill')`)
	scrollToTimeline(b)
	b.Picture("filters")
	b.Do(chromedp.Reload())
	b.Wait("the same after a reload", `window.lockpick && lockpick.drawn > 0 && `+lanes("client")+` === 'client1' && document.getElementById('fault-kind').value === 'kill'`)
	b.Do(chromedp.SendKeys(chromedp.CSS("#search"), "c1 granted\n"))
	b.Wait("all clients, since one was found that was hidden", lanes("client")+` === '`+all+`' && document.getElementById('client').value === '-1' && document.getElementById('fault-kind').value === 'kill'`)
	choose("fault-kind", "all")
	b.Wait("no filter in the address", `!location.hash.includes('faults=')`)
	b.Quiet()
}
