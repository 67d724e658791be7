package story

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/reports/term"
)

// Mermaid returns a violation as a sequence diagram for Markdown pages. Participants get aliases (p1, p2, …) and
// their real names as labels, so that no name can break the syntax.
func Mermaid(v *narrative.Violation) string {
	d, conclusion := newDrawing(v)
	var out bytes.Buffer
	alias := map[string]string{}
	fmt.Fprintf(&out, "sequenceDiagram\n")
	for _, name := range d.leftToRight() {
		alias[name] = fmt.Sprintf("p%d", len(alias)+1)
		kind := "participant"
		if slices.Contains(d.clients, name) {
			kind = "actor"
		}
		fmt.Fprintf(&out, "    %s %s as %s\n", kind, alias[name], mermaidText(name))
	}
	everybody := "p1"
	if all := len(alias); all > 1 {
		everybody += fmt.Sprintf(",p%d", all)
	}
	for _, s := range d.steps {
		for _, e := range s.events {
			mermaidEvent(&out, e, alias, everybody)
		}
	}
	if conclusion != nil {
		fmt.Fprintf(&out, "    Note over %s: ✕ %s\n", everybody, mermaidText(conclusion.Sentence()))
	}
	return out.String()
}

// mermaidEvent writes one event: arrows for messages, a note for anything else.
func mermaidEvent(out *bytes.Buffer, e *narrative.Event, alias map[string]string, everybody string) {
	from := alias[e.Client]
	switch e.Kind {
	case narrative.EventAsked:
		for _, m := range e.Masters {
			arrow := "->>"
			if slices.Contains(e.Cut, m) {
				arrow = "-x"
			}
			fmt.Fprintf(out, "    %s%s%s: %s %s\n", from, arrow, alias[m], mermaidText(commandWord(e.Command)), mermaidText(e.Key))
		}
		return
	case narrative.EventAnswered:
		for _, answer := range []struct {
			masters     []string
			arrow, word string
		}{{e.Yes, "-->>", "yes"}, {e.No, "-->>", "no"}, {e.Failed, "-->>", "error"}, {e.Silent, "--x", "no answer"}} {
			for _, m := range answer.masters {
				fmt.Fprintf(out, "    %s%s%s: %s\n", alias[m], answer.arrow, from, answer.word)
			}
		}
		return
	}
	if storage := alias[storageLane]; e.AtStorage() && from != "" {
		switch e.Kind {
		case narrative.EventRead:
			fmt.Fprintf(out, "    %s->>%s: read\n    %s-->>%s: %d\n", from, storage, storage, from, e.Value)
		case narrative.EventMarked:
			fmt.Fprintf(out, "    %s->>%s: its token\n", from, storage)
		case narrative.EventApplied:
			fmt.Fprintf(out, "    %s->>%s: write %d\n    %s-->>%s: applied\n", from, storage, e.Value, storage, from)
		case narrative.EventRejected:
			fmt.Fprintf(out, "    %s-x%s: write %d\n    %s-->>%s: %s\n", from, storage, e.Value, storage, from, mermaidText(refusal(e)))
		}
		from = storage
	}
	over := from
	if len(e.Masters) > 0 {
		over = alias[e.Masters[0]]
		if n := len(e.Masters); n > 1 {
			over += "," + alias[e.Masters[n-1]]
		}
	}
	if over == "" {
		over = everybody
	}
	fmt.Fprintf(out, "    Note over %s: %s %s\n", over, term.Instant(e.At), mermaidText(e.Sentence()))
}

// refusal says how the storage refused a write: by its fencing token, or by a mark.
func refusal(e *narrative.Event) string {
	if e.Fence != 0 {
		return "refused: token " + e.Word
	}
	return e.Word
}

// commandWord returns the name of a lock command in diagrams.
func commandWord(command string) string {
	if command == history.CommandSet {
		return "SET"
	}
	return command
}

// mermaidText encodes the characters that Mermaid would take for syntax as character codes.
func mermaidText(s string) string {
	var out strings.Builder
	for _, r := range term.Printable(s) {
		if strings.ContainsRune("#;<>&\"{}%", r) {
			fmt.Fprintf(&out, "#%d;", r)
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}
