package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockpick/history"
)

// narrative collects the events of one violation. Events may be added in any order and more
// than once.
type narrative struct {
	r      *run
	v      *Violation
	from   time.Duration // details before this time are left out
	events []placed
	faults map[int]bool // the faults that are part of the reason
	aside  bool         // put marks every event as a detail
}

// placed is an event with its position among the events of one time.
type placed struct {
	Event
	order int    // twice the index of the event's line; one less than that puts it before the line
	ask   *asked // the request, for EventAsked and EventAnswered
	rests []int  // the lines of the votes on which a grant or an extension rests
	says  string // what the text says of the masters with which it begins, if the event joins with its like
}

func (r *run) narrate(v *Violation) *narrative {
	return &narrative{r: r, v: v, from: v.At, faults: map[int]bool{}}
}

// Among events of one time, causes precede effects. An event that a line of the history shows has
// the line's position; addAt puts other events before or after all lines of their time.
const (
	beforeLines = iota - 1 // for events caused by the passing of time
	afterLines             // for a command that was sent: its cause came before it
)

// add adds an event that lines of the history show, at the position of the first line.
func (n *narrative) add(e Event) { n.addSaying(e, "") }

// addSaying adds an event that lines of the history show, and that joins with others that say the same of masters.
func (n *narrative) addSaying(e Event, says string) {
	n.put(placed{Event: e, order: 2 * e.Ops[0], says: says})
}

// addResting adds a grant or an extension, and the requests that got the votes on which it rests, as details:
// who is named as a voter has said yes in the narrative.
func (n *narrative) addResting(e Event, votes []history.Vote) {
	latest := map[string]history.Vote{}
	for _, v := range votes {
		if x, known := latest[v.Master]; !known || byAnswer(x, v) < 0 {
			latest[v.Master] = v
		}
	}
	p := placed{Event: e, order: 2 * e.Ops[0]}
	for _, m := range e.Yes {
		p.rests = append(p.rests, latest[m].Index)
		n.request(n.r.requestOf(latest[m]), true)
	}
	n.put(p)
}

// addAt adds an event that no line shows, before or after the lines of its time.
func (n *narrative) addAt(where int, e Event) { n.addAtSaying(where, e, "") }

func (n *narrative) addAtSaying(where int, e Event, says string) {
	i := n.r.h.Before(e.At)
	if where == afterLines {
		i = n.r.h.Before(e.At + 1)
	}
	n.put(placed{Event: e, order: 2*i - 1, says: says})
}

// once lists the kinds of events that happen at most once at one time to one lease.
var once = []EventKind{EventEnded, EventReleased, EventEntered, EventLeft, EventCrashed, EventPaused, EventResumed}

