package web

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"lockpick/campaign/judge"
	"lockpick/checker"
	"lockpick/reports/term"
)

//go:embed page
var pageFiles embed.FS

// Page is a kind of page: a template with the style sheets and the scripts that are inside it. Files are in the folder
// page of Files, or of this package if Files does not have them.
type Page struct {
	Files    embed.FS
	Name     string           // of the template: the file's without its ending
	Styles   []string         // names of style sheets without endings, in their order; page.css is always the first
	Scripts  []string         // names of scripts without endings, in their order; dom.js is always the first
	Funcs    template.FuncMap // beside pageFuncs
	Forms    bool             // it sends forms to its server
	Connects bool             // it gets data from its server

	template *template.Template
	frame    func() Frame
}

// New parses the template of a page.
func New(p Page) *Page {
	p.template = template.New(p.Name + ".html").Funcs(pageFuncs).Funcs(p.Funcs)
	template.Must(p.template.Parse(p.file(p.Name + ".html")))
	template.Must(p.template.ParseFS(pageFiles, "page/head.html"))
	p.frame = sync.OnceValue(p.newFrame)
	return &p
}

// pageFuncs are the functions that templates of all pages have.
var pageFuncs = template.FuncMap{
	"count": term.Count, "plural": term.Plural, "span": term.Span, "moment": term.Moment, "join": strings.Join, "slug": Slug,
	"words": checker.TitleOf, "level": LevelMark, "verdict": checker.Verdict.Word, "sign": VerdictSign,
	"date": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
}

// Frame is what the data of each page has: embed it.
type Frame struct {
	Style  template.CSS
	Script template.JS
	Policy string // content security policy
}

func (f *Frame) take(from Frame) { *f = from }

// Write fills the template. data is a pointer to a struct with a Frame.
func (p *Page) Write(w io.Writer, data interface{ take(Frame) }) error {
	data.take(p.frame())
	if err := p.template.Execute(w, data); err != nil {
		return fmt.Errorf("write the page %s: %w", p.Name, err)
	}
	return nil
}

// newFrame joins the style sheets and the scripts, and allows nothing else in the page, by their hashes. The page can
// load nothing, not even an image, except from data: URLs.
func (p *Page) newFrame() Frame {
	style := p.file("page.css")
	for _, name := range p.Styles {
		style += p.file(name + ".css")
	}
	script := Join(p.Scripts, p.file)
	forms := "'none'"
	if p.Forms {
		forms = "'self'"
	}
	policy := fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; img-src data:; base-uri 'none'; form-action %s", hash(style), hash(script), forms)
	if p.Connects {
		policy += "; connect-src 'self'"
	}
	return Frame{template.CSS(style), template.JS(script), policy}
}

// Join joins scripts to that of a page: what all of them use stands first. file returns the text of a file.
func Join(scripts []string, file func(name string) string) string {
	script := "(function () {\n'use strict';\n"
	for _, name := range append([]string{"dom"}, scripts...) {
		script += file(name + ".js")
	}
	return script + "})();\n"
}

// hash returns the hash of a style or a script for the policy.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// file returns the text of an embedded file. A missing one is an error of the program.
func (p *Page) file(name string) string {
	b, err := p.Files.ReadFile("page/" + name)
	if err != nil {
		b, err = pageFiles.ReadFile("page/" + name)
	}
	if err != nil {
		panic(err)
	}
	return string(b)
}

// RunHref returns the link from the page to a run's report.
func RunHref(dir, folder, run string) string {
	if run == "" {
		return ""
	}
	target := filepath.Join(folder, run, judge.ReportFile)
	from, err1 := filepath.Abs(dir)
	to, err2 := filepath.Abs(target)
	rel, err3 := filepath.Rel(from, to)
	if err1 != nil || err2 != nil || err3 != nil {
		return filepath.ToSlash(target)
	}
	return filepath.ToSlash(rel)
}

// Slug returns the name of a class for an outcome.
func Slug(outcome any) string { return strings.ReplaceAll(fmt.Sprint(outcome), " ", "-") }
