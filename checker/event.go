package checker

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// EventKind is what happened in an Event.
type EventKind string

// The kinds of events. Each comment names the fields that say who did it to whom.
const (
	// Clients and masters.
	EventAsked    EventKind = "asked"    // Client sent Command for Token to Masters, with TTL if it asks for one
	EventAnswered EventKind = "answered" // Yes, No and Silent are the masters that answered it so, or not at all

	// Leases.
	EventCalled   EventKind = "called"   // Client called Command, and the call did not return at once
	EventGranted  EventKind = "granted"  // Client got the lease Token by the votes of Yes, valid until Until
	EventExtended EventKind = "extended" // its validity was prolonged until Until by the votes of Yes
	EventBent     EventKind = "bent"     // Client's clock changed, and its lease is valid until Until now
	EventRefused  EventKind = "refused"  // a call of Client failed
	EventTried    EventKind = "tried"    // Client asked Count times and was refused
	EventEnded    EventKind = "ended"    // the validity of Client's lease was over
	EventReleased EventKind = "released" // Client called release
	EventOver     EventKind = "over"     // Client's attempt, or the release of its lease, was over: it no longer needs the key

	// Clients.
	EventEntered EventKind = "entered" // Client's critical section began
	EventLeft    EventKind = "left"    // it ended
	EventPaused  EventKind = "paused"  // Client stood still
	EventResumed EventKind = "resumed" // it went on
	EventCrashed EventKind = "crashed" // its process ended
	EventStalled EventKind = "stalled" // the harness's machine stood still for Took, until now

	// The guarded resource.
	EventRead    EventKind = "read"    // Client read Value
	EventSent    EventKind = "sent"    // it sent the write of Value
	EventApplied EventKind = "applied" // the resource applied it
	EventMarked  EventKind = "marked"  // Client's token was stored in the resource

	// Faults and masters.
	EventFault    EventKind = "fault"    // the fault number Fault struck Masters, or Client
	EventHealed   EventKind = "healed"   // it ended; without a number: all had ended
	EventDown     EventKind = "down"     // Masters went down, not by any known fault
	EventUp       EventKind = "up"       // Masters were up again; with Cause, they stored Token under Key, or nothing
	EventLost     EventKind = "lost"     // Masters no longer stored Token, for the reason Cause
	EventSnapshot EventKind = "snapshot" // Masters listed what they stored: Token under Key, or nothing

	EventNote        EventKind = "note"        // what follows from other events
	EventUnexplained EventKind = "unexplained" // a step that no recorded event explains: Masters and Token, if it is about a key
	EventViolated    EventKind = "violated"    // the last event of each narrative: what is wrong, from At to Until
)

// The causes of an EventLost.
const (
	CauseExpired    = "expired"     // its TTL was over
	CauseMayExpired = "may-expired" // its TTL may have been over
	CauseReleased   = "released"    // a release of the same token deleted it
	CauseDeleted    = "deleted"     // a release of another token deleted it
	CauseUnanswered = "unanswered"  // a release without an answer may have deleted it
	CauseRestart    = "restart"     // it did not survive a restart
	CauseClock      = "clock"       // the master's clock was set or ran fast
	CauseMemory     = "memory"      // the master may have evicted it
	CauseTaken      = "taken"       // the master granted the key to another token
	CauseSeen       = "seen"        // a snapshot did not list it
)

// Event is one thing that happened before or during a violation, as far as the history shows it.
// The events of a violation are its narrative: the reason, the story, the diagram and the
// report render them and nothing else, so that an event has one time everywhere. That time is
//
//   - for an event that a line of the history records: the line's time; for a vote: when its
//     client received the answer or stopped waiting for it, but no later than a fault that struck
//     the master in between, since the master had answered before the fault;
//   - for a command: when it was sent;
//   - for a fault that ends a master's process: when the master was recorded to be down, or, if
//     that was not recorded, when the fault was installed; for any other fault: when it was
//     installed;
//   - for the end of a lease or a key: computed from the grant, or from the master's last yes and
//     the TTL.
type Event struct {
	At      time.Duration `json:"at"` // ns
	Kind    EventKind     `json:"kind"`
	Text    string        `json:"text"`             // a sentence without its time, capital and full stop
	Detail  bool          `json:"detail,omitempty"` // in the story, but not in the reason
	Client  string        `json:"client,omitempty"`
	Masters []string      `json:"masters,omitempty"`
	Yes     []string      `json:"yes,omitempty"`
	No      []string      `json:"no,omitempty"`
	Silent  []string      `json:"silent,omitempty"` // masters that did not answer
	Cut     []string      `json:"cut,omitempty"`    // of Masters, those that a fault kept the command from
	Key     string        `json:"key,omitempty"`
	Token   string        `json:"token,omitempty"`
	Command string        `json:"command,omitempty"`
	Cause   string        `json:"cause,omitempty"`
	Until   time.Duration `json:"until,omitempty"` // ns
	TTL     time.Duration `json:"ttl,omitempty"`   // ns
	Took    time.Duration `json:"took,omitempty"`  // ns
	Count   int           `json:"count,omitempty"`
	Value   int64         `json:"value,omitempty"`
	Fence   int64         `json:"fence,omitempty"`
	Fault   int           `json:"fault,omitempty"`
	Name    string        `json:"name,omitempty"` // of the fault
	Word    string        `json:"word,omitempty"` // for the diagram
	Ops     []int         `json:"ops,omitempty"`  // indices of the operations that show it
}

// Sentence is the text with its capital and full stop.
func (e *Event) Sentence() string { return e.capital(e.Text) + "." }

// capital makes the first letter of a sentence a capital, unless it begins with a name.
func (e *Event) capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	word, _, _ := strings.Cut(text, " ")
	word = strings.TrimSuffix(strings.TrimSuffix(word, ","), "'s")
	if word == e.Client || slices.Contains(slices.Concat(e.Masters, e.Yes, e.No, e.Silent), word) || strings.ContainsFunc(word, unicode.IsDigit) {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// timed is the text as a sentence with its time.
func (e *Event) timed() string {
	switch e.Kind {
	case EventNote, EventUnexplained, EventViolated:
		return e.Sentence()
	}
	return "At " + at(e.At) + " " + e.Text + "."
}

// Steps is the violation's reason, from its events: one sentence for each step, in order of time.
// Violations in older results have no events, only the sentences.
func (v *Violation) Steps() []string {
	if len(v.Events) == 0 {
		return v.Reason
	}
	var steps []string
	for i := range v.Events {
		if e := &v.Events[i]; !e.Detail {
			steps = append(steps, e.timed())
		}
	}
	return steps
}

// MarshalJSON writes the violation with the reason made from its events.
func (v Violation) MarshalJSON() ([]byte, error) {
	type plain Violation
	p := plain(v)
	p.Reason = v.Steps()
	return json.Marshal(p)
}
