package reports

import (
	"html/template"
	"io"
	"net/url"
	"strings"
	"time"

	"lockpick/campaign/judge"
)

// Phases of a run that is looked at.
const (
	Running = "running"
	Silent  = "silent"  // nothing is recorded
	Judging = "judging" // it is recorded to its end
	Done    = "done"    // it has a result and a report
	Broken  = "broken"  // it cannot be read
)

// Live is the state of a run that may be going on, as a server tells it to the page. Times are seconds
// since the run began.
type Live struct {
	Name       string       `json:"name"`
	Phase      string       `json:"phase"`
	Problem    string       `json:"problem,omitempty"`
	Silent     float64      `json:"silent,omitempty"` // for how many seconds
	Report     string       `json:"report,omitempty"` // its address
	Lock       string       `json:"lock"`
	Driver     string       `json:"driver"`
	Masters    int          `json:"masters"`
	Clients    int          `json:"clients"`
	Elapsed    float64      `json:"elapsed"`
	Counts     judge.Counts `json:"counts"`
	Violations int          `json:"violations"` // of mutual exclusion, so far
	First      *float64     `json:"first"`      // of them; null: none
	Grants     Rate         `json:"grants"`
	Faults     []LiveFault  `json:"faults"`
}

// LiveFault is a fault that was installed.
type LiveFault struct {
	Kind      string  `json:"kind"`
	Text      string  `json:"text"` // what it did, as a clause
	From      float64 `json:"from"`
	To        float64 `json:"to"` // so far, if it has not healed
	Healed    bool    `json:"healed"`
	Effective bool    `json:"effective"`
}

// Rate is how many leases were granted, in bins of some seconds each.
type Rate struct {
	Seconds int   `json:"seconds"`
	Bins    []int `json:"bins"`
}

// Seconds counts events in each second of a run.
type Seconds []int

// maxSeconds bounds them: a line of a history may have any time.
const maxSeconds = 7 * 24 * 3600

// Count counts n events at a time, and so makes the seconds up to it known; n may be 0.
func (s *Seconds) Count(at time.Duration, n int) {
	second := int(min(at, maxSeconds*time.Second) / time.Second)
	for len(*s) <= second {
		*s = append(*s, 0)
	}
	(*s)[second] += n
}

// maxBins is how many bins a page draws.
const maxBins = 240

// Bins puts counts of seconds into at most maxBins bins.
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

// LivePage writes the page that shows a run while it goes on. It gets the run's state from /events/ and
// the run's name, on the same server.
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
