package story

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lockpick/checker/narrative"

	"lockpick/checker"
	"lockpick/reports/term"
)

// The measures of a card, in pixels: the size that other sites show of a page that is linked.
const (
	cardWidth  = 1200
	cardHeight = 630
	cardMargin = 48
	cardText   = 80   // characters of a line of the sentence
	cardFigure = 1104 // width of the lifelines
	cardTop    = 196
)

// CardColumns is how many characters of a command fit into a line of a card; there is room for two lines.
const CardColumns = 112

// serviceLane names the lifeline of all masters together.
const serviceLane = "masters"

// cardStyle has the colours of a card, which has no style sheet but its own.
const cardStyle = `text{font-family:system-ui,sans-serif;fill:#1d2430}.number{fill:#e6e9ef}text.number{fill:#4b5361;font-weight:650}.proof{fill:#b3261e}text.proof{fill:#fff}` +
	`.name{font-weight:650;font-size:10px}.time,.word{fill:#4b5361}.word{paint-order:stroke;stroke:#fff;stroke-width:3px}text.owner{fill:#fff;font-weight:650}.guide{stroke:#e6e9ef}.life{stroke:#b6bdc9}` +
	`.down{stroke:#8a93a3;stroke-width:2;stroke-dasharray:2 4}.yes,.applied{fill:#1d2430;stroke:#fff;stroke-width:1.5}.other{fill:#5b6473}.stopped,.clock,.clash{fill:none;stroke:#6b5aa8;stroke-width:2}` +
	`.clock{stroke:#0f7f78;stroke-dasharray:4 2}.clash{stroke:#b3261e;stroke-width:2.5}.inside{fill:#1d2430}.write{stroke:#4b5361;stroke-dasharray:3 3}.refused{stroke:#b3261e;stroke-width:2.5;fill:none}` +
	`.client-0{fill:#2a5fa8}.client-1{fill:#a34f00}`

// Caption is what a card says about the run.
type Caption struct {
	Inherent bool   // the violation is inherent: the lock is not to blame
	Quorum   int    // 0: more than half of the masters
	Run      string // what was run
	Command  string // what repeats it
}

// Card draws a violation as a picture to share: the verdict, a lifeline for each of the two clients, for the lock
// service and for the storage, one sentence, and the command that repeats the run.
func Card(v *narrative.Violation, c Caption) string {
	var out bytes.Buffer
	line := func(y, size int, weight, fill, text string) {
		fmt.Fprintf(&out, `<text x="%d" y="%d" font-size="%d" font-weight="%s" style="fill:%s">%s</text>`+"\n", cardMargin, y, size, weight, fill, escape(text))
	}
	tone := "#b3261e"
	if c.Inherent {
		tone = "#8a5a00"
	}
	title := v.Level + " " + checker.TitleOf(v.Property)
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n", cardWidth, cardHeight, cardWidth, cardHeight)
	fmt.Fprintf(&out, "<title>%s</title>\n<style>%s</style>\n", escape("VIOLATED "+title+": "+v.Summary), cardStyle)
	fmt.Fprintf(&out, `<rect width="100%%" height="100%%" fill="#ffffff"/><rect width="100%%" height="12" fill="%s"/>`+"\n", tone)
	head := "✕ VIOLATED  " + term.Printable(title)
	line(74, min(40, cardFigure*100/(62*utf8.RuneCountInString(head))), "800", tone, head) // a bold letter is 0.62 of its size wide
	sentence := term.Lines(term.Printable(v.Summary), cardText)
	for i, text := range sentence[:min(2, len(sentence))] {
		line(116+i*30, 23, "500", "#1d2430", text)
	}
	out.WriteString(cardLifelines(v, c.Quorum))
	line(cardHeight-30, 16, "400", "#4b5361", term.Cut(c.Run, CardColumns))
	command := term.Lines(term.Printable("$ "+c.Command), CardColumns)
	command = command[:min(2, len(command))]
	for i, text := range command {
		fmt.Fprintf(&out, `<text x="%d" y="%d" font-size="16" style="font-family:ui-monospace,monospace">%s</text>`+"\n", cardMargin, cardHeight-58-20*(len(command)-1-i), escape(text))
	}
	out.WriteString("</svg>\n")
	return out.String()
}

// cardLifelines draws the figure of a violation with one row for all masters, as a picture within another one.
func cardLifelines(v *narrative.Violation, quorum int) string {
	f := newFigure(v, v.Clients)
	f.service = &service{quorum: quorum}
	if f.cast(); f.steps == 0 || len(f.rows) == 0 {
		return ""
	}
	f.draw()
	return fmt.Sprintf(`<svg x="%d" y="%d" width="%d" height="%d" viewBox="0 0 %d %d" font-size="11" preserveAspectRatio="xMidYMin meet">`+"\n%s</svg>\n",
		cardMargin, cardTop-30, cardFigure, cardHeight-cardTop-60, figureWidth, f.height()+8, f.String())
}

// service is the lock service: all masters together.
type service struct {
	masters []string
	quorum  int // 0: more than half of the masters
}

// at returns three characters of the service's lifeline: the sign of the token that a quorum of masters stores.
func (s *service) at(state *snapshot, t time.Duration) [3]rune {
	bar, quorum := [3]rune{' ', '|', ' '}, s.quorum
	if quorum == 0 {
		quorum = len(s.masters)/2 + 1
	}
	n := map[rune]int{}
	for _, m := range s.masters {
		sign := state.master(m, t)[1]
		if n[sign]++; sign != '|' && sign != '.' && n[sign] >= quorum {
			bar[1] = sign
		}
	}
	return bar
}

// word returns the word of a step at the lock service, with the masters that it is about if they are few.
func (s *service) word(masters []string, word string) string {
	if len(masters) > 2 {
		return word
	}
	return strings.Join(masters, ", ") + " " + word
}

// has reports whether a name is one of the masters.
func (s *service) has(name string) bool { return s != nil && slices.Contains(s.masters, name) }
