//go:build real

package risk

import (
	"fmt"
	"io"
	"testing"

	"lockpick/internal/browsertest"
)

func TestRiskPageInBrowser(t *testing.T) {
	b := browsertest.Open(t, browsertest.Start(t), func(w io.Writer) error { return WritePage(w, estimated()) }, 1100, 900, false)
	b.Wait("the headline", `document.querySelector('main.risk h1').textContent.includes('in a year')`)
	b.Wait("bars that say what is better and what is worse", `[...document.querySelectorAll('.risk svg rect')].map(r => r.getAttribute('class')).join() === 'better,same,worse'`)
	b.Wait("an example that is text", `document.querySelectorAll('script').length === 0 && document.querySelector('.risk pre').textContent.includes('<script>')`)
	b.Wait("all that was given", fmt.Sprintf(`document.querySelectorAll('.risk table')[2].rows.length === %d`, len(Fields)+1))
	b.Wait("no bar beyond the chart", `[...document.querySelectorAll('.risk svg text, .risk svg rect')].every(e => e.getBBox().x >= 0 && e.getBBox().x + e.getBBox().width <= 800)`)
	b.Quiet()
}
