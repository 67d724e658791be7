package reports

import (
	"encoding/base64"
	"html/template"
	"io"
	"path/filepath"
	"strings"

	"lockpick/campaign/scenario"
	"lockpick/reports/story"
)

// exportCard writes the card of a run's violation.
func exportCard(w io.Writer, x *Export) error {
	_, err := io.WriteString(w, cardOf(x))
	return err
}

// cardOf draws the card of a run's violation.
func cardOf(x *Export) string {
	return story.Card(x.Violation, story.Caption{Inherent: headlineOf(x.History, x.Result).Inherent, Quorum: x.History.Header.Quorum, Run: cardRun(x), Command: cardCommandOf(x)})
}

// cardRun says what was run.
func cardRun(x *Export) string {
	said := append([]string{"Lockpick", x.Result.Name}, texts(factsOf(x.History, x.Result))...)
	return strings.Join(said[:min(len(said), 8)], " · ")
}

// cardCommandOf returns the command that runs the scenario, by its flags if these fit, and otherwise by its file without
// the folders of this machine.
func cardCommandOf(x *Export) string {
	if s, err := scenario.Parse([]byte(x.History.Header.Scenario)); err == nil {
		s.Driver = x.History.Header.Driver
		if command := s.Command(); command != "" && len(command) < 2*story.CardColumns-10 {
			return command
		}
	}
	words := strings.Fields(x.Result.Command)
	for i, w := range words {
		words[i] = filepath.Base(w)
	}
	return strings.Join(words, " ")
}

// cardLink returns a card as a data address; empty: there is nothing to draw.
func cardLink(x *Export) template.URL {
	if x.Violation == nil || len(x.Violation.Events) == 0 {
		return ""
	}
	return template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(cardOf(x)))) // base64 needs no escaping
}
