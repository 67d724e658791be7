package serve

import (
	"io"
	"net/url"

	"lockpick/campaign/judge"
	"lockpick/reports/web"
)

// Phases of a live run.
const (
	phaseRunning = "running"
	phaseSilent  = "silent"  // the history has stopped growing
	phaseJudging = "judging" // the history is complete
	phaseDone    = "done"    // the run has a result and a report
	phaseBroken  = "broken"  // the history cannot be read
)

// liveState is the state of a run that may be in progress, as a server sends it to the page. Times are
// seconds since the run began.
type liveState struct {
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
	Grants     grantRate    `json:"grants"`
	Faults     []liveFault  `json:"faults"`
}

// liveFault is an installed fault.
type liveFault struct {
	Kind      string  `json:"kind"`
	Text      string  `json:"text"` // its effect, as a clause
	From      float64 `json:"from"`
	To        float64 `json:"to"` // the current time, if it has not healed
	Healed    bool    `json:"healed"`
	Effective bool    `json:"effective"`
}

// grantRate counts the leases granted, in bins of Seconds seconds each.
type grantRate struct {
	Seconds int   `json:"seconds"`
	Bins    []int `json:"bins"`
}

// grantRateOf sums the counts of seconds into the bars of a chart.
func grantRateOf(seconds web.Seconds) grantRate {
	each := web.BarSeconds(len(seconds))
	return grantRate{each, seconds.Bars(each)}
}

var livePage = servedPage(web.Page{Name: "live", Scripts: []string{"live"}, Connects: true})

// writeLive writes the page that shows a run in progress. The page gets the run's state from
// /events/ and the run's name, on the same server.
func writeLive(w io.Writer, name string) error {
	return livePage.Write(w, &struct {
		web.Frame
		Name, Events string
	}{Name: name, Events: (&url.URL{Path: "/events/" + name}).String()})
}
