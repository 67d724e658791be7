package checker

import (
	"fmt"
	"slices"

	"lockpick/history"
)

// gap is a reason why a run did not exercise a property.
type gap struct {
	is  func(*history.Packed) bool // nil: always
	why string
}

// NotExercised is the reason why a property has no result, where nothing more is known.
const NotExercised = "the run did not exercise it"

var (
	nobodyLooked       = gap{lacks(history.FSnapshot), "nobody asked the masters what they store"}
	nobodyEntered      = gap{lacks(history.FEnter), "no client entered a critical section"}
	cannotExtend       = gap{CannotExtend, "the lock has no extend"}
	noExtension        = gap{lacks(history.FExtend), "no lease was extended"}
	noExtensionByVotes = gap{nil, "no extension was granted by votes that were recorded"}
	notHealed          = gap{lacks(history.FHealed), "the run ended before the faults had healed"}
	noFencing          = gap{func(h *history.Packed) bool { return !h.Header.Fencing }, "the leases of this lock carry no fencing tokens"}
)

// CannotExtend reports whether the lock of a history has no extend, as each of its grants says.
func CannotExtend(h *history.Packed) bool {
	granted := false
	for _, op := range h.All() {
		if op.F == history.FAcquire && op.Type == history.OK && op.Value != nil {
			if !op.Value.Fixed {
				return false
			}
			granted = true
		}
	}
	return granted
}

// lacks returns whether a history lacks an operation.
func lacks(f string) func(*history.Packed) bool {
	return func(h *history.Packed) bool {
		for _, op := range h.All() {
			if op.F == f {
				return false
			}
		}
		return true
	}
}

// promisesNoTime reports whether all leases of a history last until their lock says that they are over.
func promisesNoTime(h *history.Packed) bool {
	if h.Header.Until == history.UntilReleased {
		return true
	}
	leases := 0
	for _, op := range h.All() {
		if op.F != history.FAcquire || op.Type != history.OK || op.Value == nil {
			continue
		}
		if g := (history.Grant{Until: op.Value.ValidUntil}); !g.Endless() {
			return false
		}
		leases++
	}
	return leases > 0
}

// WhyUntested explains what a history lacks for a verdict on the property.
func (p Property) WhyUntested(h *history.Packed) string {
	switch why := p.ExemptsKind(h.Header.LockKind()); {
	case why != "":
		return why
	case h.Header.Driver == history.Imported:
		return "logs of a lock show its leases and critical sections, and nothing else"
	case h.Header.Reported && !p.Reported:
		return "tests report keys, leases and critical sections, and nothing else"
	case p.OnlyNamed && !slices.Contains(h.Header.Properties, p.Name):
		return "judged only if the scenario names it"
	}
	if p.rules != nil {
		for _, g := range p.rules.gaps {
			if g.is == nil || g.is(h) {
				return g.why
			}
		}
	}
	return NotExercised
}

// exemption is a reason why a property is not judged of locks of a kind.
type exemption struct {
	kind history.LockKind // "": all whose holders have no token of their own on the masters
	why  string           // with a place for the kind, if it is for all
}

var (
	ordersNoWrites        = exemption{history.Semaphore, "several clients may hold a semaphore at once, so it orders no writes"}
	sharesHolds           = exemption{history.Reentrant, "the holds of one client on a re-entrant lock count as one and may share a token"}
	extensionVotesUnknown = exemption{"", "the votes for an extension of a %s are not known"}
	needsOtherKeys        = exemption{history.Multi, "whether an acquire of a multi-lock is granted depends on its other keys"}
)

// ExemptsKind returns why the property is not judged of locks of a kind, or "".
func (p Property) ExemptsKind(kind history.LockKind) string {
	if kind == history.Mutex || p.rules == nil {
		return ""
	}
	for _, x := range p.rules.exempt {
		switch x.kind {
		case kind:
			return x.why
		case "":
			if !kind.OneToken() {
				return fmt.Sprintf(x.why, kind.Words())
			}
		}
	}
	if p.Votes && !kind.OneToken() && !p.rules.anyToken {
		return "masters do not store one token for each holder of a " + kind.Words()
	}
	return ""
}
