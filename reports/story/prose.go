package story

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"lockpick/checker/narrative"
	"lockpick/reports/term"
)

// step is one line of the story and one row of the diagram: one event, or several that belong
// together.
type step struct {
	at     time.Duration
	events []*narrative.Event
}

// stepsOf groups events into steps: a client's replies of one time with its immediate conclusions,
// and notes with the event before them. conclusion is the event that states the violation; nil:
// there is none.
func stepsOf(v *narrative.Violation) (steps []step, conclusion *narrative.Event) {
	for i := range v.Events {
		e := &v.Events[i]
		if e.Kind == narrative.EventViolated {
			conclusion = e
			continue
		}
		if n := len(steps); n > 0 && steps[n-1].takes(e) {
			steps[n-1].events = append(steps[n-1].events, e)
			continue
		}
		steps = append(steps, step{e.At, []*narrative.Event{e}})
	}
	return steps, conclusion
}

func (s *step) takes(e *narrative.Event) bool {
	first := s.events[0]
	switch {
	case e.Kind == narrative.EventNote:
		return true
	case e.Kind == narrative.EventRejected && first.Kind == narrative.EventApplied: // one write, at the storage without a fence and at the one with it
		return e.At == s.at && e.Client == first.Client && e.Value == first.Value
	case e.At != s.at || first.Kind != narrative.EventAnswered || e.Client != first.Client:
		return false
	}
	switch e.Kind {
	case narrative.EventGranted, narrative.EventExtended, narrative.EventRefused, narrative.EventEntered:
		return true
	}
	return false
}

// text returns the sentences of the step on one line.
func (s *step) text() string {
	var all []string
	for _, e := range s.events {
		all = append(all, e.Sentence())
	}
	return strings.Join(strings.Fields(strings.Join(all, " ")), " ")
}

// Prose tells the narrative of a violation step by step, width columns wide: the clients' commands, the masters'
// replies, the effects of faults, and the leases that the clients relied on. The steps have the same numbers as in the
// diagram. If the violation has no events, Prose lists the steps of the reason.
func Prose(v *narrative.Violation, width int) string {
	var b bytes.Buffer
	steps, conclusion := stepsOf(v)
	clock := clockWidth(steps)
	paragraph := func(indent, text string) {
		for i, line := range term.Lines(term.Printable(text), width-len(indent)) {
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
		paragraph(fmt.Sprintf("%3d  %*s  ", i+1, clock, term.Instant(steps[i].at)), steps[i].text())
	}
	if conclusion != nil {
		paragraph(strings.Repeat(" ", clock+7), conclusion.Sentence())
	}
	return b.String()
}

// clockWidth returns the width of the longest time of the steps, in columns.
func clockWidth(steps []step) int {
	width := 0
	for i := range steps {
		width = max(width, len(term.Instant(steps[i].at)))
	}
	return width
}

// Step is a step of the story with its time.
type Step struct{ When, What string }

// Steps returns the steps of the story, and the sentence that states the violation.
func Steps(v *narrative.Violation) (story []Step, conclusion string) {
	steps, last := stepsOf(v)
	for i := range steps {
		story = append(story, Step{term.Moment(steps[i].at), steps[i].text()})
	}
	if last != nil {
		conclusion = last.Sentence()
	}
	return story, conclusion
}
