//go:build real

package reports

import (
	"fmt"
	"io"
	"testing"

	"lockpick/risk"
)

func TestRiskPageInBrowser(t *testing.T) {
	b := openPage(t, browser(t), func(w io.Writer) error { return RiskPage(w, estimated()) }, 1100, 900, false)
	b.wait("the headline", `document.querySelector('main.risk h1').textContent.includes('in a year')`)
	b.wait("bars that say what is better and what is worse", `[...document.querySelectorAll('.risk svg rect')].map(r => r.getAttribute('class')).join() === 'better,same,worse'`)
	b.wait("an example that is text", `document.querySelectorAll('script').length === 0 && document.querySelector('.risk pre').textContent.includes('<script>')`)
	b.wait("all that was given", fmt.Sprintf(`document.querySelectorAll('.risk table')[2].rows.length === %d`, len(risk.Fields)+1))
	b.wait("no bar beyond the chart", `[...document.querySelectorAll('.risk svg text, .risk svg rect')].every(e => e.getBBox().x >= 0 && e.getBBox().x + e.getBBox().width <= 800)`)
	b.quiet()
}
