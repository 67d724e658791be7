package serve

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"

	"lockpick/audit"
	"lockpick/campaign/judge"
	"lockpick/claims"
	"lockpick/internal/otherfile"
)

// withTrends gives each entry the address of the page that compares it with other entries of its scenario or
// lock, if the store has any.
func withTrends(entries []Entry) {
	type group struct{ kind, of string }
	n := map[group]int{}
	for _, e := range entries {
		n[group{e.Kind, e.Of}]++
	}
	for i := range entries {
		if e := &entries[i]; e.Of != "" && n[group{e.Kind, e.Of}] > 1 {
			e.Trend = "/trend?" + url.Values{"kind": {e.Kind}, "of": {e.Of}}.Encode()
		}
	}
}

// trend compares the runs of one scenario, of the claims on one driver or of audits of one lock.
func (s *Server) trend(w http.ResponseWriter, asked url.Values) {
	kind, name := asked.Get("kind"), asked.Get("of")
	entries, err := s.entries()
	if err != nil {
		fail(w, err)
		return
	}
	var runs []trendRun
	for _, e := range slices.Backward(entries) { // the oldest first
		if e.Kind == kind && e.Of == name && name != "" {
			runs = append(runs, s.trendRun(e))
		}
	}
	if len(runs) == 0 {
		http.Error(w, "no such runs in the store", http.StatusNotFound)
		return
	}
	page(w, func(out io.Writer) error { return trendPage.Write(out, &pageData{Trend: newTrend(name, runs)}) })
}

// trendRun reads the result of an entry. An entry that cannot be read has no result; the list shows why.
func (s *Server) trendRun(e Entry) trendRun {
	read := func(file string, into any) bool {
		b, err := otherfile.ReadIn(s.root, path.Join(e.Name, file), otherfile.MaxResult)
		return err == nil && json.Unmarshal(b, into) == nil
	}
	switch e.Kind {
	case "run":
		var r judge.Result
		if read(judge.ResultFile, &r) {
			return trendOfRun(e, &r)
		}
	case "claims":
		var r claims.Result
		if read(claims.ResultFile, &r) {
			return trendOfClaims(e, &r)
		}
	case "audit":
		var r audit.Result
		if read(audit.ResultFile, &r) {
			return trendOfAudit(e, &r)
		}
	}
	return trendRun{Entry: e}
}
