package story

import (
	"slices"
	"time"

	"lockpick/checker"
	"lockpick/checker/narrative"
	"lockpick/history"
	"lockpick/history/fault"
)

// snapshot is the state at one moment of a narrative, derived from the events up to it: the token
// that each master stores, and the leases that each client holds.
type snapshot struct {
	v       *narrative.Violation
	masters map[string]*masterState
	clients map[string]*clientState
	written string // the token of the write that the storage applied last; empty: none is known
	before  string // the token of the write before that, which stays where a fence refuses the last one
}

type masterState struct {
	token         string // empty: no token is known
	stored        string // the Redis key that it is stored under, if that is known
	until         time.Duration
	down, stopped bool
	clock         bool // its clock is wrong
}

type clientState struct {
	leases  map[string]time.Duration // end of validity by token
	inside  map[string]bool          // tokens under which it is in a critical section
	stopped bool
}

func newSnapshot(v *narrative.Violation) *snapshot {
	return &snapshot{v: v, masters: map[string]*masterState{}, clients: map[string]*clientState{}}
}

func (s *snapshot) of(master string) *masterState {
	m := s.masters[master]
	if m == nil {
		m = &masterState{}
		s.masters[master] = m
	}
	return m
}

func (s *snapshot) holder(client string) *clientState {
	c := s.clients[client]
	if c == nil {
		c = &clientState{leases: map[string]time.Duration{}, inside: map[string]bool{}}
		s.clients[client] = c
	}
	return c
}

// apply applies the next event.
func (s *snapshot) apply(e *narrative.Event) {
	switch e.Kind {
	case narrative.EventAnswered:
		s.answered(e)
	case narrative.EventGranted, narrative.EventExtended, narrative.EventSkewed:
		s.holder(e.Client).leases[e.Token] = e.Until
	case narrative.EventEnded, narrative.EventReleased:
		delete(s.holder(e.Client).leases, e.Token)
	case narrative.EventCrashed:
		s.clients[e.Client] = nil
	case narrative.EventEntered:
		s.holder(e.Client).inside[e.Token] = true
	case narrative.EventLeft:
		delete(s.holder(e.Client).inside, e.Token)
	case narrative.EventPaused:
		s.holder(e.Client).stopped = true
	case narrative.EventResumed:
		s.holder(e.Client).stopped = false
	case narrative.EventApplied:
		s.before, s.written = s.written, e.Token
	case narrative.EventRejected:
		if e.Token == s.written {
			s.written = s.before
		}
	default:
		for _, m := range e.Masters {
			s.applyTo(e, s.of(m))
		}
	}
}

// answered updates the tokens on the masters after their replies.
func (s *snapshot) answered(e *narrative.Event) {
	for _, name := range e.Yes {
		m := s.of(name)
		switch e.Command {
		case history.CommandSet, history.CommandExtend:
			m.token, m.stored, m.until = e.Token, e.Stored, e.At+e.TTL
			if e.TTL == 0 {
				m.until = 1<<63 - 1
			}
		case history.CommandRelease:
			m.token = ""
		}
	}
}

// applyTo updates a master after an event that affected it.
func (s *snapshot) applyTo(e *narrative.Event, m *masterState) {
	switch e.Kind {
	case narrative.EventFault:
		switch kind := fault.Of(e.Name); {
		case kind.EndsMaster():
			m.down = true
		case kind.Process == fault.Stops:
			m.stopped = true
		case kind.Clock == fault.MasterClock:
			m.clock = true
		}
	case narrative.EventDown:
		m.down = true
	case narrative.EventHealed:
		m.stopped, m.clock = false, false
	case narrative.EventUp:
		m.down = false
		if e.Cause != "" {
			m.token, m.until = e.Token, 1<<63-1
		}
	case narrative.EventLost:
		if m.token == e.Token || e.Cause != narrative.CauseUnanswered {
			m.token = ""
		}
		m.down = false
	case narrative.EventChanged:
		switch {
		case e.Stored == "" || e.Stored != m.stored: // another key, or it is not known which
		case e.Frees():
			m.token = ""
		case e.TTL > 0 && e.Client != "": // a command set another time to live
			m.until = e.At + e.TTL
		}
	case narrative.EventSnapshot:
		m.token, m.until = e.Token, 1<<63-1
	}
}

// fills are the signs of the conflicting leases, in the order of the violation's tokens: mostly there are two.
var fills = []rune{'#', '%', '@', '&', '$'}

// fill returns the sign of a token: that of a conflicting lease, or ':' for any other.
func (s *snapshot) fill(token string) rune { return sign(slices.Index(s.v.Tokens, token)) }

// sign returns the sign of the conflicting lease with a number; -1: of any other.
func sign(number int) rune {
	if number < 0 || number >= len(fills) {
		return ':'
	}
	return fills[number]
}

// lane returns three characters of the lifeline of a client, a master or the storage.
func (s *snapshot) lane(name string, client bool, at time.Duration) [3]rune {
	switch {
	case client:
		return s.client(name, at)
	case name == storageLane:
		return s.storage()
	}
	return s.master(name, at)
}

// storage returns three characters of the storage's lifeline: the sign of the lease whose write it applied last.
func (s *snapshot) storage() [3]rune {
	if s.written == "" {
		return [3]rune{' ', '|', ' '}
	}
	return [3]rune{' ', s.fill(s.written), ' '}
}

// client returns three characters of a client's lifeline: the sign of the lease that it holds,
// between brackets in its critical section, z if it is stopped, exclamation marks during the
// violation.
func (s *snapshot) client(name string, at time.Duration) [3]rune {
	bar := [3]rune{' ', '|', ' '}
	if c := s.clients[name]; c != nil {
		if c.stopped {
			bar[0], bar[2] = 'z', 'z'
		}
		for i, token := range s.v.Tokens {
			until, holds := c.leases[token]
			if i < len(s.v.Clients) && s.v.Clients[i] != name {
				continue
			}
			if holds && at < until {
				bar[1] = s.fill(token)
				if first := slices.Index(s.v.Tokens, token); first < len(s.v.Clients) && s.v.Clients[first] != name { // another client's lease has the same token
					bar[1] = sign(i)
				}
			}
		}
		if len(c.inside) > 0 && s.sections() {
			if bar[0] = '['; bar[2] == ' ' {
				bar[2] = ']'
			}
		}
	}
	if s.v.At <= at && at < s.v.Until && slices.Contains(s.v.Clients, name) && len(s.v.Tokens) > 1 {
		bar[0], bar[2] = '!', '!'
	}
	return bar
}

// sections reports whether the violation is about critical sections.
func (s *snapshot) sections() bool {
	return !slices.ContainsFunc(checker.PropertiesOf([]string{s.v.Level}), func(p checker.Property) bool { return p.Leases })
}

// master returns three characters of a master's lifeline: the sign of the token that it stores,
// between z if it is stopped and ~ if its clock is wrong, or a dot if it is down.
func (s *snapshot) master(name string, at time.Duration) [3]rune {
	bar := [3]rune{' ', '|', ' '}
	m := s.masters[name]
	if m == nil {
		return bar
	}
	if m.token != "" && at < m.until {
		bar[1] = s.fill(m.token)
	}
	switch {
	case m.down:
		return [3]rune{' ', '.', ' '}
	case m.stopped:
		bar[0], bar[2] = 'z', 'z'
	case m.clock:
		bar[0], bar[2] = '~', '~'
	}
	return bar
}
