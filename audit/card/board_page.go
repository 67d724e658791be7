package card

import (
	"html/template"
	"io"
	"path/filepath"
	"strings"

	"lockpick/audit"
	"lockpick/reports/web"
)

// boardPage is the page of a scoreboard: the locks by level, the situations by lock,
// and the broken properties with their reasons.
var boardPage = web.New(web.Page{
	Files: pageFiles, Name: "scoreboard", Styles: []string{"matrix", "audit", "scoreboard"}, Funcs: template.FuncMap{"foundIn": foundIn},
})

type scoreboardPage struct {
	web.Frame
	*board
	Intro string
	cards map[string]string
}

// Href returns the address of a lock's card, or "".
func (p *scoreboardPage) Href(name string) string { return p.cards[name] }

// ScoreboardFile is the file name of the page in a store.
const ScoreboardFile = "scoreboard.html"

// ScoreboardPage writes the page of a scoreboard. The page loads nothing. Its links lead to the
// pages of the cards, relative to dir, the folder that the page is written into.
func ScoreboardPage(w io.Writer, dir string, b *audit.Scoreboard) error {
	p := &scoreboardPage{board: newBoard(b), Intro: strings.ReplaceAll(boardIntro(b), "`", ""), cards: map[string]string{}}
	for _, e := range b.Entries {
		if e.Card == nil {
			continue
		}
		if to, err := filepath.Rel(dir, filepath.Join(e.Card.Folder, "index.html")); err == nil {
			p.cards[e.Name] = filepath.ToSlash(to)
		}
	}
	return boardPage.Write(w, p)
}
