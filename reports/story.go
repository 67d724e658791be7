package reports

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"lockpick/checker"
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

// Story writes the narrative of a violation, step by step, for people: what each client asked,
// how the masters answered, what faults did to them, and what the clients relied on. The steps
// have the numbers that they have in the diagram of SpaceTime. The error is w's.
func Story(w io.Writer, v *checker.Violation, opt StoryOptions) error {
	return print(w, "story", prose(v, opt.width()))
}

// SpaceTime draws the narrative of a violation: a column for each client and master that took
// part, time from top to bottom. It is empty where a violation has no events. The error is w's.
func SpaceTime(w io.Writer, v *checker.Violation, opt StoryOptions) error {
	return print(w, "space-time diagram", diagram(v, opt.width()))
}

func print(w io.Writer, what, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("reports: write the %s: %w", what, err)
	}
	return nil
}

// step is what a line of the story and a row of the diagram tell: an event, or several of one
// time that belong together.
type step struct {
	at     time.Duration
	events []*checker.Event
}

// stepsOf puts events together into steps: the answers that a client had and what it concluded
// from them at once, and what follows from the events before. conclusion is the last event,
// which says what is wrong; nil: there is none.
func stepsOf(v *checker.Violation) (steps []step, conclusion *checker.Event) {
	for i := range v.Events {
		e := &v.Events[i]
		if e.Kind == checker.EventViolated {
			conclusion = e
			continue
		}
		if n := len(steps); n > 0 && steps[n-1].takes(e) {
			steps[n-1].events = append(steps[n-1].events, e)
			continue
		}
		steps = append(steps, step{e.At, []*checker.Event{e}})
	}
	return steps, conclusion
}

func (s *step) takes(e *checker.Event) bool {
	first := s.events[0]
	switch {
	case e.Kind == checker.EventNote:
		return true
	case e.At != s.at || first.Kind != checker.EventAnswered || e.Client != first.Client:
		return false
	}
	switch e.Kind {
	case checker.EventGranted, checker.EventExtended, checker.EventRefused, checker.EventEntered:
		return true
	}
	return false
}

// text is the step in sentences, on one line.
func (s *step) text() string {
	var all []string
	for _, e := range s.events {
		all = append(all, e.Sentence())
	}
	return strings.Join(strings.Fields(strings.Join(all, " ")), " ")
}

// prose is the narrative as text. A violation without events is told by its reason.
func prose(v *checker.Violation, width int) string {
	var b bytes.Buffer
	steps, conclusion := stepsOf(v)
	clock := clockWidth(steps)
	paragraph := func(indent, text string) {
		for i, line := range wrap(printable(text), width-len(indent)) {
			if i > 0 {
				indent = strings.Repeat(" ", len(indent))
			}
			fmt.Fprintf(&b, "%s%s\n", indent, line)
		}
	}
	paragraph(v.Level+"  ", v.Summary)
	b.WriteByte('\n')
	if len(v.Events) == 0 {
		for i, text := range v.Reason {
			paragraph(fmt.Sprintf("%3d  ", i+1), text)
		}
	}
	for i := range steps {
		paragraph(fmt.Sprintf("%3d  %*s  ", i+1, clock, instant(steps[i].at)), steps[i].text())
	}
	if conclusion != nil {
		paragraph(strings.Repeat(" ", clock+7), conclusion.Sentence())
	}
	return b.String()
}

// clockWidth is how many columns the times of the steps take.
func clockWidth(steps []step) int {
	width := 0
	for i := range steps {
		width = max(width, len(instant(steps[i].at)))
	}
	return width
}

// storyStep is a step of the page's story.
type storyStep struct{ When, What string }

// storyOf returns the story for the page.
func storyOf(v *checker.Violation) (story []storyStep, conclusion string) {
	steps, last := stepsOf(v)
	for i := range steps {
		story = append(story, storyStep{moment(steps[i].at), steps[i].text()})
	}
	if last != nil {
		conclusion = last.Sentence()
	}
	return story, conclusion
}
