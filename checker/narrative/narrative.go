package narrative

import (
	"cmp"
	"slices"
	"time"

	"lockpick/checker/facts"
	"lockpick/history"
	"lockpick/history/fault"
)

// Narrative collects the events of one violation. Events may be added in any order and more
// than once.
type Narrative struct {
	r         *facts.Run
	Violation *Violation
	scope     Scope
	from      time.Duration // details before this time are left out
	events    []placed
	faults    map[int]bool // the faults that are part of the reason
	aside     bool         // put marks every event as a detail
}

// placed is an event with its position among the events of one time.
type placed struct {
	Event
	order int            // twice the index of the event's line; one less than that puts it before the line
	ask   *facts.Request // the request, for EventAsked and EventAnswered
	rests []int          // the lines of the votes on which a grant or an extension rests
	says  string         // what the text says of the masters with which it begins, if the event joins with its like
}

// Scope says what a narrative is about.
type Scope struct {
	Title    string // the violated property in words
	Sections bool   // the narrative also has the critical sections of its leases
	Effects  bool   // the first late write under its leases is part of the reason
	Writes   bool   // it is about writes, and tells those that matter itself
}

// New begins the narrative of a violation.
func New(r *facts.Run, v *Violation, about Scope) *Narrative {
	return &Narrative{r: r, Violation: v, scope: about, from: v.At, faults: map[int]bool{}}
}

// Among events of one time, causes precede effects. An event that a line of the history shows has
// the line's position; AddAt puts other events before or after all lines of their time.
const (
	beforeLines = iota - 1 // for events caused by the passing of time
	AfterLines             // for a command that was sent: its cause came before it
)

// Add adds an event that lines of the history show, at the position of the first line.
func (n *Narrative) Add(e Event) { n.addSaying(e, "") }

// addSaying adds an event that lines of the history show, and that joins with others that say the same of masters.
func (n *Narrative) addSaying(e Event, says string) {
	n.put(placed{Event: e, order: 2 * e.Ops[0], says: says})
}

// addResting adds a grant or an extension, and the requests that got the votes on which it rests, as details:
// who is named as a voter has said yes in the narrative.
func (n *Narrative) addResting(e Event, votes []history.Vote) {
	latest := map[string]history.Vote{}
	for _, v := range votes {
		if x, known := latest[v.Master]; !known || facts.ByArrival(x, v) < 0 {
			latest[v.Master] = v
		}
	}
	p := placed{Event: e, order: 2 * e.Ops[0]}
	for _, m := range e.Yes {
		p.rests = append(p.rests, latest[m].Index)
		n.Request(n.r.RequestOf(latest[m]), true)
	}
	n.put(p)
}

// AddAt adds an event that no line shows, before or after the lines of its time.
func (n *Narrative) AddAt(where int, e Event) { n.addAtSaying(where, e, "") }

func (n *Narrative) addAtSaying(where int, e Event, says string) {
	i := n.r.History.Before(e.At)
	if where == AfterLines {
		i = n.r.History.Before(e.At + 1)
	}
	n.put(placed{Event: e, order: 2*i - 1, says: says})
}

// once lists the kinds of events that happen at most once at one time to one lease.
var once = []EventKind{EventEnded, EventReleased, EventEntered, EventLeft, EventCrashed, EventPaused, EventResumed}

// put adds an event. If the narrative already has the event, put merges the two.
func (n *Narrative) put(e placed) {
	e.Detail = e.Detail || n.aside
	for i := range n.events {
		x := &n.events[i]
		switch {
		case x.At != e.At || x.Kind != e.Kind:
		case e.Kind == EventFault && x.Fault == e.Fault:
			x.Detail = x.Detail && e.Detail
			x.Masters = facts.Distinct(slices.Concat(x.Masters, e.Masters))
			for _, f := range n.r.Faults {
				if f.ID == e.Fault {
					x.Text = n.struck(f, x.Masters)
				}
			}
			return
		case e.Kind == EventUp && slices.Equal(x.Masters, e.Masters):
			if x.Detail && !e.Detail {
				*x = e
			}
			return
		case x.Client == e.Client && x.Token == e.Token && slices.Contains(once, e.Kind):
			x.Detail = x.Detail && e.Detail
			if len(e.Text) > len(x.Text) { // the longer text has more facts
				x.Text = e.Text
			}
			return
		case x.Text == e.Text:
			x.Detail = x.Detail && e.Detail
			return
		}
	}
	n.events = append(n.events, e)
}

