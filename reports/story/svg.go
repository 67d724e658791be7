package story

import (
	"bytes"
	"fmt"
	"slices"

	"lockpick/checker/narrative"

	"lockpick/checker"
	"lockpick/reports/term"
)

// The measures of the picture, in its own units (pixels at 100 %).
const (
	svgLeft    = 90  // left edge of the lifelines; step numbers and times are left of it
	svgColumn  = 84  // distance between lifelines
	svgText    = 66  // characters per line of the story, which is on the right
	svgBold    = 58  // the same of its bold end
	svgLetter  = 7.7 // width of a character of the story: of a digit where the letters are wide
	svgLine    = 16  // height of a line of the story
	svgTop     = 64
	svgLeastUp = 30 // minimum height of a step
)

// svgLeases are the styles of the conflicting leases, one for each of fills. Colour-blind readers can tell these
// colours apart, and the outlines differ too.
var svgLeases = []struct{ fill, dash string }{{"#3b6fb6", ""}, {"#e0a100", "3 2"}, {"#2f8f6b", "7 2"}, {"#a04c9a", "1 2"}, {"#8a5a3c", "7 2 1 2"}}

// svgPicture is a picture under construction.
type svgPicture struct {
	bytes.Buffer
	d     *drawing
	at    map[string]int // x of each lifeline by name
	names []string
}