// put adds an event. If the narrative already has the event, put merges the two.
func (n *narrative) put(e placed) {
	e.Detail = e.Detail || n.aside
	for i := range n.events {
		x := &n.events[i]
		switch {
		case x.At != e.At || x.Kind != e.Kind:
		case e.Kind == EventFault && x.Fault == e.Fault:
			x.Detail = x.Detail && e.Detail
			x.Masters = set(slices.Concat(x.Masters, e.Masters))
			for _, f := range n.r.faults {
				if f.ID == e.Fault {
					x.Text = n.r.struck(f, x.Masters)
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

// note adds a conclusion from events up to a time.
func (n *narrative) note(at time.Duration, text string) {
	n.addAt(afterLines, Event{At: at, Kind: EventNote, Text: text})
}

// unexplained adds a step that no recorded event explains.
func (n *narrative) unexplained(e Event) {
	e.Kind, e.Word = EventUnexplained, "why?"
	n.addAt(beforeLines, e)
}

// violated ends the narrative and stores it in the violation. text describes the violation; the property is added.
func (n *narrative) violated(text string) {
	text += ": this violates " + n.v.Level + ", " + TitleOf(n.v.Property)
	n.causesFirst()
	n.explainLosses()
	n.silentFaults()
	n.sort()
	n.trim()
	n.join()
	n.v.Events = make([]Event, 0, len(n.events)+1)
	for i := range n.events {
		n.v.Events = append(n.v.Events, n.events[i].Event)
	}
	n.v.Events = append(n.v.Events, Event{At: n.v.At, Kind: EventViolated, Text: text, Key: n.v.Key, Until: n.v.Until, Ops: n.v.Ops})
	for id := range n.faults {
		if !slices.Contains(n.v.Faults, id) {
			n.v.Faults = append(n.v.Faults, id)
		}
	}
	slices.Sort(n.v.Faults)
	n.v.Reason = n.v.Steps()
}

// sort puts the events in order.
func (n *narrative) sort() {
	slices.SortStableFunc(n.events, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.order, b.order), cmp.Compare(rank(&a), rank(&b)))
	})
}

// causesFirst puts the answers that a client received before the client's grant or refusal at the
// same time, and a fault of a client's clock before its effect on a lease: a recorder may learn of
// an answer after the lock did, and of a fault after it took effect.
func (n *narrative) causesFirst() {
	for _, g := range n.events {
		if g.Kind == EventBent { // a fault is recorded once it is installed, after its first effects
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
	case EventFault, EventDown:
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
func (n *narrative) trim() {
	last, ended := 0, false
	for _, i := range n.v.Ops {
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
	var kept []placed
	for i, e := range n.events {
		if e.Kind == EventAnswered && byLoss[e.Ops[0]] && len(e.Yes) > 0 && e.Command == history.CommandRelease {
			continue // the event of the loss already says so
		}
		if !trimmed[i] || slices.ContainsFunc(e.Ops, func(line int) bool { return rests[line] }) {
			kept = append(kept, e)
		}
	}
	n.events = kept
}

// trims reports whether an event is a detail out of the time of the narrative. last is the order of
// the violation's last line, and ended whether the event with which the violation ends was found.
func (n *narrative) trims(e *placed, last int, ended *bool) bool {
	if !e.Detail || slices.ContainsFunc(e.Ops, func(i int) bool { return slices.Contains(n.v.Ops, i) }) {
		return false
	}
	switch {
	case e.At < n.from || e.At > n.v.Until:
		return true
	case e.At < n.v.Until || e.AtStorage():
		return false
	case n.v.At == n.v.Until:
		return e.order > last
	case slices.Contains(once, e.Kind) && !*ended: // the violation ends with it
		*ended = true
		return false
	}
	return true
}

// join merges consecutive answers to one request into one event, likewise masters that were up
// again at one time, and masters that lost a key at one time for the same reason.
func (n *narrative) join() {
	var joined []placed
	for _, e := range n.events {
		if i := len(joined); i > 0 && e.Kind == EventAnswered && joined[i-1].answeredWith(&e) {
			last := &joined[i-1]
			last.At = e.At
			last.Yes, last.No, last.Silent = set(append(last.Yes, e.Yes...)), set(append(last.No, e.No...)), set(append(last.Silent, e.Silent...))
			last.Ops = append(last.Ops, e.Ops...)
			last.Detail = last.Detail && e.Detail
			continue
		}
		if i := len(joined); i > 0 && e.Kind == EventUp && joined[i-1].Kind == EventUp && e.At-joined[i-1].At <= moment && e.Detail == joined[i-1].Detail && e.Token == joined[i-1].Token {
			if last := &joined[i-1]; last.says == e.says {
				last.Masters = set(append(last.Masters, e.Masters...))
				last.Ops = append(last.Ops, e.Ops...)
				last.Text = Enumerate(last.Masters) + " were " + last.says
				continue
			}
		}
		if i := len(joined); i > 0 && e.Kind == EventLost && joined[i-1].Kind == EventLost && e.At-joined[i-1].At <= moment && e.Cause == joined[i-1].Cause && e.Token == joined[i-1].Token {
			if last := &joined[i-1]; e.says != "" && last.says == e.says {
				last.At = e.At
				last.Masters = set(append(last.Masters, e.Masters...))
				last.Ops = append(last.Ops, e.Ops...)
				last.Detail = last.Detail && e.Detail
				last.Text = Enumerate(last.Masters) + " " + last.says
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
	return e.Kind == EventAnswered && e.ask == next.ask && next.At-e.At <= moment && (len(e.Silent) > 0) == (len(next.Silent) > 0)
}

// answers describes the masters' answers.
func (n *narrative) answers(e *placed) string {
	var parts []string
	say := func(masters []string, text string) {
		if len(masters) > 0 {
			parts = append(parts, Enumerate(set(masters))+" "+text)
		}
	}
	byReason := map[string][]string{}
	var reasons []string
	group := func(masters []string, why func(string) string) {
		clear(byReason)
		reasons = reasons[:0]
		for _, m := range set(masters) {
			w := why(m)
			if byReason[w] == nil {
				reasons = append(reasons, w)
			}
			byReason[w] = append(byReason[w], m)
		}
		for _, w := range reasons {
			say(byReason[w], w)
		}
	}
	switch e.Command {
	case history.CommandRelease:
		say(e.Yes, "deleted the key")
	default:
		say(e.Yes, "said yes")
	}
	group(e.No, func(m string) string { return "said no" + n.refusal(e, m) })
	group(e.Silent, func(m string) string { return "did not answer" + n.silence(e, m) })
	return strings.Join(parts, "; ")
}

// refusal returns the reason why a master said no, as far as the votes show it.
func (n *narrative) refusal(e *placed, master string) string {
	if e.Command != history.CommandSet {
		return ": the key did not store that token"
	}
	if x := n.r.holderAt(place{master, e.Key}, e.At); x != nil && x.who.token != e.Token {
		return fmt.Sprintf(": it stored the key of %s", other(x.who.client, e.Client))
	}
	return ""
}

// silence names the faults that may be why a master did not answer.
func (n *narrative) silence(e *placed, master string) string {
	var names []string
	for _, v := range e.ask.votes {
		if v.Master != master || !v.Unknown {
			continue
		}
		for _, f := range n.r.faultsWithin(sent(v), v.At) {
			if silences(f, v) {
				names = append(names, fmt.Sprintf("%s #%d", f.Name, f.ID))
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// holderAt returns the command log whose key a master stored at a time, by its votes, or nil. It is
// the last command log with a yes to a SET or an extension, unless the master has since said yes to
// a release of that key or the key's TTL was over.
func (r *run) holderAt(p place, when time.Duration) *commandLog {
	t := r.commandLogs()
	var last *commandLog
	since := time.Duration(-1)
	stores := t.stores[p]
	for i := stores.since(when+1) - 1; i >= 0; i-- {
		v := stores.at(i)
		if v.At < since || when >= v.At+r.longestLife() {
			break
		}
		if when >= v.At+r.lifetime(v) {
			continue
		}
		if x := t.byID(logID{p, party{v.Client, v.Token}}); last == nil || x.number < last.number { // of answers at one time, the log that began last
			last, since = x, v.At
		}
	}
	if last == nil {
		return nil
	}
	for v := range last.frees.all() {
		if v.Yes && v.At >= since && v.At <= when {
			return nil
		}
	}
	return last
}

// longestLife returns the longest lifetime of any key in the history.
func (r *run) longestLife() time.Duration {
	longest := r.h.Header.TTL
	for i := range r.h.Kinds() {
		longest = max(longest, r.h.Kinds()[i].TTL)
	}
	return longest
}

// lifetime returns how long a key lives after a vote: the TTL of the command, or the lock's TTL.
func (r *run) lifetime(v history.Vote) time.Duration {
	if v.TTL > 0 {
		return v.TTL
	}
	return r.h.Header.TTL
}
