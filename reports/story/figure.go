package story

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"time"

	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/reports/term"
)

// The measures of the figure, in its own units.
const (
	figureWidth   = 600
	figureLeft    = 66 // left edge of the bars; the names are left of it
	figureTop     = 46 // top of the first row; the steps' numbers and times are above it
	figureRow     = 32
	figureBar     = 14
	figureSlices  = 8 // parts of the time between two events; each shows the state at its beginning
	figureMasters = 5 // limits the masters shown: those that decided
	figureClients = 4 // limits the clients shown
	figureTimes   = 9 // limits the steps with a time; with more steps there is no room for times
)

// figure is a picture of a violation's reason: a row for each client with a contested lease, for
// each master that decided and for the storage, and the numbered steps of the reason from left to right. It is drawn
// from the same events as the reason, and is not to scale.
type figure struct {
	bytes.Buffer
	v       *narrative.Violation
	clients []string // all clients of the history; the position chooses the colour
	events  []*narrative.Event
	steps   int       // those of the events that are steps of the reason
	x       []float64 // x of each event
	right   float64
	end     time.Duration
	rows    []figureLane
	signs   Signs
	service *service // all masters have one row; nil: each has its own
}

// Signs records the optional signs in a figure, for its caption.
type Signs struct{ Stopped, Clock, Inside, Clash, Storage bool }

// figureLane is a row of the figure.
type figureLane struct {
	name    string
	client  bool
	storage bool
	y       int // top of its bars
}

// stretch is a part of a bar during which nothing changes.
type stretch struct {
	from, to float64
	bar      [3]rune
	token    string // the bar's token; empty: none
}

