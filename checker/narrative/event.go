package narrative

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// EventKind says what happened in an Event.
type EventKind string

// The kinds of events. Each comment names the fields of Event that the kind uses.
const (
	// Clients and masters.
	EventAsked    EventKind = "asked"    // Client sent Command for Token to Masters, with TTL if it asks for one
	EventAnswered EventKind = "answered" // the masters in Yes and No answered so, those in Failed with an error, those in Silent not at all

	// Leases.
	EventCalled   EventKind = "called"   // Client called Command, and the call did not return at once
	EventGranted  EventKind = "granted"  // Client got the lease Token by the votes of Yes, valid until Until
	EventExtended EventKind = "extended" // Client's lease was extended until Until by the votes of Yes
	EventSkewed   EventKind = "skewed"   // Client's clock changed: its lease is now valid until Until
	EventRefused  EventKind = "refused"  // a call of Client failed
	EventTried    EventKind = "tried"    // Client tried to acquire Count times and was refused
	EventEnded    EventKind = "ended"    // the validity of Client's lease was over
	EventReleased EventKind = "released" // Client called release
	EventOver     EventKind = "over"     // Client's attempt, or the release of its lease, was over: it no longer needs the key

	// Clients.
	EventEntered EventKind = "entered" // Client's critical section began
	EventLeft    EventKind = "left"    // Client's critical section ended
	EventPaused  EventKind = "paused"  // Client stood still
	EventResumed EventKind = "resumed" // Client went on after a pause
	EventCrashed EventKind = "crashed" // Client's process ended
	EventStalled EventKind = "stalled" // the harness's machine stood still for Took, until now

	// The guarded resource, called the storage in narratives.
	EventSent     EventKind = "sent"     // Client sent the write of Value
	EventRead     EventKind = "read"     // the storage answered Client's read with Value
	EventApplied  EventKind = "applied"  // the storage applied Client's write of Value
	EventRejected EventKind = "rejected" // the storage refused Client's write of Value
	EventMarked   EventKind = "marked"   // Client's token was stored in the storage

	// Faults and masters.
	EventFault    EventKind = "fault"    // the fault number Fault struck Masters, or Client
	EventHealed   EventKind = "healed"   // the fault number Fault ended; without a number: all faults had ended
	EventDown     EventKind = "down"     // Masters went down without any known fault
	EventUp       EventKind = "up"       // Masters were up again; if Cause is set, they stored Token under Key, or nothing
	EventElected  EventKind = "elected"  // Masters (one) began to lead the others of the service
	EventLost     EventKind = "lost"     // Masters no longer stored Token, for the reason Cause
	EventChanged  EventKind = "changed"  // Masters changed Key, or a command of Client's did there, in the way Word; Cause is that or CauseLeft
	EventSnapshot EventKind = "snapshot" // a snapshot showed that Masters stored Token under Key, or nothing

	EventNote        EventKind = "note"        // a conclusion from other events
	EventUnexplained EventKind = "unexplained" // a step that no recorded event explains: Masters and Token, if it is about a key
	EventViolated    EventKind = "violated"    // the last event of each narrative: the violation, from At to Until
)

// CauseLeft is the cause of an EventSnapshot or an EventChanged that shows a key of a lock that nobody is granted.
const CauseLeft = "left"

// CauseUntold is the cause of an EventNote: nothing but its lock kept a client from knowing that its lease was over.
const CauseUntold = "untold"

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

