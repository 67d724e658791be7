package reports

import (
	"io"
	"net/url"

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

// Bins sums the counts of seconds into the bars of a chart.
func Bins(seconds Seconds) Rate {
	each := BarSeconds(len(seconds))
	return Rate{each, seconds.Bars(each)}
}

var livePage = servedPage(Page{Name: "live", Scripts: []string{"live"}, Connects: true})

// LivePage writes the page that shows a run in progress. The page gets the run's state from
// /events/ and the run's name, on the same server.
func LivePage(w io.Writer, name string) error {
	return livePage.Write(w, &struct {
		Frame
		Name, Events string
	}{Name: name, Events: (&url.URL{Path: "/events/" + name}).String()})
}