// Note adds a conclusion from events up to a time.
func (n *Narrative) Note(at time.Duration, text string) {
	n.AddAt(AfterLines, Event{At: at, Kind: EventNote, Text: text})
}

// Unexplained adds a step that no recorded event explains.
func (n *Narrative) Unexplained(e Event) {
	e.Kind, e.Word = EventUnexplained, "why?"
	n.AddAt(beforeLines, e)
}

// Violated ends the narrative and stores it in the violation. text describes the violation; the property is added.
func (n *Narrative) Violated(text string) {
	text += ": this violates " + n.Violation.Level + ", " + n.scope.Title
	n.causesFirst()
	n.explainLosses()
	n.silentFaults()
	n.sort()
	n.trim()
	n.join()
	n.Violation.Events = make([]Event, 0, len(n.events)+1)
	for i := range n.events {
		n.Violation.Events = append(n.Violation.Events, n.events[i].Event)
	}
	n.Violation.Events = append(n.Violation.Events, Event{At: n.Violation.At, Kind: EventViolated, Text: text, Key: n.Violation.Key, Until: n.Violation.Until, Ops: n.Violation.Ops})
	for id := range n.faults {
		if !slices.Contains(n.Violation.Faults, id) {
			n.Violation.Faults = append(n.Violation.Faults, id)
		}
	}
	slices.Sort(n.Violation.Faults)
	n.Violation.Reason = n.Violation.Steps()
}

// sort puts the events in order.
func (n *Narrative) sort() {
	slices.SortStableFunc(n.events, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.order, b.order), cmp.Compare(rank(&a), rank(&b)))
	})
}

// causesFirst puts the answers that a client received before the client's grant or refusal at the
// same time, and a fault of a client's clock before its effect on a lease: a recorder may learn of
// an answer after the lock did, and of a fault after it took effect.
func (n *Narrative) causesFirst() {
	for _, g := range n.events {
		if g.Kind == EventSkewed { // a fault is recorded once it is installed, after its first effects
			for i := range n.events {
				if e := &n.events[i]; e.Kind == EventFault && e.At == g.At && e.order > g.order {
					e.order = g.order - 1
				}
			}
		}
		if g.Kind != EventGranted && g.Kind != EventExtended && g.Kind != EventRefused {
			continue
		}
		for i := range n.events {
			e := &n.events[i]
			if e.Kind == EventAnswered && e.At == g.At && e.Client == g.Client && (g.Token == "" || e.Token == g.Token) && e.order > g.order {
				e.order = g.order - 1
			}
		}
	}
}

// rank orders events of one time and position.
func rank(e *placed) int {
	switch e.Kind {
	case EventFault, EventDown, EventElected:
		return 0
	case EventLost, EventUnexplained:
		return 1
	case EventAsked:
		return 3
	}
	return 2
}

