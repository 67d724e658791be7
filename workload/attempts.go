package workload

import (
	"slices"
	"sync"
	"time"

	"lockpick/history"
)

// mostAsked is the number of commands that Attempts keeps: more than an attempt sends.
const mostAsked = 100

// Attempts holds the latest acquires and extends of a lock, as the links to the masters saw them, for a lock that
// does not state the tokens of its leases, or when they end. Its caller serializes the calls.
type Attempts struct {
	asked []asked         // in the order of their answers
	named map[string]bool // the tokens that Token has returned
	blind bool            // votes do not describe the lock
}

// Settle waits until the votes that led to a grant are known, for a token or an end of a lease that rests on them. Votes that
// do not describe the lock tell neither. mu guards the attempts.
func (a *Attempts) Settle(env *Env, mu sync.Locker) {
	if env.Settle != nil && !env.Settle() {
		mu.Lock()
		defer mu.Unlock()
		a.asked, a.blind = nil, true
	}
}

// asked is a command that stores or extends a token on a master, and the answer to it.
type asked struct {
	master, token string
	sent          time.Time // when the client sent it
	yes, answered bool
}

// Saw adds a vote whose reply was there at the given time.
func (a *Attempts) Saw(op history.Op, at time.Time) {
	v := op.Value
	if a.blind {
		return
	}
	switch v.Command {
	case history.CommandSet, history.CommandExtend:
		if len(a.asked) == mostAsked {
			a.asked = slices.Delete(a.asked, 0, mostAsked/2)
		}
		a.asked = append(a.asked, asked{op.Process, v.Token, at.Add(-v.Took), v.Yes, op.Type == history.OK})
	case history.CommandRelease: // the attempt is over
		a.asked = slices.DeleteFunc(a.asked, func(x asked) bool { return x.token == v.Token })
	}
}

// Token returns the token that a master has granted since the given time, if the links saw one that Token has not
// returned before. Otherwise it returns "".
func (a *Attempts) Token(since time.Time) string {
	token := a.Latest(since)
	if token == "" || a.named[token] {
		return ""
	}
	if a.named == nil {
		a.named = map[string]bool{}
	}
	a.named[token] = true
	return token
}

// Latest returns the token that a master has granted last since the given time, or "".
func (a *Attempts) Latest(since time.Time) string {
	var latest asked
	for _, x := range a.asked {
		if x.yes && !x.sent.Before(since) && x.sent.After(latest.sent) {
			latest = x
		}
	}
	return latest.token
}

// Began returns when the last attempt with a token began; seen is false if no link saw one, and began is since. A lock
// may make several attempts with the same token: within an attempt no master answers twice
// (though a Redis client may resend a command without an answer), and a release ends it.
func (a *Attempts) Began(token string, since time.Time) (began time.Time, seen bool) {
	mine := slices.DeleteFunc(slices.Clone(a.asked), func(x asked) bool { return x.token != token || x.sent.Before(since) })
	slices.SortFunc(mine, func(x, y asked) int { return y.sent.Compare(x.sent) }) // the latest first
	began = since
	tried := map[string]bool{}
	for _, x := range mine {
		if tried[x.master] && x.answered {
			break
		}
		tried[x.master] = true
		began = x.sent
	}
	return began, len(mine) > 0
}
