package reports

import (
	"html/template"
	"io"
	"net/url"
	"strings"
	"time"

	"lockpick/campaign/judge"
)

// Phases of a live run.
const (
	Running = "running"
	Silent  = "silent"  // the history has stopped growing
	Judging = "judging" // the history is complete
	Done    = "done"    // the run has a result and a report
	Broken  = "broken"  // the history cannot be read
)

// Live is the state of a run that may be in progress, as a server sends it to the page. Times are
// seconds since the run began.
type Live struct {
	Name       string       `json:"name"`
	Phase      string       `json:"phase"`
	Problem    string       `json:"problem,omitempty"`
	Silent     float64      `json:"silent,omitempty"` // seconds since the history last grew
	Report     string       `json:"report,omitempty"` // address of the report
	Lock       string       `json:"lock"`
	Driver     string       `json:"driver"`
	Masters    int          `json:"masters"`
	Clients    int          `json:"clients"`
	Elapsed    float64      `json:"elapsed"`
	Counts     judge.Counts `json:"counts"`
	Violations int          `json:"violations"` // of mutual exclusion, so far
	First      *float64     `json:"first"`      // time of the first violation; null: none
	Grants     Rate         `json:"grants"`
	Faults     []LiveFault  `json:"faults"`
}

// LiveFault is an installed fault.
type LiveFault struct {
	Kind      string  `json:"kind"`
	Text      string  `json:"text"` // its effect, as a clause
	From      float64 `json:"from"`
	To        float64 `json:"to"` // the current time, if it has not healed
	Healed    bool    `json:"healed"`
	Effective bool    `json:"effective"`
}

// Rate counts the leases granted, in bins of Seconds seconds each.
type Rate struct {
	Seconds int   `json:"seconds"`
	Bins    []int `json:"bins"`
}

// Seconds counts events in each second of a run.
type Seconds []int

// maxSeconds limits the length of Seconds, because a line of a history may have any time.
const maxSeconds = 7 * 24 * 3600

// Count adds n events at a time, and extends s up to that second, even if n is 0.
func (s *Seconds) Count(at time.Duration, n int) {
	second := int(min(at, maxSeconds*time.Second) / time.Second)
	for len(*s) <= second {
		*s = append(*s, 0)
	}
	(*s)[second] += n
}

// maxBins limits the bins that a page draws.
const maxBins = 240

// Bins sums the counts of seconds into at most maxBins bins.
func Bins(seconds Seconds) Rate {
	r := Rate{Seconds: max(1, (len(seconds)+maxBins-1)/maxBins), Bins: []int{}}
	for i, n := range seconds {
		if i%r.Seconds == 0 {
			r.Bins = append(r.Bins, 0)
		}
		r.Bins[len(r.Bins)-1] += n
	}
	return r
}

var liveTemplate = storeTemplate("live.html")

// LivePage writes the page that shows a run in progress. The page gets the run's state from
// /events/ and the run's name, on the same server.
func LivePage(w io.Writer, name string) error {
	style, script, err := assetsOf([]string{"page", "store"}, []string{"live"})
	if err != nil {
		return err
	}
	rules := strings.Replace(policy(style, script), "form-action 'none'", "form-action 'none'; connect-src 'self'", 1)
	return liveTemplate.Execute(w, struct {
		Style  template.CSS
		Script template.JS
		Policy string
		Name   string
		Events string
	}{template.CSS(style), template.JS(script), rules, name, (&url.URL{Path: "/events/" + name}).String()})
}
