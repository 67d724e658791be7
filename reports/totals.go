package reports

import (
	"time"

	"lockpick/history"
)

// clientTotal sums up one client's lane over the whole run.
type clientTotal struct {
	Name                      string
	Tried, Granted, Refused   int
	Writes, Stale, Fenced     int
	Held, Overstayed, Stopped time.Duration // holding leases; in a critical section after the lease ended; paused
}

// masterTotal sums up one master's lane over the whole run.
type masterTotal struct {
	Name             string
	Yes, No, NoReply int
	Errors           int // commands that it answered with an error
	Down, Paused     time.Duration
	Tokens, Lost     int // tokens stored; tokens lost when it went down or found missing
}

func (t *timeline) totals() ([]clientTotal, []masterTotal) {
	clients := make([]clientTotal, len(t.clients))
	masters := make([]masterTotal, len(t.masters))
	for i := range clients {
		clients[i].Name = t.clients[i]
	}
	byName := map[string]*masterTotal{}
	for i := range masters {
		masters[i].Name = t.masters[i]
		byName[t.masters[i]] = &masters[i]
	}
	for i := range t.attempts {
		a := &t.attempts[i]
		c := &clients[a.client]
		c.Tried++
		if a.outcome == refused {
			c.Refused++
		}
		if a.lease != nil {
			c.Granted++
			c.Held += heldFor(a.lease)
			if a.lease.EnterIndex >= 0 && a.lease.Left > a.lease.Until() {
				c.Overstayed += a.lease.Left - max(a.lease.Until(), a.lease.Entered)
			}
		}
		for _, v := range a.votes {
			switch m := byName[v.Master]; {
			case v.Unknown:
				m.NoReply++
			case v.Yes:
				m.Yes++
			case v.Error != "":
				m.Errors++
			default:
				m.No++
			}
		}
	}
	for _, w := range t.writes {
		if w.client < 0 {
			continue
		}
		switch c := &clients[w.client]; w.effect {
		case fenced:
			c.Fenced++
		case stale:
			c.Stale++
			c.Writes++
		default:
			c.Writes++
		}
	}
	for _, p := range t.pauses {
		if p.client >= 0 {
			clients[p.client].Stopped += p.to - p.from
		}
	}
	for _, s := range t.states {
		if s.is == "paused" {
			masters[s.master].Paused += s.to - s.from
		} else {
			masters[s.master].Down += s.to - s.from
		}
	}
	for _, s := range t.stored {
		masters[s.master].Tokens++
		if s.ending == lost || s.ending == seenGone {
			masters[s.master].Lost++
		}
	}
	return clients, masters
}

func heldFor(l *history.Lease) time.Duration {
	var sum time.Duration
	for _, s := range l.Holds() {
		sum += max(0, s.To-s.From)
	}
	return sum
}