// SVG draws a violation as a picture for slides: a lifeline for each client and master, time from top to bottom but
// not to scale, and beside each step its sentences. Bars on lifelines show the leases that a client
// may rely on and the tokens that a master stores.
func SVG(v *narrative.Violation) string {
	d, conclusion := newDrawing(v)
	steps := d.steps
	p := &svgPicture{d: d, at: map[string]int{}}
	p.names = p.d.leftToRight()
	for i, name := range p.names {
		p.at[name] = svgLeft + svgColumn/2 + i*svgColumn
	}
	right := svgLeft + len(p.names)*svgColumn + 16
	var body bytes.Buffer
	y := svgTop
	for i := range steps {
		lines := term.Lines(steps[i].text(), svgText)
		height := max(svgLeastUp, len(lines)*svgLine+12)
		for _, e := range steps[i].events {
			p.d.state.apply(e)
		}
		p.step(i, &steps[i], y, height)
		for j, l := range lines {
			fmt.Fprintf(&body, `<text x="%d" y="%d">%s</text>`+"\n", right, y+4+j*svgLine, escape(l))
		}
		y += height
	}
	if conclusion != nil {
		lines := term.Lines("✕ "+conclusion.Sentence(), svgBold)
		for j, l := range lines {
			fmt.Fprintf(&body, `<text x="%d" y="%d" font-weight="bold">%s</text>`+"\n", right, y+4+j*svgLine, escape(l))
		}
		y += max(2, len(lines)) * svgLine
	}
	width := float64(right) + svgText*svgLetter + 16
	key, rows := p.key(width, y+20)
	height := y + 16*(1+rows)
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" width="%.0f" height="%d" role="img" font-family="system-ui, sans-serif" font-size="12" fill="#1d2430">`+"\n", width, height, width, height)
	fmt.Fprintf(&out, "<title>%s</title>\n", escape(v.Level+" "+checker.TitleOf(v.Property)+" violated: "+v.Summary))
	fmt.Fprintf(&out, `<rect width="100%%" height="100%%" fill="#ffffff"/>`+"\n")
	fmt.Fprintf(&out, `<text x="16" y="22" font-size="14" font-weight="bold">%s</text>`+"\n", escape(v.Level+" "+checker.TitleOf(v.Property)+" violated"))
	for _, name := range p.names {
		fmt.Fprintf(&out, `<text x="%d" y="%d" text-anchor="middle" font-weight="bold">%s</text>`+"\n", p.at[name], svgTop-18, escape(term.Cut(term.Printable(name), 12)))
		fmt.Fprintf(&out, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#b6bdc9"/>`+"\n", p.at[name], svgTop-10, p.at[name], y)
	}
	out.Write(p.Bytes())
	out.Write(body.Bytes())
	out.WriteString(key)
	out.WriteString("</svg>\n")
	return out.String()
}

// step draws a step: its number and time, the bars down to the next step, the arrows, and the
// words.
func (p *svgPicture) step(i int, s *step, y, height int) {
	fmt.Fprintf(p, `<text x="16" y="%d" fill="#5b6473">%d</text><text x="%d" y="%d" text-anchor="end" fill="#5b6473">%s</text>`+"\n",
		y+4, i+1, svgLeft-8, y+4, escape(term.Instant(s.at)))
	for _, name := range p.names {
		p.bar(name, s, y, height)
	}
	marks, sent := s.marks()
	words, room := map[string]string{}, map[string]int{}
	for _, m := range marks {
		if _, known := p.at[m.who]; known && m.word != "" {
			words[m.who] = term.Cut(term.Printable(m.word), 12)
			room[m.who] = int(float64(len([]rune(words[m.who])))*6.4+8) / 2
		}
	}
	if sent != nil {
		for _, m := range sent.masters {
			p.arrow(sent, m, y, room)
		}
	}
	for _, name := range p.names {
		if word := words[name]; word != "" {
			fmt.Fprintf(p, `<rect x="%d" y="%d" width="%d" height="16" rx="3" fill="#ffffff" stroke="#8a93a3"/><text x="%d" y="%d" text-anchor="middle" font-size="11">%s</text>`+"\n",
				p.at[name]-room[name], y-8, 2*room[name], p.at[name], y+4, escape(word))
		}
	}
}

// bar draws the state of one lifeline from a step to the next one.
func (p *svgPicture) bar(name string, s *step, y, height int) {
	x := p.at[name]
	sign := p.d.state.lane(name, slices.Contains(p.d.clients, name), s.at)
	for i, f := range fills {
		if sign[1] == f {
			l := svgLeases[i]
			fmt.Fprintf(p, `<rect x="%d" y="%d" width="10" height="%d" fill="%s" fill-opacity="0.75"/><path d="M%d %dv%dm10 0v-%d" stroke="#1d2430" stroke-dasharray="%s" fill="none"/>`+"\n",
				x-5, y, height, l.fill, x-5, y, height, height, l.dash)
		}
	}
	switch {
	case sign[1] == ':':
		fmt.Fprintf(p, `<rect x="%d" y="%d" width="10" height="%d" fill="#c9ced8"/>`+"\n", x-5, y, height)
	case sign[1] == '.':
		fmt.Fprintf(p, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#ffffff" stroke-width="3"/><line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#8a93a3" stroke-dasharray="2 4"/>`+"\n", x, y, x, y+height, x, y, x, y+height)
	}
	switch sign[0] {
	case 'z', '~', '!':
		colour := map[rune]string{'z': "#6b5aa8", '~': "#0f7f78", '!': "#b3261e"}[sign[0]]
		fmt.Fprintf(p, `<path d="M%d %dv%dM%d %dv%d" stroke="%s" stroke-width="2" fill="none"/>`+"\n", x-9, y, height, x+9, y, height, colour)
	}
}

// arrow draws a command or its reply, up to the word at its end. A lost message ends in a cross: a
// lost command just before the master, a lost reply just after it.
func (p *svgPicture) arrow(sent *arrow, master string, y int, room map[string]int) {
	from, okFrom := p.at[sent.client]
	to, okTo := p.at[master]
	if !okFrom || !okTo {
		return
	}
	end := master
	if sent.back {
		from, to, end = to, from, sent.client
	}
	way := 1
	if to < from {
		way = -1
	}
	if !slices.Contains(sent.lost, master) {
		to -= way * room[end]
		fmt.Fprintf(p, `<path d="M%d %dH%d" stroke="#1d2430" fill="none"/><path d="M%d %dl%d -4v8z" fill="#1d2430"/>`+"\n", from, y, to, to, y, -6*way)
		return
	}
	to -= way * (room[end] + 14)
	if sent.back {
		to = from + way*(room[master]+14)
	}
	fmt.Fprintf(p, `<path d="M%d %dH%d" stroke="#1d2430" fill="none" stroke-dasharray="4 3"/>`+"\n", from, y, to)
	fmt.Fprintf(p, `<path d="M%d %dl8 8m0 -8l-8 8" stroke="#b3261e" stroke-width="2"/>`+"\n", to-4, y-4)
}

// key explains the bars, in as many rows as the width needs, but at least one. y is the place of the first.
func (p *svgPicture) key(width float64, y int) (key string, rows int) {
	var out bytes.Buffer
	x := 16
	rows = 1
	for i, l := range svgLeases {
		if i >= len(p.d.v.Clients) || i >= len(p.d.v.Tokens) || !p.used(fills[i]) {
			continue
		}
		says := "the lease of " + p.d.v.Clients[i] + ", and its token on masters"
		if p.d.storage {
			says += ", or its write in the storage"
		}
		wide := 40 + int(float64(len(says))*svgLetter)
		if x > 16 && float64(x+wide) > width {
			x, y, rows = 16, y+16, rows+1
		}
		fmt.Fprintf(&out, `<rect x="%d" y="%d" width="10" height="10" fill="%s" fill-opacity="0.75" stroke="#1d2430" stroke-dasharray="%s"/><text x="%d" y="%d">%s</text>`+"\n",
			x, y-9, l.fill, l.dash, x+16, y, escape(term.Printable(says)))
		x += wide
	}
	return out.String(), rows
}

// used reports whether the picture has bars of a lease.
func (p *svgPicture) used(fill rune) bool {
	return bytes.Contains(p.Bytes(), []byte(`fill="`+svgLeases[slices.Index(fills, fill)].fill+`"`))
}
