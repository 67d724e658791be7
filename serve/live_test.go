package serve

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockpick/campaign"
	"lockpick/campaign/judge"
)

// stream reads the states of a run that a server tells.
type stream struct {
	*testing.T
	lines *bufio.Scanner
}

// until reads states until one is as wanted.
func (s *stream) until(what string, is func(liveState) bool) liveState {
	s.Helper()
	var last string
	for s.lines.Scan() {
		text, ok := strings.CutPrefix(s.lines.Text(), "data: ")
		if !ok {
			continue
		}
		last = text
		var l liveState
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			s.Fatalf("%v in %s", err, text)
		}
		if is(l) {
			return l
		}
	}
	s.Fatalf("%s: the server said at last: %s", what, last)
	panic("unreachable")
}

// served is a server on the network.
func served(t *testing.T, store campaign.Store) *httptest.Server {
	web := httptest.NewUnstartedServer(nil)
	s, err := New(store, web.Listener.Addr(), false)
	if err != nil {
		t.Fatal(err)
	}
	web.Config = s.HTTP()
	web.Start()
	t.Cleanup(func() {
		web.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return web
}

// TestARunIsShownWhileItGoesOn: what is recorded is told soon, also half a line; in the end the report.
func TestARunIsShownWhileItGoesOn(t *testing.T) {
	store := campaign.Store{Dir: t.TempDir()}
	whole := filepath.Join(store.Dir, ran(t, store, "none"))
	recorded, err := os.ReadFile(filepath.Join(whole, judge.HistoryFile))
	if err != nil {
		t.Fatal(err)
	}
	result, err := judge.ReadResult(whole)
	if err != nil {
		t.Fatal(err)
	}
	const name = "20260102T030405-going on & <b>"
	dir := filepath.Join(store.Dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(dir, judge.HistoryFile))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	put := func(b []byte) {
		t.Helper()
		if _, err := file.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	half := len(recorded) / 2
	half += bytes.IndexByte(recorded[half:], '\n') + 10 // within a line
	put(recorded[:half])
	web := served(t, store)
	if list := ask(opened(t, store), "GET", "/", here).Body.String(); !strings.Contains(list, `href="/live/20260102T030405-going%20on%20&amp;%20%3Cb%3E"`) {
		t.Errorf("the list has no link to the live page:\n%s", list)
	}
	answer, err := web.Client().Get(web.URL + "/events/" + url.PathEscape(name))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	events := &stream{t, bufio.NewScanner(answer.Body)}
	events.lines.Buffer(nil, 1<<20)
	lines := bytes.Count(recorded[:half], []byte("\n")) - 1
	first := events.until("half of the history", func(l liveState) bool { return l.Counts.Operations == lines })
	if first.Phase != phaseRunning || first.Report != "" || first.Elapsed <= 0 || first.Elapsed >= result.Duration.Seconds() {
		t.Errorf("in the middle it is %+v", first)
	}
	put(recorded[half:])
	events.until("the rest", func(l liveState) bool { return l.Phase == phaseJudging })
	for _, file := range []string{judge.ReportFile, judge.ResultFile} {
		b, err := os.ReadFile(filepath.Join(whole, file))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	last := events.until("the end", func(l liveState) bool { return l.Phase == phaseDone })
	if events.lines.Scan() && events.lines.Text() != "" || events.lines.Scan() {
		t.Error("the server goes on after the end")
	}
	if last.Counts != result.Counts || last.Report == "" {
		t.Errorf("it counted %+v and the result says %+v; the report is %q", last.Counts, result.Counts, last.Report)
	}
	violated := 0
	for _, v := range result.Verdicts {
		if v.Level == "L2" {
			violated = v.Count
		}
	}
	if last.Violations != violated || violated == 0 || last.First == nil {
		t.Errorf("it counted %d violations from %v on, and the result %d", last.Violations, last.First, violated)
	}
	granted := 0
	for _, n := range last.Grants.Bins {
		granted += n
	}
	if granted != result.Counts.Granted || len(last.Faults) != result.Counts.Faults {
		t.Errorf("its bins have %d of %d grants, %d of %d faults", granted, result.Counts.Granted, len(last.Faults), result.Counts.Faults)
	}
}

// TestLiveAtItsLimits: what is not a history is said to be none, and a live page keeps no server from ending.
func TestLiveAtItsLimits(t *testing.T) {
	store := campaign.Store{Dir: t.TempDir()}
	whole := ran(t, store, "none")
	recorded, err := os.ReadFile(filepath.Join(store.Dir, whole, judge.HistoryFile))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"broken": []byte("{}\nnothing\n"), "on": recorded[:len(recorded)/2]} {
		if err := os.Mkdir(filepath.Join(store.Dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(store.Dir, name, judge.HistoryFile), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	web := served(t, store)
	listen := func(name string) *stream {
		t.Helper()
		answer, err := web.Client().Get(web.URL + "/events/" + name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { answer.Body.Close() })
		lines := bufio.NewScanner(answer.Body)
		lines.Buffer(nil, 1<<20)
		return &stream{t, lines}
	}
	if l := listen("broken").until("what is wrong", func(l liveState) bool { return l.Phase == phaseBroken }); !strings.Contains(l.Problem, "line 1") {
		t.Errorf("the problem: %q", l.Problem)
	}
	for _, name := range []string{"none", "..", "on/..", ""} {
		for _, at := range []string{"/events/", "/live/"} {
			if w := ask(opened(t, store), "GET", at+name, here); w.Code != http.StatusNotFound {
				t.Errorf("%s%s: %d", at, name, w.Code)
			}
		}
	}
	on := listen("on")
	on.until("a run that goes on", func(l liveState) bool { return l.Counts.Operations > 0 })
	ended := make(chan struct{})
	go func() { defer close(ended); _ = web.Config.Shutdown(t.Context()) }()
	for on.lines.Scan() {
	}
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the server waits for the live page")
	}
}

// TestSilence: a run of which nothing comes any more is said to be silent.
func TestSilence(t *testing.T) {
	now := time.Now()
	r := &running{name: "run", grown: now}
	if l, _ := r.state(now.Add(quiet)); l.Phase != phaseRunning {
		t.Errorf("after %v it is %s", quiet, l.Phase)
	}
	if l, over := r.state(now.Add(2 * quiet)); l.Phase != phaseSilent || l.Silent != 2*quiet.Seconds() || over {
		t.Errorf("after %v it is %s for %v s", 2*quiet, l.Phase, l.Silent)
	}
}
