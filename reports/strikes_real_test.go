//go:build real

package reports

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"lockpick/internal/browsertest"
)

// TestStrikes: the table counts every fault once for each client that it could affect, and a cell shows its
// faults alone.
func TestStrikes(t *testing.T) {
	h, r := synthesize(violatedPlan())
	table := strikesOf(h, r)
	faults, strikes, violations := map[int]bool{}, 0, 0
	var first strikeCell
	for _, row := range table.Rows {
		for _, c := range row.Cells {
			strikes += c.Strikes
			violations += c.Violations
			for _, id := range c.Faults {
				faults[id] = true
			}
			if c.Strikes > 0 && first.Strikes == 0 {
				first = c
			}
		}
	}
	if len(faults) != r.Counts.Faults || strikes < len(faults) || violations == 0 {
		t.Errorf("of %d faults %d are in the table, with %d strikes and %d violations", r.Counts.Faults, len(faults), strikes, violations)
	}
	b := open(t, browsertest.Start(t), violatedPlan(), 1400, 900, false)
	shown := `[...document.querySelectorAll('.faults tbody tr')].filter((r) => r.checkVisibility()).length`
	all := browsertest.Ask[float64](b, shown)
	b.Do(chromedp.Click(chromedp.CSS(".strikes button")))
	b.Wait("the faults of the cell", fmt.Sprintf(`%s === %d && document.querySelector('.strikes button').getAttribute('aria-pressed') === 'true'`, shown, len(first.Faults)))
	b.Picture("strikes")
	b.Do(chromedp.Click(chromedp.CSS(".strikes button")))
	b.Wait("all faults", fmt.Sprintf("%s === %v", shown, all))
	b.Quiet()
}