// Figure draws a violation's events as SVG. It returns nothing if the violation has no steps. Its
// colours are classes of the page's style sheet.
func Figure(v *narrative.Violation, clients []string) (template.HTML, Signs) {
	f := newFigure(v, clients)
	if f.cast(); f.steps == 0 || len(f.rows) == 0 {
		return "", Signs{}
	}
	fmt.Fprintf(f, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n", figureWidth, f.height(), escape("The steps as a picture. "+v.Summary))
	f.draw()
	f.WriteString("</svg>")
	return template.HTML(f.String()), f.signs // escape escaped all text in it
}

func newFigure(v *narrative.Violation, clients []string) *figure {
	f := &figure{v: v, clients: clients}
	for i := range v.Events {
		e := &v.Events[i]
		f.end = max(f.end, e.At, v.Until)
		if e.Kind == narrative.EventViolated {
			continue
		}
		f.events = append(f.events, e)
		if !e.Detail {
			f.steps++
		}
	}
	return f
}

func (f *figure) height() int { return figureTop + len(f.rows)*figureRow }

// draw draws all rows.
func (f *figure) draw() {
	f.place(f.steps)
	f.numbers(f.steps, f.height())
	for i := range f.rows {
		f.lane(&f.rows[i])
	}
	f.clash()
	f.writes()
	f.words()
}

// cast chooses the clients and masters that have a row.
func (f *figure) cast() {
	d := &drawing{v: f.v}
	d.steps, _ = stepsOf(f.v)
	d.cast()
	contested := slices.DeleteFunc(slices.Clone(d.clients), func(c string) bool { return len(f.v.Clients) > 0 && !slices.Contains(f.v.Clients, c) })
	masters := slices.DeleteFunc(slices.Clone(d.masters), func(m string) bool { return d.weight(m) == 0 })
	slices.SortStableFunc(masters, func(a, b string) int { return d.weight(b) - d.weight(a) })
	masters = masters[:min(len(masters), figureMasters)]
	slices.SortFunc(masters, history.CompareNames)
	contested = contested[:min(len(contested), figureClients)]
	if f.service != nil {
		f.service.masters = d.masters
		contested = contested[:min(len(contested), 2)]
		masters = []string{serviceLane}
	}
	for _, c := range contested {
		f.rows = append(f.rows, figureLane{name: c, client: true})
	}
	for _, m := range masters {
		f.rows = append(f.rows, figureLane{name: m})
	}
	if d.storage {
		f.signs.Storage = true
		f.rows = append(f.rows, figureLane{name: storageLane, storage: true})
	}
	for i := range f.rows {
		f.rows[i].y = figureTop + i*figureRow + figureRow - figureBar - 4
	}
}

// place sets the x of each event: steps of the reason at equal distances, and details at equal
// distances between two steps.
func (f *figure) place(steps int) {
	f.right = figureWidth - 4
	unit := (f.right - figureLeft) / float64(steps+1)
	f.x = make([]float64, len(f.events))
	last, from := -1, float64(figureLeft)
	between := func(to int, end float64) {
		for i := last + 1; i < to; i++ {
			f.x[i] = from + (end-from)*float64(i-last)/float64(to-last)
		}
	}
	n := 0
	for i, e := range f.events {
		if e.Detail {
			continue
		}
		x := figureLeft + (float64(n)+0.5)*unit
		n++
		between(i, x)
		f.x[i], last, from = x, i, x
	}
	between(len(f.events), f.right)
}

// at returns the x of a time: that of the last event before it, or a point between it and the next.
func (f *figure) at(t time.Duration) float64 {
	i := -1
	for j, e := range f.events {
		if e.At <= t {
			i = j
		}
	}
	switch {
	case i < 0:
		return figureLeft
	case f.events[i].At == t:
		return f.x[i]
	}
	to, end := f.right, f.end
	if i+1 < len(f.events) {
		to, end = f.x[i+1], f.events[i+1].At
	}
	return f.x[i] + (to-f.x[i])*float64(t-f.events[i].At)/float64(max(end-f.events[i].At, 1))
}

// numbers draws the number and the time of each step, and a vertical line below it.
func (f *figure) numbers(steps, height int) {
	n, lastStep := 0, 0.0
	number := func(x float64, class string) {
		n++
		fmt.Fprintf(f, `<circle class="%s" cx="%.1f" cy="12" r="10"/><text class="%s" x="%.1f" y="16" text-anchor="middle">%d</text>`+"\n", class, x, class, x, n)
	}
	for i, e := range f.events {
		if e.Detail {
			continue
		}
		fmt.Fprintf(f, `<line class="guide" x1="%.1f" x2="%.1f" y1="22" y2="%d"/>`+"\n", f.x[i], f.x[i], height)
		number(f.x[i], "number")
		lastStep = f.x[i]
		if steps <= figureTimes && e.Kind != narrative.EventUnexplained && e.Kind != narrative.EventNote {
			fmt.Fprintf(f, `<text class="time" x="%.1f" y="36" text-anchor="middle">%s</text>`+"\n", f.x[i], term.Instant(e.At))
		}
	}
	if last := len(f.v.Events) - 1; f.v.Events[last].Kind == narrative.EventViolated {
		until := max(f.at(f.v.Until), f.at(f.v.At))
		number(min(max((f.at(f.v.At)+until)/2, lastStep+24), f.right-12), "number proof")
	}
}

// lane draws the name of a client or a master, its lifeline, and the bars on it.
func (f *figure) lane(l *figureLane) {
	mid := l.y + figureBar/2
	fmt.Fprintf(f, `<text class="name" x="4" y="%d">%s</text><line class="life" x1="%d" x2="%.1f" y1="%d" y2="%d"/>`+"\n",
		mid+4, escape(term.Cut(term.Printable(l.name), 12)), figureLeft, f.right, mid, mid)
	for _, s := range f.stretches(l) {
		f.stretch(l, s)
	}
}

// stretches replays the events and splits the row where its state changes.
func (f *figure) stretches(l *figureLane) (all []stretch) {
	state := newSnapshot(f.v)
	for i, e := range f.events {
		state.apply(e)
		to, end := f.right, f.end
		if i+1 < len(f.events) {
			to, end = f.x[i+1], f.events[i+1].At
		}
		for j := range figureSlices {
			part := func(n int) float64 { return f.x[i] + (to-f.x[i])*float64(n)/figureSlices }
			t := e.At + max(end-e.At, 0)*time.Duration(j)/figureSlices
			s := stretch{from: part(j), to: part(j + 1)}
			s.bar = state.lane(l.name, l.client, t)
			if f.service != nil && l.name == serviceLane {
				s.bar = f.service.at(state, t)
			}
			if l.client {
				s.bar[2] = ' ' // the frame of clash shows the violation instead
				if s.bar[0] == '!' {
					s.bar[0] = ' '
				}
			}
			s.token = f.tokenOf(l, state, s.bar[1])
			if n := len(all); n > 0 && all[n-1].bar == s.bar && all[n-1].token == s.token {
				all[n-1].to = s.to
			} else {
				all = append(all, s)
			}
		}
	}
	return all
}

// tokenOf returns the token that a bar stands for; empty: none.
func (f *figure) tokenOf(l *figureLane, state *snapshot, sign rune) string {
	if i := slices.Index(fills, sign); i >= 0 && i < len(f.v.Tokens) {
		return f.v.Tokens[i]
	}
	if sign != ':' {
		return ""
	}
	if m := state.masters[l.name]; m != nil {
		return m.token
	}
	if i := slices.Index(f.v.Clients, l.name); i >= 0 && i < len(f.v.Tokens) { // there are more leases than signs
		return f.v.Tokens[i]
	}
	return ""
}

// stretch draws a part of a bar.
func (f *figure) stretch(l *figureLane, s stretch) {
	width := s.to - s.from
	switch {
	case s.bar[1] == '.':
		fmt.Fprintf(f, `<line class="down" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`+"\n", s.from, s.to, l.y+figureBar/2, l.y+figureBar/2)
		return
	case s.token != "":
		owner := f.owner(s.token)
		class, name := "other", "other"
		if i := slices.Index(f.clients, owner); i >= 0 {
			class, name = "client-"+strconv.Itoa(i%8), owner
		}
		fmt.Fprintf(f, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d"/>`+"\n", class, s.from, l.y, width, figureBar)
		if name = term.Printable(name); width > float64(7*len(name)+4) {
			x, anchor := s.from+4, "start"
			if !l.client { // the dots of votes are at its beginning
				x, anchor = s.to-4, "end"
			}
			fmt.Fprintf(f, `<text class="owner" x="%.1f" y="%d" text-anchor="%s">%s</text>`+"\n", x, l.y+figureBar-3, anchor, escape(name))
		}
	}
	switch s.bar[0] {
	case 'z':
		f.signs.Stopped = true
		fmt.Fprintf(f, `<rect class="stopped" x="%.1f" y="%d" width="%.1f" height="%d"/>`+"\n", s.from, l.y-3, width, figureBar+6)
	case '~':
		f.signs.Clock = true
		fmt.Fprintf(f, `<rect class="clock" x="%.1f" y="%d" width="%.1f" height="%d"/>`+"\n", s.from, l.y-3, width, figureBar+6)
	case '[':
		f.signs.Inside = true
		fmt.Fprintf(f, `<rect class="inside" x="%.1f" y="%d" width="%.1f" height="4"/>`+"\n", s.from, l.y+figureBar, width)
	}
}

// owner returns the client of a token; empty: no event names it.
func (f *figure) owner(token string) string {
	for _, e := range f.v.Events {
		if e.Token == token && e.Client != "" && (e.Kind == narrative.EventGranted || e.Kind == narrative.EventAsked || e.Kind == narrative.EventAnswered) {
			return e.Client
		}
	}
	if i := slices.Index(f.v.Tokens, token); i >= 0 && i < len(f.v.Clients) {
		return f.v.Clients[i]
	}
	return ""
}

// clash frames the rows of the clients during the violation.
func (f *figure) clash() {
	from, rows := f.at(f.v.At), 0
	for _, l := range f.rows {
		if l.client {
			rows++
		}
	}
	if rows < 2 || len(f.v.Tokens) < 2 || f.v.Until <= f.v.At {
		return
	}
	f.signs.Clash = true
	to := max(f.at(f.v.Until), from+12)
	fmt.Fprintf(f, `<rect class="clash" x="%.1f" y="%d" width="%.1f" height="%d" rx="4"/>`+"\n", from, figureTop+2, to-from, rows*figureRow)
}

// row returns the row of a client, a master or the storage, or nil.
func (f *figure) row(name string) *figureLane {
	if f.service.has(name) {
		name = serviceLane
	}
	i := slices.IndexFunc(f.rows, func(l figureLane) bool { return l.name == name })
	if i < 0 {
		return nil
	}
	return &f.rows[i]
}

// refusedToo reports whether the next event is that the fence refused the same write.
func (f *figure) refusedToo(i int) bool {
	if i+1 == len(f.events) {
		return false
	}
	e, next := f.events[i], f.events[i+1]
	return next.Kind == narrative.EventRejected && next.At == e.At && next.Value == e.Value
}

// writes draws an arrow from a client to the storage for each write, which ends in a cross if it was refused.
// A write that the fence refused has only that sign, though the storage without a fence applied it.
func (f *figure) writes() {
	storage := f.row(storageLane)
	if storage == nil || !storage.storage {
		return
	}
	for i, e := range f.events {
		from := f.row(e.Client)
		if e.Kind != narrative.EventApplied && e.Kind != narrative.EventRejected || from == nil {
			continue
		}
		refused := e.Kind == narrative.EventRejected
		if !refused && f.refusedToo(i) {
			continue
		}
		x, y := f.x[i], storage.y+figureBar/2
		fmt.Fprintf(f, `<line class="write" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`+"\n", x, x, from.y+figureBar, storage.y-1)
		if refused {
			fmt.Fprintf(f, `<path class="refused" d="M%.1f %dl10 10m0 -10l-10 10"/>`+"\n", x-5, y-5)
			continue
		}
		fmt.Fprintf(f, `<circle class="applied" cx="%.1f" cy="%d" r="4"/>`+"\n", x, y)
	}
}

// words writes each step's word on the rows of its client or masters, and marks the masters that
// voted yes to a grant with dots.
func (f *figure) words() {
	row := f.row
	for i, e := range f.events {
		if e.Detail {
			continue
		}
		x := f.x[i]
		if c := row(e.Client); c != nil && e.Kind == narrative.EventGranted {
			for _, m := range e.Yes {
				if l := row(m); l != nil {
					fmt.Fprintf(f, `<circle class="yes" cx="%.1f" cy="%d" r="4"/>`+"\n", x, l.y+figureBar/2)
				}
			}
		}
		who := e.Masters
		switch {
		case e.AtStorage():
			if f.refusedToo(i) {
				continue
			}
			who = []string{storageLane}
		case len(who) == 0:
			who = []string{e.Client}
		}
		for _, name := range who {
			if l := row(name); l != nil && e.Word != "" {
				word := term.Printable(e.Word)
				if f.service.has(name) {
					if word = f.service.word(e.Masters, word); name != e.Masters[0] {
						continue
					}
				}
				if e.Kind == narrative.EventRejected {
					word = refusal(e)
				}
				half := float64(len([]rune(word))) * 3.2
				at := min(max(x, figureLeft+half), f.right-half)
				fmt.Fprintf(f, `<text class="word" x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", at, l.y-4, escape(word))
			}
		}
	}
}

// escape escapes text for XML and replaces control characters.
func escape(s string) string {
	var out bytes.Buffer
	_ = xml.EscapeText(&out, []byte(term.Printable(s)))
	return out.String()
}
