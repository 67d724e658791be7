//go:build real

package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"lockpick/campaign/judge"
	"lockpick/internal/browsertest"
	"lockpick/reports/web"
)

// TestLivePage: the page shows each state that the server tells, and the report in the end.
func TestLivePage(t *testing.T) {
	states := make(chan liveState)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/live/a run":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			if err := writeLive(w, "a run"); err != nil {
				t.Error(err)
			}
		case "/events/a run":
			w.Header().Set("Content-Type", "text/event-stream")
			for {
				var l liveState
				select {
				case l = <-states:
				case <-r.Context().Done():
					return
				}
				b, err := json.Marshal(l)
				if err != nil {
					t.Error(err)
				}
				fmt.Fprintf(w, "data: %s\n\n", b)
				w.(http.Flusher).Flush()
				if l.Phase == phaseDone {
					return
				}
			}
		default:
			t.Errorf("the page requested %s", r.URL)
		}
	}))
	defer server.Close()
	b := browsertest.OpenAddress(t, browsertest.Start(t), server.URL+"/live/a%20run", 1200, 800, false)
	tell := func(l liveState) {
		t.Helper()
		select {
		case states <- l:
		case <-b.Ctx.Done():
			t.Fatal("the page does not listen")
		}
	}
	is := func(id, text string) string {
		return fmt.Sprintf(`document.getElementById(%q).textContent.includes(%q)`, id, text)
	}
	seconds := make(web.Seconds, 300)
	for i := range seconds {
		seconds[i] = 5 + i%7
	}
	l := liveState{
		Name: "a run", Phase: phaseRunning, Lock: "<img src=x>", Driver: "docker", Masters: 5, Clients: 3, Elapsed: 300,
		Counts: judge.Counts{Operations: 40_000, Granted: 2400}, Grants: grantRateOf(seconds),
		Faults: []liveFault{
			{Kind: "kill", Text: "m1 was killed", From: 20, To: 40, Healed: true, Effective: true}, {Kind: "kill", Text: "m2 was killed", From: 60, To: 70, Healed: true},
			{Kind: "pause", Text: "m3 was paused", From: 290, To: 300},
		},
	}
	tell(l)
	b.Wait("the first state", is("state", "no L2 violation so far")+" && "+is("what", "going on"))
	b.Wait("its counts", is("counts", "2,400")+" && "+is("counts", "<img src=x>"))
	b.Wait("its faults", is("force", "for 10.0 s: m3 was paused")+` && [...document.querySelectorAll('#faults tr')].map((r) => [...r.cells].map((c) => c.textContent).join(' ')).join('; ') === 'kill 2 2 1 at 60.0 s: m2 was killed; pause 1 0 0 at 4 min 50 s: m3 was paused'`)
	b.Wait("its bars", `document.querySelectorAll('#grants .bar').length === 150 && document.querySelectorAll('#grants .band').length === 3 && !document.querySelector('#grants .violation')`)
	at := 295.5
	l.Violations, l.First, l.Phase, l.Silent = 2, &at, phaseSilent, 12
	tell(l)
	b.Wait("the violations", is("state", "✕ 2 L2 violations so far")+" && "+is("what", "Nothing was recorded for 12 s")+` && document.querySelector('#grants .violation')?.x.baseVal.value > 900`)
	b.Picture("live")
	l.Phase = phaseJudging
	tell(l)
	b.Wait("the judging", is("what", "being judged"))
	l.Phase, l.Report = phaseDone, "/store/a%20run/report.html"
	tell(l)
	b.Wait("the report", `document.querySelector('#what a')?.getAttribute('href') === '/store/a%20run/report.html' && `+is("state", "✕ 2 L2 violations")+` && !`+is("state", "so far"))
	said, requests := b.Heard()
	for _, s := range said {
		t.Errorf("the page said: %s", s)
	}
	for _, r := range requests {
		if !strings.HasPrefix(r, server.URL) && !strings.HasPrefix(r, "data:") {
			t.Errorf("the page requested %s", r)
		}
	}
}
