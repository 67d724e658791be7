package serve

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
	"lockpick/campaign/scenario"
	"lockpick/internal/loopback"
	"lockpick/risk"
)

// ran keeps a simulated run in a store, and writes a page in place of its report.
func ran(t *testing.T, store campaign.Store, persistence string) (name string) {
	t.Helper()
	s := scenario.Defaults()
	s.Driver, s.Faults, s.Persistence, s.TimeLimit = scenario.Sim, []string{"kill"}, persistence, 5*time.Second
	h, err := campaign.Record(t.Context(), s.WithRequirements(), campaign.Simulation{}.Driver(), campaign.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir, _, err := store.Add(h, "")
	if err != nil {
		t.Fatal(err)
	}
	yaml, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{judge.ScenarioFile: string(yaml), judge.ReportFile: "<!doctype html><title>a report</title>"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Base(dir)
}

// opened is a server for a store, without the network.
func opened(t *testing.T, store campaign.Store) *Server {
	t.Helper()
	s, err := New(store, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8417}, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func ask(s *Server, method, target, host string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://"+host+"/", nil)
	path, query, _ := strings.Cut(target, "?")
	r.URL.Path, r.URL.RawQuery = path, query
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

const here = "127.0.0.1:8417"

func TestAStoreIsShown(t *testing.T) {
	store := campaign.Store{Dir: t.TempDir()}
	broken, right := ran(t, store, "none"), ran(t, store, "always")
	if err := os.Mkdir(filepath.Join(store.Dir, "20260102T030405-<img src=x onerror=alert(1)>"), 0o700); err != nil {
		t.Fatal(err)
	}
	hostile := filepath.Join(store.Dir, "20260102T030405-<img src=x onerror=alert(1)>", judge.HistoryFile)
	if err := os.WriteFile(hostile, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := opened(t, store)
	list := ask(s, "GET", "/", here)
	text := list.Body.String()
	for _, want := range []string{broken, right, "✕ ", "violated", "holds", "no result", "&lt;img src=x"} {
		if list.Code != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%d: there is no %q in the list", list.Code, want)
		}
	}
	if strings.Contains(text, "<img") {
		t.Error("a name became markup")
	}
	if strings.Index(text, right) > strings.Index(text, broken) {
		t.Error("the newest run does not stand first")
	}

	diff := ask(s, "GET", "/diff?run="+broken+"&run="+right, here)
	for _, want := range []string{"persistence", "none", "always", "L2 mutual-exclusion", "violated", "/store/" + broken + "/report.html", "acquire, granted", ": the first violation of mutual exclusion at "} {
		if diff.Code != http.StatusOK || !strings.Contains(diff.Body.String(), want) {
			t.Errorf("%d: there is no %q in the comparison", diff.Code, want)
		}
	}

	folder := ask(s, "GET", "/store/"+broken, here)
	if to := folder.Header().Get("Location"); folder.Code != http.StatusFound || to != "/store/"+broken+"/report.html" {
		t.Errorf("a folder leads to %d %s", folder.Code, to)
	}
	report := ask(s, "GET", "/store/"+broken+"/report.html", here)
	if got := report.Header().Get("Content-Security-Policy"); report.Code != http.StatusOK || !strings.HasPrefix(got, "sandbox allow-scripts ") || strings.Contains(got, "allow-same-origin") {
		t.Errorf("%d: a file of the store has the policy %q: it must not get at the others", report.Code, got)
	}
	history := ask(s, "GET", "/store/"+broken+"/history.jsonl", here)
	if kind := history.Header().Get("Content-Type"); history.Code != http.StatusOK || kind != "text/plain; charset=utf-8" || history.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d: a history is sent as %q", history.Code, kind)
	}
}

// An estimate of a risk has its answers in the list instead of a verdict.
func TestARiskIsListed(t *testing.T) {
	store := campaign.Store{Dir: t.TempDir()}
	dir := filepath.Join(store.Dir, "20260102T030405-risk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(&risk.Result{Setup: risk.Defaults(), Effects: risk.Interval{Expected: 31, Low: 10, High: 100}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, risk.ResultFile), b, 0o600); err != nil {
		t.Fatal(err)
	}
	list := ask(opened(t, store), "GET", "/", here)
	for _, want := range []string{"20260102T030405-risk", "31 a year (10–100)"} {
		if list.Code != http.StatusOK || !strings.Contains(list.Body.String(), want) {
			t.Errorf("%d: there is no %q in the list:\n%s", list.Code, want, list.Body)
		}
	}
}

// TestNothingElseIsServed: only files of the store, only to those who name this server, only to read.
func TestNothingElseIsServed(t *testing.T) {
	dir := t.TempDir()
	store := campaign.Store{Dir: filepath.Join(dir, "store")}
	name := ran(t, store, "none")
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"out": dir, name + "/secret": filepath.Join(dir, "secret")} {
		if err := os.Symlink(to, filepath.Join(store.Dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	s := opened(t, store)
	for _, target := range []string{
		"/store/../secret", "/store/out/secret", "/store/" + name + "/secret", "/store/" + name + "/../../secret", "/store//etc/passwd", "/store/..", "/secret",
		"/diff?run=../store/" + name + "&run=" + name, "/diff?run=out&run=" + name, "/diff?run=" + name, "/diff?run=.&run=..",
	} {
		if w := ask(s, "GET", target, here); w.Code < 400 && w.Code != http.StatusFound || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	for _, host := range []string{"evil.example", "evil.example:8417", "127.0.0.1:80", "127.0.0.1"} {
		if w := ask(s, "GET", "/", host); w.Code != http.StatusForbidden {
			t.Errorf("it answers to %s with %d", host, w.Code)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS"} {
		if w := ask(s, method, "/", here); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
}

func TestOnlyThisMachineIsListenedOn(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.org:80", "8417"} {
		if l, err := loopback.Listen(address); err == nil {
			t.Errorf("it listens on %s", l.Addr())
			l.Close()
		}
	}
	l, err := loopback.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := opened(t, campaign.Store{Dir: t.TempDir()})
	if !slices.Contains(s.hosts, "localhost:8417") || s.HTTP().ReadHeaderTimeout == 0 {
		t.Error("it does not answer to localhost, or waits for ever for a request")
	}
}

// TestTheSizeOfARunIncludesItsFolders: as in lockpick prune.
func TestTheSizeOfARunIncludesItsFolders(t *testing.T) {
	store := campaign.Store{Dir: t.TempDir()}
	name := ran(t, store, "none")
	const size = 1 << 20
	folder := filepath.Join(store.Dir, name, "stderr")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "c1.txt"), make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	shown, err := opened(t, store).entries()
	if err != nil || len(shown) != 1 {
		t.Fatalf("%d entries, %v", len(shown), err)
	}
	pruned, err := Pruned(store, Prune{})
	if err != nil || len(pruned) != 1 {
		t.Fatalf("%d entries to prune, %v", len(pruned), err)
	}
	if shown[0].Bytes < size || shown[0].Bytes != pruned[0].Bytes {
		t.Errorf("the page shows %d bytes, and prune %d, of a run with a file of %d in a folder", shown[0].Bytes, pruned[0].Bytes, size)
	}
}
