package serve

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"lockpick/audit/card"

	"lockpick/campaign"
	"lockpick/campaign/judge"
)

// post sends a form to a server as a browser does that shows a page from somewhere.
func post(s *Server, target, from string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "http://"+here+target, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if from != "" {
		r.Header.Set("Origin", from)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// TestRunsAreLabelledAndDeleted by forms of the server itself, if it is told to.
func TestRunsAreLabelledAndDeleted(t *testing.T) {
	store := campaign.Store{Dir: t.TempDir()}
	one, two := ran(t, store, "none"), ran(t, store, "always")
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, judge.HistoryFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(store.Dir, "out")); err != nil {
		t.Fatal(err)
	}
	reading, s := opened(t, store), opened(t, store)
	s.writable = true
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(store.Dir, name, judge.HistoryFile))
		return err == nil
	}
	token := func(target string) string {
		t.Helper()
		found := regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(ask(s, "GET", target, here).Body.String())
		if found == nil {
			t.Fatalf("%s has no form", target)
		}
		return found[1]
	}
	key := token("/label?run=" + one)

	for name, try := range map[string]*httptest.ResponseRecorder{
		"a server that only shows": post(reading, "/delete", "", url.Values{"run": {one}, "token": {reading.token}}),
		"without a token":          post(s, "/delete", "http://"+here, url.Values{"run": {one}}),
		"another's token":          post(s, "/delete", "http://"+here, url.Values{"run": {one}, "token": {reading.token}}),
		"another page":             post(s, "/delete", "http://evil.example", url.Values{"run": {one}, "token": {key}}),
		"a page of the store":      post(s, "/delete", "null", url.Values{"run": {one}, "token": {key}}),
		"a token in the address":   post(s, "/delete?token="+key+"&run="+one, "http://"+here, nil),
		"no run":                   post(s, "/delete", "", url.Values{"token": {key}}),
		"the store itself":         post(s, "/delete", "", url.Values{"run": {one, "."}, "token": {key}}),
		"a folder above":           post(s, "/delete", "", url.Values{"run": {".."}, "token": {key}}),
		"a path":                   post(s, "/delete", "", url.Values{"run": {one + "/../" + two}, "token": {key}}),
		"a link":                   post(s, "/delete", "", url.Values{"run": {"out"}, "token": {key}}),
		"the link to the latest":   post(s, "/delete", "", url.Values{"run": {"latest"}, "token": {key}}),
		"a run that is not there":  post(s, "/delete", "", url.Values{"run": {one, "nothing"}, "token": {key}}),
		"a long label":             post(s, "/label", "", url.Values{"run": {one}, "token": {key}, "label": {strings.Repeat("x", 201)}}),
		"a label for two":          post(s, "/label", "", url.Values{"run": {one, two}, "token": {key}, "label": {"x"}}),
	} {
		if try.Code < 400 {
			t.Errorf("%s: %d", name, try.Code)
		}
	}
	if !exists(one) || !exists(two) {
		t.Fatal("a run was deleted by a form that is none of the server's")
	}
	if _, err := os.Stat(filepath.Join(outside, judge.HistoryFile)); err != nil {
		t.Fatal(err)
	}
	if text := ask(reading, "GET", "/", here).Body.String(); strings.Contains(text, "label…") || strings.Contains(text, `formaction="/delete"`) {
		t.Error("a server that only shows offers changes")
	}

	if w := post(s, "/label", "http://"+here, url.Values{"run": {one}, "token": {key}, "label": {" before <b>the</b>\nfix "}}); w.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for what, at := range map[string]string{"the list": "/", "its form": "/label?run=" + one, "the trend": "/trend?kind=run&of=redlock"} {
		if text := ask(s, "GET", at, here).Body.String(); !strings.Contains(text, "before &lt;b&gt;the&lt;/b&gt; fix") {
			t.Errorf("%s does not have the label:\n%s", what, text)
		}
	}
	post(s, "/label", "", url.Values{"run": {one}, "token": {key}, "label": {" "}})
	if strings.Contains(ask(s, "GET", "/", here).Body.String(), "the&lt;/b&gt; fix") {
		t.Error("the label cannot be taken away")
	}

	if w := post(s, "/delete", "http://"+here, url.Values{"run": {two, two}, "token": {token("/delete?run=" + two)}}); w.Code != http.StatusSeeOther || exists(two) || !exists(one) {
		t.Errorf("%d %s: of the two runs there are %v and %v", w.Code, w.Body, exists(one), exists(two))
	}
	if _, err := os.Lstat(filepath.Join(store.Dir, "latest")); err == nil {
		t.Error("the link to the latest run leads nowhere")
	}
}

// TestARunThatGoesOnIsNotDeleted, and one that was cut off is.
func TestARunThatGoesOnIsNotDeleted(t *testing.T) {
	store := campaign.Store{Dir: t.TempDir()}
	name := ran(t, store, "none")
	if err := os.Remove(filepath.Join(store.Dir, name, judge.ResultFile)); err != nil {
		t.Fatal(err)
	}
	s := opened(t, store)
	s.writable = true
	form := url.Values{"run": {name}, "token": {s.token}}
	if w := post(s, "/delete", "", form); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "may still be going on") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	old := time.Now().Add(-2 * recent)
	if err := os.Chtimes(filepath.Join(store.Dir, name, judge.HistoryFile), old, old); err != nil {
		t.Fatal(err)
	}
	if w := post(s, "/delete", "", form); w.Code != http.StatusSeeOther {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestTrend: the runs of a scenario stand side by side, and what changed stands out.
func TestTrend(t *testing.T) {
	store := campaign.Store{Dir: t.TempDir()}
	names := []string{ran(t, store, "always"), ran(t, store, "none")}
	s := opened(t, store)
	if text := ask(s, "GET", "/", here).Body.String(); !strings.Contains(text, `href="/trend?kind=run&amp;of=redlock"`) {
		t.Errorf("the list has no link to the trend:\n%s", text)
	}
	w := ask(s, "GET", "/trend?kind=run&of=redlock", here)
	text := w.Body.String()
	if first, second := strings.Index(text, names[0]), strings.Index(text, names[1]); w.Code != http.StatusOK || first < 0 || second < first {
		t.Errorf("%d: the older run does not stand first", w.Code)
	}
	if row := regexp.MustCompile(`(?s)<th scope="row">L2 mutual exclusion</th>(.*?)</tr>`).FindString(text); strings.Count(row, "<td") != 2 || !strings.Contains(row, `<td class="violated changed"`) {
		t.Errorf("the change is not seen: %s", row)
	}
	if n := strings.Count(text, `<rect class="violation"`); n != len(names) {
		t.Errorf("there are %d bars", n)
	}
	for _, target := range []string{"/trend", "/trend?kind=run&of=", "/trend?kind=run&of=other", "/trend?kind=claims&of=redlock"} {
		if w := ask(s, "GET", target, here); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", target, w.Code)
		}
	}
}

// TestTheScoreboardIsLinked if the store has one.
func TestTheScoreboardIsLinked(t *testing.T) {
	store := campaign.Store{Dir: t.TempDir()}
	s := opened(t, store)
	const link = `<a href="/store/scoreboard.html">Scoreboard</a>`
	if strings.Contains(ask(s, "GET", "/", here).Body.String(), link) {
		t.Error("there is a link to no scoreboard")
	}
	if err := os.WriteFile(filepath.Join(store.Dir, card.ScoreboardFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(ask(s, "GET", "/", here).Body.String(), link) {
		t.Error("there is no link to the scoreboard")
	}
}