// Event is one event before or during a violation, as far as the history shows it. The events of a
// violation are its narrative: the reason, the story, the diagram and the report render only
// these, so that an event has one time everywhere. That time is
//
//   - for an event that a line of the history records: the line's time;
//   - for a vote: when its client received the answer or stopped waiting for it, but no later than
//     a fault that struck the master in between, since the master had answered before the fault;
//   - for a command: when it was sent;
//   - for a fault that ends a master's process: when the master was recorded to be down, or, if
//     that was not recorded, when the fault was installed; for any other fault: when it was
//     installed;
//   - for the end of a lease: computed from the grant; for the end of a key: computed from the
//     master's last yes and the TTL.
type Event struct {
	At      time.Duration `json:"at"` // ns
	Kind    EventKind     `json:"kind"`
	Text    string        `json:"text"`             // a sentence without time, capital letter and full stop
	Detail  bool          `json:"detail,omitempty"` // part of the story, but not of the reason
	Client  string        `json:"client,omitempty"`
	Masters []string      `json:"masters,omitempty"`
	Yes     []string      `json:"yes,omitempty"`
	No      []string      `json:"no,omitempty"`
	Failed  []string      `json:"failed,omitempty"` // masters that answered with an error, which says nothing about the key
	Silent  []string      `json:"silent,omitempty"` // masters that did not answer, or whose answer is not known
	Cut     []string      `json:"cut,omitempty"`    // the Masters that a fault kept the command from reaching
	Key     string        `json:"key,omitempty"`
	Stored  string        `json:"-"` // the Redis key that masters answered about or changed, if it is known
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
	Name    string        `json:"name,omitempty"` // of the fault that it is about
	Word    string        `json:"word,omitempty"` // the diagram's label
	Ops     []int         `json:"ops,omitempty"`  // indices of the operations that show it
}

// AtStorage reports whether the event happened at the storage.
func (e *Event) AtStorage() bool {
	return slices.Contains([]EventKind{EventRead, EventApplied, EventRejected, EventMarked}, e.Kind)
}

// Answering returns the masters of an EventAnswered.
func (e *Event) Answering() []string { return slices.Concat(e.Yes, e.No, e.Failed, e.Silent) }

// Sentence returns the text with a capital letter and a full stop.
func (e *Event) Sentence() string { return e.capital(e.Text) + "." }

// capital makes the first letter of a sentence a capital, unless it begins with a name.
func (e *Event) capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	word, _, _ := strings.Cut(text, " ")
	word = strings.TrimSuffix(strings.TrimSuffix(word, ","), "'s")
	if word == e.Client || slices.Contains(slices.Concat(e.Masters, e.Answering()), word) || strings.ContainsFunc(word, unicode.IsDigit) {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// timed returns the text as a sentence with the event's time.
func (e *Event) timed() string {
	switch e.Kind {
	case EventNote, EventUnexplained, EventViolated:
		return e.Sentence()
	}
	return "At " + At(e.At) + " " + e.Text + "."
}

// Violation is one proof that a property does not hold.
type Violation struct {
	Property string        `json:"property,omitempty"` // the property's name; empty in older results
	Level    string        `json:"level"`
	Key      string        `json:"key"`
	At       time.Duration `json:"at"`      // ns: when it began
	Until    time.Duration `json:"until"`   // ns: when it ended; equals At if it has no duration
	Ops      []int         `json:"ops"`     // indices of the operations that prove it
	Tokens   []string      `json:"tokens"`  // the tokens of the leases involved, the earlier one first
	Clients  []string      `json:"clients"` // the clients with these tokens, in the same order
	Faults   []int         `json:"faults"`  // ids of the faults that explain it
	Summary  string        `json:"summary"` // one sentence
	Reason   []string      `json:"reason"`  // the result of Steps when the violation was found
	Events   []Event       `json:"events,omitempty"`
}

// TakenOver reports whether its reason names a server that took over from another.
func (v *Violation) TakenOver() bool {
	return slices.ContainsFunc(v.Events, func(e Event) bool { return e.Kind == EventElected && !e.Detail })
}

// Steps returns the violation's reason: one sentence for each event that is not a detail, in order of
// time. Violations in older results have no events, only the sentences.
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

// MarshalJSON encodes the violation with the reason made from its events.
func (v Violation) MarshalJSON() ([]byte, error) {
	type plain Violation
	p := plain(v)
	p.Reason = v.Steps()
	return json.Marshal(p)
}
