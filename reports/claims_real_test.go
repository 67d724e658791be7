//go:build real

package reports

import (
	"io"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"lockpick/claims"
)

// TestClaimsPageInBrowser opens the page, filters it and opens a claim.
func TestClaimsPageInBrowser(t *testing.T) {
	b := openPage(t, browser(t), func(w io.Writer) error {
		other := verified()
		other.Driver, other.Folder, other.Claims = "process", "store/claims-process", other.Claims[:1]
		return ClaimsPage(w, ".", catalogue(), verified(), map[string]*claims.Result{"process": other})
	}, 1300, 900, false)
	shown := `[...document.querySelectorAll('.claim')].filter(r => !r.hidden).map(r => r.id).join(' ')`
	set := func(id, value string) string {
		return `(() => { const e = document.getElementById('` + id + `'); e.value = '` + value + `'; e.dispatchEvent(new Event('input')); return ` + shown + ` })()`
	}
	for _, x := range []struct{ js, want string }{
		{shown, "claim-35 claim-10 claim-51 claim-44 claim-22"},
		{`document.querySelectorAll('#claim-35 > tr:first-child .mark').length + ' ' + document.querySelector('#claim-35 .mark').getAttribute('href')`, "2 store/claims-sim/run-35/report.html"},
		{set("search", "restart"), "claim-35"},
		{set("search", ""), "claim-35 claim-10 claim-51 claim-44 claim-22"},
		{set("found", "invalid"), "claim-51"},
		{set("found", ""), "claim-35 claim-10 claim-51 claim-44 claim-22"},
		{set("outcome", "not-as-expected"), "claim-10"},
		{set("outcome", ""), "claim-35 claim-10 claim-51 claim-44 claim-22"},
		{set("driver", "process"), "claim-35"},
		{set("driver", ""), "claim-35 claim-10 claim-51 claim-44 claim-22"},
		{set("level", "EXT"), "claim-51"},
		{set("level", ""), "claim-35 claim-10 claim-51 claim-44 claim-22"},
		{`(() => { document.querySelector('#claim-35 .open').click(); return String(document.querySelector('#claim-35 .more').hidden) })()`, "false"},
		{`(() => { document.getElementById('all').click(); return String([...document.querySelectorAll('.more')].some(r => r.hidden)) })()`, "false"},
		{`String(document.documentElement.scrollWidth <= innerWidth)`, "true"},
	} {
		if got := ask[string](b, x.js); got != x.want {
			t.Errorf("%s\nis %q, want %q", x.js, got, x.want)
		}
	}
	b.picture("claims")
	b.quiet()
}

// TestPrintClaims: all claims, each with its explanation, take twelve pages at most.
func TestPrintClaims(t *testing.T) {
	r := &claims.Result{Driver: "sim", Budget: claims.Quick, Versions: map[string]string{"lockpick": "v1"}}
	for _, c := range claims.Catalogue() {
		found := claims.ClaimResult{ID: c.ID, Slug: c.Slug, Claim: c.Claim, Outcome: claims.Expected}
		for _, k := range c.Cases {
			result := claims.CaseResult{Name: k.Name, Shows: k.Shows, Lock: k.Scenario.Lock}
			for _, e := range k.Expect {
				result.Findings = append(result.Findings, claims.Finding{
					Property: e.Property, Level: "L2", Expected: e.Verdict, Found: e.Verdict, Outcome: claims.Expected, Why: strings.Repeat("what the checker says of it, ", 6), Schedules: 20, Proven: 20,
				})
			}
			found.Cases = append(found.Cases, result)
		}
		r.Claims = append(r.Claims, found)
	}
	b := openPage(t, browser(t), func(w io.Writer) error { return ClaimsPage(w, ".", claims.Catalogue(), r, nil) }, 1400, 900, false)
	_, closed := b.Printed()
	if closed < 3 || closed > 12 || len(r.Claims) < 60 {
		t.Errorf("%d claims take %d pages, want at most 12", len(r.Claims), closed)
	}
	b.do(chromedp.Click(chromedp.CSS("#all")))
	if _, open := b.Printed(); open <= closed {
		t.Errorf("with all claims open it takes %d pages, with none %d", open, closed)
	}
	b.quiet()
}
