//go:build real

package reports

import (
	"io"
	"strings"
	"testing"
	"time"

	"lockpick/checker/narrative"
	"lockpick/internal/browsertest"
	"lockpick/reports/story"
)

// TestPictureShowsItsWholeText: no sentence beside the lifelines of an SVG reaches over its edge or over another one, however wide its letters are.
func TestPictureShowsItsWholeText(t *testing.T) {
	wide := strings.Repeat("c1's command evalsha 23c95068 1 k0 e3c034a7083e19fa69388ee2a94e306ba44d707d 2000 0000 created k0 on m1 ", 3)
	v := &narrative.Violation{
		Property: "mutual-exclusion", Level: "L2", Key: "k0", At: time.Second, Until: 2 * time.Second, Tokens: []string{"a", "b"}, Clients: []string{"c1", "c2"},
		Events: []narrative.Event{
			{At: 0, Kind: narrative.EventGranted, Client: "c1", Key: "k0", Token: "a", Until: 2 * time.Second, Text: wide, Word: "granted"},
			{At: time.Second, Kind: narrative.EventGranted, Client: "c2", Key: "k0", Token: "b", Until: 2 * time.Second, Text: wide, Word: "granted"},
			{At: 2 * time.Second, Kind: narrative.EventViolated, Text: wide},
		},
	}
	b := browsertest.Open(t, browsertest.Start(t), func(w io.Writer) error {
		_, err := io.WriteString(w, "<!doctype html><title>picture</title>"+story.SVG(v))
		return err
	}, 1280, 900, false)
	if cut := browsertest.Ask[string](b, `(() => { const all = document.querySelector('svg').viewBox.baseVal;
		return [...document.querySelectorAll('svg text')].filter((t) => { const r = t.getBBox(); return r.x + r.width > all.width || r.y + r.height > all.height; }).map((t) => t.textContent).join('\n'); })()`); cut != "" {
		b.Errorf("cut off:\n%s", cut)
	}
	if over := browsertest.Ask[string](b, `(() => { const all = [...document.querySelectorAll('svg text')].map((t) => [t.getBBox(), t.textContent]);
		return all.filter(([r, s], i) => all.some(([q], j) => j < i && q.x < r.x + r.width && r.x < q.x + q.width && q.y + 4 < r.y + r.height && r.y + 4 < q.y + q.height)).map(([, s]) => s).join('\n'); })()`); over != "" {
		b.Errorf("over another text:\n%s", over)
	}
}
