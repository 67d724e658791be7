package reports

import (
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"strings"

	"lockpick/audit"
)

// scoreboardTemplate renders the page of a scoreboard: the locks by level, the situations by lock,
// and the broken properties with their reasons.
var scoreboardTemplate = template.Must(template.New("scoreboard.html").Funcs(template.FuncMap{
	"words": words, "level": levelMark, "slug": func(o audit.Outcome) string { return slug(string(o)) }, "plural": plural, "foundIn": foundIn,
}).ParseFS(pageFiles, "page/scoreboard.html", headFile))

type scoreboardPage struct {
	Style  template.CSS
	Policy string
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
	style, script, err := assetsOf([]string{"page", "claims", "audit", "scoreboard"}, nil)
	if err != nil {
		return err
	}
	p := &scoreboardPage{Style: template.CSS(style), Policy: policy(style, script), board: newBoard(b), Intro: strings.ReplaceAll(boardIntro(b), "`", ""), cards: map[string]string{}}
	for _, e := range b.Entries {
		if e.Card == nil {
			continue
		}
		if to, err := filepath.Rel(dir, filepath.Join(e.Card.Folder, "index.html")); err == nil {
			p.cards[e.Name] = filepath.ToSlash(to)
		}
	}
	if err := scoreboardTemplate.Execute(w, p); err != nil {
		return fmt.Errorf("reports: write the page of the scoreboard: %w", err)
	}
	return nil
}
