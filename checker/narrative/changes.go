package narrative

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"lockpick/checker/facts"
	"lockpick/history"
)

// maxChanges is the number of changes of keys that a narrative names.
const maxChanges = 6

// KeyChanges adds what masters did to the keys of a lock while a lease was held, until another one was
// granted or extended, if the votes do not say it: how its key was deleted, replaced or shortened, and by whom.
// Changes that free the key come first if there are too many, and of these the last ones.
func (n *Narrative) KeyChanges(a *history.Lease, until time.Duration) {
	all := sinceCreated(n.r.KeyChanges(a.Key, a.Invoked, until+n.r.Slack), a.Acquired()+n.r.Slack)
	if len(all) > maxChanges {
		slices.SortStableFunc(all, func(x, y facts.KeyChange) int {
			return cmp.Or(cmp.Compare(severity(x.Kind), severity(y.Kind)), cmp.Compare(y.At, x.At))
		})
		all = all[:maxChanges]
	}
	for _, c := range all {
		n.keyChange(a.Key, c, c.Kind)
	}
}

// KeysLeft adds what last happened to the keys of a lock that masters still stored at a time, and reports whether there
// were any. If a command set a key's time to live, that is it: the key stays for so long. The events have the given cause.
func (n *Narrative) KeysLeft(key string, at time.Duration, cause string) bool {
	left := map[facts.Place]facts.KeyChange{}
	for _, c := range n.r.KeyChanges(key, 0, at) {
		p := facts.Place{Master: c.Master, Key: c.Stored}
		switch before, stored := left[p]; {
		case frees(c.Kind):
			delete(left, p)
		case !stored || c.Kind == "ttl" || before.Kind != "ttl":
			left[p] = c
		}
	}
	all := slices.SortedFunc(maps.Values(left), func(x, y facts.KeyChange) int { return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.Line, y.Line)) })
	for _, c := range all[max(0, len(all)-maxChanges):] {
		n.keyChange(key, c, cause)
	}
	return len(all) > 0
}

// keyChange adds a change of a key of a lock.
func (n *Narrative) keyChange(key string, c facts.KeyChange, cause string) {
	e := Event{At: c.At, Kind: EventChanged, Client: c.Client, Masters: []string{c.Master}, Key: key, Stored: c.Stored, Token: c.Token, Cause: cause, TTL: c.TTL, Word: c.Kind, Ops: []int{c.Line}}
	what := fmt.Sprintf(ChangeWords[c.Kind], c.Stored)
	if c.Kind == "ttl" && c.TTL > 0 {
		what += " to " + At(c.TTL)
	}
	switch {
	case c.Command != "" && c.Client != "":
		e.Text = fmt.Sprintf("%s's command %s %s on %s", c.Client, c.Command, what, c.Master)
	case c.Command != "":
		e.Text = fmt.Sprintf("a command that no client sent, %s, %s on %s", c.Command, what, c.Master)
	default:
		e.Text = fmt.Sprintf("%s %s", c.Master, what)
	}
	n.Add(e)
}

// sinceCreated leaves out what happened to the key of a master before it was created for a grant: while a client waits
// for the lock, others have it and give it back.
func sinceCreated(all []facts.KeyChange, granted time.Duration) []facts.KeyChange {
	last := map[facts.Place]int{}
	for i, c := range all {
		if c.Kind == "created" && c.At <= granted {
			last[facts.Place{Master: c.Master, Key: c.Stored}] = i
		}
	}
	var recent []facts.KeyChange
	for i, c := range all {
		if i >= last[facts.Place{Master: c.Master, Key: c.Stored}] {
			recent = append(recent, c)
		}
	}
	return recent
}

// severity orders changes: those that free a key come first.
func severity(kind string) int {
	return slices.Index([]string{"deleted", "expired", "evicted", "lost", "ttl", "restored", "created", "changed"}, kind)
}

// Frees reports whether an EventChanged took a key from a master.
func (e *Event) Frees() bool { return frees(e.Cause) }

func frees(kind string) bool { s := severity(kind); return s >= 0 && s < severity("ttl") }

// ChangeWords says what happened to a key.
var ChangeWords = map[string]string{
	"created": "created %s", "changed": "changed %s", "ttl": "set the time to live of %s", "deleted": "deleted %s",
	"expired": "let %s expire", "evicted": "evicted %s", "lost": "lost %s", "restored": "brought an older %s back",
}
