//go:build real

package reports

import (
	"fmt"
	"io"
	"testing"

	"lockpick/internal/browsertest"
)

// contrastOf lists the texts of the page whose contrast with what is behind them is below 4.5, and of large ones below 3.
const contrastOf = `(() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgba = (color) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); const d = canvas.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3] / 255]; };
  const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (e) => {
    const all = [];
    for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); all.push(c); if (c[3] === 1) break; }
    return all.reverse().reduce((under, c) => over(c, under), [255, 255, 255, 1]);
  };
  const bad = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; (n = walker.nextNode());) {
    const e = n.parentElement;
    if (!n.data.trim() || !e.checkVisibility({opacityProperty: true, visibilityProperty: true}) || e.closest('svg, script, style')) continue;
    const s = getComputedStyle(e), back = behind(e), front = over(rgba(s.color), back), size = parseFloat(s.fontSize);
    const [a, b] = [light(front), light(back)].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
    const least = size >= 24 || size >= 18.66 && +s.fontWeight >= 700 ? 3 : 4.5;
    if (ratio < least) bad.set((e.className || e.tagName) + ' in ' + (e.parentElement.className || e.parentElement.tagName), ratio.toFixed(2) + ' ' + n.data.trim().slice(0, 30));
  }
  return [...bad].map((b) => b.join(': ')).join('\n');
})()`

// TestTextsHaveContrast: every text of a report can be read in light and in dark.
func TestTextsHaveContrast(t *testing.T) {
	ctx := browsertest.Start(t)
	for name, p := range map[string]plan{"violated": violatedPlan(), "holding": soundPlan()} {
		for _, dark := range []bool{false, true} {
			h, r := synthesize(p)
			b := browsertest.Open(t, ctx, func(w io.Writer) error { return HTML(w, h, r, nil) }, 1280, 900, dark)
			b.Wait("the first drawing", `window.lockpick && lockpick.drawn > 0`)
			browsertest.Ask[bool](b, `(document.querySelectorAll('details').forEach((d) => { d.open = true; }), true)`)
			if bad := browsertest.Ask[string](b, contrastOf); bad != "" {
				t.Errorf("%s, dark %v:\n%s", name, dark, bad)
			}
			if wide := browsertest.Ask[string](b, fmt.Sprintf(`[...document.querySelectorAll('main p, main td, header p')].filter((e) => e.scrollWidth > %d).map((e) => e.textContent.slice(0, 40)).join('\n')`, 1280)); wide != "" {
				t.Errorf("%s: wider than the page: %s", name, wide)
			}
		}
	}
}
