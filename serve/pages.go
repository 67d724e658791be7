package serve

import (
	"embed"
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"time"

	"lockpick/checker"
	"lockpick/reports/diff"
	"lockpick/reports/web"
)

//go:embed page
var pageFiles embed.FS

// Entry is one row of the page that lists a store.
type Entry struct {
	Name       string
	Label      string // given by a user
	Kind       string // run, claims, audit, risk
	Of         string // scenario or lock; runs of the same kind that share it form a trend
	Trend      string // address of the page that compares them; empty: there is only one run
	Href       string // address of its page; empty: it has none
	Started    time.Time
	Verdict    checker.Verdict // empty: it has no result
	Why        string
	Lock       string
	Faults     string
	Driver     string
	Version    string // of the Lockpick that ran it
	Duration   time.Duration
	Violations int
	Bytes      int64 // on disk, without the folders of claims and audits
}

// Word returns the verdict in a word; empty: the entry has no result.
func (e Entry) Word() string { return e.Verdict.Word() }

// PerMinute returns the number of violations per minute; empty: there are none.
func (e Entry) PerMinute() string {
	if e.Violations == 0 || e.Duration <= 0 {
		return ""
	}
	return fmt.Sprintf("%.3g", float64(e.Violations)/e.Duration.Minutes())
}

// Search returns the text that the page's search looks at, in lower case.
func (e Entry) Search() string {
	return strings.ToLower(strings.Join([]string{e.Name, e.Label, e.Kind, e.Verdict.Word(), e.Lock, e.Faults, e.Driver, e.Version, e.Why}, " "))
}

// Size formats the size with its unit.
func (e Entry) Size() string {
	size, units := float64(e.Bytes), []string{"B", "kB", "MB", "GB"}
	i := 0
	for ; size >= 1000 && i < len(units)-1; i++ {
		size /= 1000
	}
	return fmt.Sprintf("%.3g %s", size, units[i])
}

// pageData is the data of the templates; each page uses a part of it.
type pageData struct {
	web.Frame
	entryList
	Asked *change
	Trend *trend
	Diff  *diff.Comparison
	Pages [2]string // addresses of the reports of the compared runs; empty: it has none
}

// servedPage is a page of the store, which only a server shows.
func servedPage(p web.Page) *web.Page {
	p.Files, p.Styles = pageFiles, []string{"store"}
	p.Funcs = template.FuncMap{
		"date": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
		"day":  func(t time.Time) string { return t.UTC().Format("01-02 15:04") },
	}
	return web.New(p)
}

var (
	listPage   = servedPage(web.Page{Name: "store", Scripts: []string{"store"}, Forms: true})
	diffPage   = servedPage(web.Page{Name: "diff", Forms: true})
	changePage = servedPage(web.Page{Name: "change", Forms: true})
)

// entryList is the content of a store's page.
type entryList struct {
	Dir      string
	Entries  []Entry    // newest first
	Links    []pageLink // to pages of the store that are not entries
	Writable bool       // users may label and delete entries
}

// pageLink is a link to a page.
type pageLink struct{ Text, Href string }

// change is a change of a store that a user has to confirm.
type change struct {
	Action  string // label or delete
	Entries []Entry
	Token   string // the confirmation must contain it
}

// Relabel returns the address of the page that asks for a label.
func (e Entry) Relabel() string { return "/label?" + url.Values{"run": {e.Name}}.Encode() }