// trim removes the details before the first event that explains the violation, and after the
// violation, except the votes on which other events rest.
func (n *Narrative) trim() {
	last, ended := 0, false
	for _, i := range n.Violation.Ops {
		last = max(last, 2*i)
	}
	byLoss := map[int]bool{} // lines of the answers that show a loss
	for _, e := range n.events {
		if e.Kind == EventLost {
			for _, i := range e.Ops {
				byLoss[i] = true
			}
		}
	}
	rests := map[int]bool{}
	trimmed := map[int]bool{} // positions of events
	for i, e := range n.events {
		if trimmed[i] = n.trims(&e, last, &ended); !trimmed[i] {
			for _, line := range e.rests {
				rests[line] = true
			}
		}
	}
	var shown []placed
	for i, e := range n.events {
		if e.Kind == EventAnswered && byLoss[e.Ops[0]] && len(e.Yes) > 0 && e.Command == history.CommandRelease {
			continue // the event of the loss already says so
		}
		if !trimmed[i] || slices.ContainsFunc(e.Ops, func(line int) bool { return rests[line] }) {
			shown = append(shown, e)
		}
	}
	n.events = shown
}

// trims reports whether an event is a detail out of the time of the narrative. last is the order of
// the violation's last line, and ended whether the event with which the violation ends was found.
func (n *Narrative) trims(e *placed, last int, ended *bool) bool {
	if !e.Detail || slices.ContainsFunc(e.Ops, func(i int) bool { return slices.Contains(n.Violation.Ops, i) }) {
		return false
	}
	switch {
	case e.At < n.from || e.At > n.Violation.Until:
		return true
	case e.At < n.Violation.Until || e.AtStorage():
		return false
	case n.Violation.At == n.Violation.Until:
		return e.order > last
	case slices.Contains(once, e.Kind) && !*ended: // the violation ends with it
		*ended = true
		return false
	}
	return true
}

// join merges consecutive answers to one request into one event, likewise masters that were up
// again at one time, and masters that lost a key at one time for the same reason.
func (n *Narrative) join() {
	var joined []placed
	for _, e := range n.events {
		if i := len(joined); i > 0 && e.Kind == EventAnswered && joined[i-1].answeredWith(&e) {
			last := &joined[i-1]
			last.At = e.At
			for _, masters := range [][2]*[]string{{&last.Yes, &e.Yes}, {&last.No, &e.No}, {&last.Failed, &e.Failed}, {&last.Silent, &e.Silent}} {
				*masters[0] = facts.Distinct(append(*masters[0], *masters[1]...))
			}
			last.Ops = append(last.Ops, e.Ops...)
			last.Detail = last.Detail && e.Detail
			continue
		}
		if i := len(joined); i > 0 && e.Kind == EventUp && joined[i-1].Kind == EventUp && e.At-joined[i-1].At <= facts.Moment && e.Detail == joined[i-1].Detail && e.Token == joined[i-1].Token {
			if last := &joined[i-1]; last.says == e.says {
				last.Masters = facts.Distinct(append(last.Masters, e.Masters...))
				last.Ops = append(last.Ops, e.Ops...)
				last.Text = fault.Enumerate(last.Masters) + " were " + last.says
				continue
			}
		}
		if i := len(joined); i > 0 && e.Kind == EventLost && joined[i-1].Kind == EventLost && e.At-joined[i-1].At <= facts.Moment && e.Cause == joined[i-1].Cause && e.Token == joined[i-1].Token {
			if last := &joined[i-1]; e.says != "" && last.says == e.says {
				last.At = e.At
				last.Masters = facts.Distinct(append(last.Masters, e.Masters...))
				last.Ops = append(last.Ops, e.Ops...)
				last.Detail = last.Detail && e.Detail
				last.Text = fault.Enumerate(last.Masters) + " " + last.says
				continue
			}
		}
		joined = append(joined, e)
	}
	for i := range joined {
		if e := &joined[i]; e.Kind == EventAnswered {
			e.Text = n.answers(e)
		}
	}
	n.events = joined
}

// answeredWith reports whether the next answer belongs to the same request and moment. Silence is
// not merged with answers, since it is known only when the client gives up.
func (e *placed) answeredWith(next *placed) bool {
	return e.Kind == EventAnswered && e.ask == next.ask && next.At-e.At <= facts.Moment && (len(e.Silent) > 0) == (len(next.Silent) > 0)
}
