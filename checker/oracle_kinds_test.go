package checker_test

import (
	"slices"
	"time"

	"lockpick/history"
)

// holder is somebody who has a key, or wants it.
type holder struct {
	client string
	reads  bool
	takes  int // permits
}

// asksFor returns what an acquire asks for.
func asksFor(client string, v *history.Value) holder {
	h := holder{client: client, reads: v.Mode == "read", takes: 1}
	if v.Permits > 1 {
		h.takes = v.Permits
	}
	return h
}

// mayShare says whether all of some holders may have a key of the lock at the same instant.
func (o *oracle) mayShare(all []holder) bool {
	switch o.h.Kind {
	case "rw":
		return len(all) < 2 || !slices.ContainsFunc(all, func(x holder) bool { return !x.reads })
	case "semaphore":
		left := o.h.Permits
		for _, x := range all {
			left -= min(x.takes, o.h.Permits) // nobody takes more than there are
		}
		return left >= 0
	case "reentrant":
		return !slices.ContainsFunc(all, func(x holder) bool { return x.client != all[0].client })
	}
	return len(all) < 2
}

// holdersAt returns who holds a key at an instant, without the holder of one acquisition.
func (o *oracle) holdersAt(key string, t time.Duration, but *acquisition) (all []holder) {
	for _, a := range o.acqs {
		if a != but && a.key == key && a.held(t) {
			all = append(all, a.asksAt(t))
		}
	}
	return all
}

// turn is a downgrade or an upgrade of a lease.
type turn struct {
	at    time.Duration
	reads bool
}

// turn adds a line of an extend: a downgrade counts from its call on, an upgrade from its return on.
func (a *acquisition) turn(op history.Op, began time.Duration) {
	x := turn{op.Time, op.Value.Mode == "read"}
	if x.reads && op.Type != history.Invoke {
		x.at = began
	}
	if x.reads && !a.asksAt(never).reads || op.Value.Mode == "write" && op.Type == history.OK {
		a.turns = append(a.turns, x)
	}
}

// asksAt returns what the holder of an acquisition has at an instant.
func (a *acquisition) asksAt(t time.Duration) holder {
	h := a.asks
	for _, x := range a.turns {
		if x.at <= t {
			h.reads = x.reads
		}
	}
	return h
}

// upgradedAt says whether a reader becomes a writer at an instant.
func (o *oracle) upgradedAt(a *acquisition, t time.Duration) bool {
	return o.h.Kind == "rw" && !a.asksAt(t).reads && a.asksAt(t-o.tick).reads
}

// notOf names the properties that are not judged of locks of a kind: a mutex has one holder, with one token, who orders what
// follows.
var notOf = map[history.LockKind][]string{
	"rw": {"quorum", "key-lifetime", "own-keys", "min-validity", "continuity", "extension", "quorum-granted", "wake-up", "released", "orphan-keys", "ghost-keys"},
	"semaphore": {"quorum", "key-lifetime", "own-keys", "min-validity", "continuity", "extension", "quorum-granted", "wake-up", "released", "orphan-keys", "ghost-keys",
		"no-stale-write", "fenced-writes", "no-lost-update", "fencing-monotone"},
	"reentrant": {"quorum", "key-lifetime", "own-keys", "min-validity", "continuity", "extension", "quorum-granted", "wake-up", "released", "orphan-keys", "ghost-keys",
		"unique-tokens", "notified", "fencing-monotone"},
	"multi": {"quorum-granted", "fairness", "wake-up"},
}
