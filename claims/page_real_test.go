//go:build real

package claims

import (
	"io"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"lockpick/internal/browsertest"
	"lockpick/search"
)

// TestClaimsPageInBrowser opens the page, filters it and opens a claim.
func TestClaimsPageInBrowser(t *testing.T) {
	b := browsertest.Open(t, browsertest.Start(t), func(w io.Writer) error {
		other := sampleResult()
		other.Driver, other.Folder, other.Claims = "process", "store/claims-process", other.Claims[:1]
		return WritePage(w, ".", sampleClaims(), sampleResult(), map[string]*Result{"process": other})
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
		if got := browsertest.Ask[string](b, x.js); got != x.want {
			t.Errorf("%s\nis %q, want %q", x.js, got, x.want)
		}
	}
	b.Picture("claims")
	b.Quiet()
}

// TestPrintClaims: eight claims or more, each with its result, fit on a page.
func TestPrintClaims(t *testing.T) {
	r := &Result{JobResult: search.JobResult{Driver: "sim", Budget: search.Quick, Versions: map[string]string{"lockpick": "v1"}}}
	for _, c := range Catalogue() {
		found := ClaimResult{ID: c.ID, Slug: c.Slug, Claim: c.Claim, Outcome: Expected}
		for _, k := range c.Cases {
			result := CaseResult{Name: k.Name, Shows: k.Shows, Lock: k.Scenario.Lock}
			for _, e := range k.Expect {
				result.Findings = append(result.Findings, PropertyResult{
					Property: e.Property, Level: "L2", Expected: e.Verdict, Found: e.Verdict, Outcome: Expected, Why: strings.Repeat("what the checker says of it, ", 6), Schedules: 20, Proven: 20,
				})
			}
			found.Cases = append(found.Cases, result)
		}
		r.Claims = append(r.Claims, found)
	}
	b := browsertest.Open(t, browsertest.Start(t), func(w io.Writer) error { return WritePage(w, ".", Catalogue(), r, nil) }, 1400, 900, false)
	_, closed := b.Printed()
	if closed < 3 || closed > (len(r.Claims)+7)/8 || len(r.Claims) < 60 {
		t.Errorf("%d claims take %d pages, want at most one for eight", len(r.Claims), closed)
	}
	b.Do(chromedp.Click(chromedp.CSS("#all")))
	if _, open := b.Printed(); open <= closed {
		t.Errorf("with all claims open it takes %d pages, with none %d", open, closed)
	}
	b.Quiet()
}
