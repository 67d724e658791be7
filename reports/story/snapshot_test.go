package story

import (
	"testing"
	"time"

	"lockpick/checker/narrative"
	"lockpick/history"
)

// TestAMasterStoresATokenUntilItsKeyIsGone: what a master did to the key of a token ends the token's bar, what it did to other keys does not.
func TestAMasterStoresATokenUntilItsKeyIsGone(t *testing.T) {
	m1 := []string{"m1"}
	for name, c := range map[string]struct {
		then narrative.Event
		want rune
	}{
		"it expired":           {narrative.Event{Kind: narrative.EventChanged, Masters: m1, Stored: "k0", Cause: "expired"}, '|'},
		"it was deleted":       {narrative.Event{Kind: narrative.EventChanged, Masters: m1, Stored: "k0", Cause: "deleted", Client: "c2"}, '|'},
		"its TTL was short":    {narrative.Event{Kind: narrative.EventChanged, Masters: m1, Stored: "k0", Cause: "ttl", Client: "c2", TTL: time.Millisecond}, '|'},
		"its TTL was long":     {narrative.Event{Kind: narrative.EventChanged, Masters: m1, Stored: "k0", Cause: "ttl", Client: "c2", TTL: time.Minute}, '#'},
		"a queue was deleted":  {narrative.Event{Kind: narrative.EventChanged, Masters: m1, Stored: "k0:queue", Cause: "deleted", Client: "c2"}, '#'},
		"its value is another": {narrative.Event{Kind: narrative.EventChanged, Masters: m1, Stored: "k0", Cause: "changed", Client: "c1"}, '#'},
	} {
		s := newSnapshot(&narrative.Violation{Tokens: []string{"a", "b"}})
		s.apply(&narrative.Event{Kind: narrative.EventAnswered, Client: "c1", Yes: m1, Command: history.CommandSet, Token: "a", Stored: "k0", TTL: 2 * time.Second})
		s.apply(&c.then)
		if got := s.master("m1", time.Second)[1]; got != c.want {
			t.Errorf("%s: the bar of m1 is %c, not %c", name, got, c.want)
		}
	}
}
