package checker

import (
	"slices"

	"lockpick/history"
)

// effects are the properties of what holders do to the guarded resource.
var effects = []string{NoStaleWrite.Level, FencedWrites.Level, NoLostUpdate.Level, FencingMonotone.Level}

// Untested returns why a property is not judged of locks of a kind, or "".
func Untested(p Property, kind history.LockKind) string {
	switch {
	case kind == history.Mutex:
	case p.Votes:
		return "masters do not store one token for each holder of a " + kind.Words()
	case p.Level == Extension.Level:
		return "the votes for an extension of a " + kind.Words() + " are not known"
	case kind == history.Semaphore && slices.Contains(effects, p.Level):
		return "several clients may hold a semaphore at once, so it orders no writes"
	case kind == history.Reentrant && (p == UniqueTokens || p == Notified || p == FencingMonotone):
		return "the holds of one client on a re-entrant lock count as one and may share a token"
	}
	return ""
}
