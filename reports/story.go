package reports

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"lockpick/checker"
	"lockpick/history"
)

// StoryOptions says how wide text may be.
type StoryOptions struct {
	Width int // columns; 0: 100, and never less than 60
}

func (o StoryOptions) width() int {
	if o.Width == 0 {
		return 100
	}
	return max(o.Width, 60)
}

// Story writes what led to a violation, step by step, for people: what each client
// asked, how the masters answered and why, what faults did to them, and what the
// clients believed. v must come from judging h. The steps have the numbers that they
// have in the diagram of SpaceTime. The error is w's.
func Story(w io.Writer, h *history.History, v *checker.Violation, opt StoryOptions) error {
	return print(w, "story", sceneOf(h, v).prose(opt.width()))
}

// SpaceTime draws the story of a violation: a column for each client and master that
// took part, time from top to bottom. The error is w's.
func SpaceTime(w io.Writer, h *history.History, v *checker.Violation, opt StoryOptions) error {
	return print(w, "space-time diagram", sceneOf(h, v).diagram(opt.width()))
}

func print(w io.Writer, what, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("reports: write the %s: %w", what, err)
	}
	return nil
}

func (s *scene) prose(width int) string {
	var b bytes.Buffer
	clock := 0
	for _, x := range s.steps {
		clock = max(clock, len(instant(x.at)))
	}
	paragraph := func(indent, text string) {
		for i, line := range wrap(printable(text), width-len(indent)) {
			if i > 0 {
				indent = strings.Repeat(" ", len(indent))
			}
			fmt.Fprintf(&b, "%s%s\n", indent, line)
		}
	}
	paragraph(s.v.Level+"  ", s.v.Summary)
	b.WriteByte('\n')
	for i, x := range s.steps {
		paragraph(fmt.Sprintf("%3d  %*s  ", i+1, clock, instant(x.at)), sentence(x.text))
	}
	paragraph(strings.Repeat(" ", clock+7), s.conclusion())
	return b.String()
}

// told is a step in words.
type told struct{ When, What string }

func (s *scene) told() []told {
	var all []told
	for _, x := range s.steps {
		all = append(all, told{moment(x.at), sentence(x.text)})
	}
	return all
}

// sentence is a text of which no line is empty, on one line.
func sentence(text string) string { return strings.Join(strings.Fields(text), " ") }
