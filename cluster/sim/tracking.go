package sim

import (
	"math"
	"slices"
	"strings"
	"time"

	"lockpick/cluster"
	"lockpick/cluster/keyspace"
	"lockpick/cluster/sim/world"
)

// tracking is the state of CLIENT TRACKING on a connection: the server tells the client which
// keys have changed.
type tracking struct {
	on, broadcast, optIn, optOut, noLoop bool

	caching  bool            // CLIENT CACHING was the command before
	prefixes []string        // in broadcast mode: of the keys that the client is told about
	read     map[string]bool // otherwise: the keys that the client has read since it was told
	changed  []string        // keys of the next messages
}

// options parses CLIENT TRACKING.
func (t *tracking) options(args []string) (problem string) {
	n := tracking{broadcast: t.broadcast}
	switch strings.ToLower(args[0]) {
	case "on":
		n.on = true
	case "off":
		*t = tracking{}
		return ""
	default:
		return "ERR syntax error"
	}
	n.broadcast = false
	for rest := args[1:]; len(rest) > 0; rest = rest[1:] {
		switch word := strings.ToLower(rest[0]); {
		case word == "bcast":
			n.broadcast = true
		case word == "optin":
			n.optIn = true
		case word == "optout":
			n.optOut = true
		case word == "noloop":
			n.noLoop = true
		case word == "prefix" && len(rest) > 1:
			n.prefixes = append(n.prefixes, rest[1])
			rest = rest[1:]
		default:
			return "ERR syntax error"
		}
	}
	switch {
	case len(n.prefixes) > 0 && !n.broadcast:
		return "ERR PREFIX option requires BCAST mode to be enabled"
	case t.on && t.broadcast != n.broadcast:
		return "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode."
	case n.broadcast && (n.optIn || n.optOut):
		return "ERR OPTIN and OPTOUT are not compatible with BCAST"
	case n.optIn && n.optOut:
		return "ERR You can't specify both OPTIN mode and OPTOUT mode"
	case t.on && (t.optIn && n.optOut || t.optOut && n.optIn):
		return "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode."
	}
	n.read, n.changed = t.read, t.changed
	n.prefixes = append(n.prefixes, t.prefixes...)
	*t = n
	return ""
}

// remembers reports whether the server remembers the keys that a command reads.
func (t *tracking) remembers() bool {
	return t.on && !t.broadcast && (t.optIn && t.caching || t.optOut && !t.caching || !t.optIn && !t.optOut)
}

// remember notes that the client has read a key.
func (t *tracking) remember(key string) {
	if t.read == nil {
		t.read = map[string]bool{}
	}
	t.read[key] = true
}

// after is called after a command: CLIENT CACHING is about the next one, or the next transaction.
func (t *tracking) after(words []string, queueing bool) {
	if t.caching && !queueing && !(len(words) > 1 && strings.EqualFold(words[0], "client") && strings.EqualFold(words[1], "caching")) {
		t.caching = false
	}
}

// note notes that a key has changed; own: by a command of the client itself.
func (t *tracking) note(key string, own bool) {
	notify := t.read[key]
	delete(t.read, key)
	if t.broadcast {
		notify = slices.ContainsFunc(t.followed(), func(p string) bool { return strings.HasPrefix(key, p) })
	}
	if notify && !(own && t.noLoop) && !slices.Contains(t.changed, key) {
		t.changed = append(t.changed, key)
	}
}

// messages returns the keys of each message: one message for each key, and in broadcast mode for
// each prefix.
func (t *tracking) messages() (all [][]string) {
	if !t.broadcast {
		for _, key := range t.changed {
			all = append(all, []string{key})
		}
		return all
	}
	slices.Sort(t.changed)
	for _, p := range t.followed() {
		keys := slices.DeleteFunc(slices.Clone(t.changed), func(key string) bool { return !strings.HasPrefix(key, p) })
		if len(keys) > 0 {
			all = append(all, keys)
		}
	}
	return all
}

// followed returns the prefixes that broadcast mode follows.
func (t *tracking) followed() []string {
	if len(t.prefixes) == 0 {
		return []string{""}
	}
	return slices.Sorted(slices.Values(t.prefixes))
}

// track implements CLIENT TRACKING.
func (s *session) track(x *Stream, m *Master, args []string) keyspace.Reply {
	if slices.ContainsFunc(args, func(a string) bool { return strings.EqualFold(a, "redirect") }) {
		return m.notModelled("client tracking redirect")
	}
	if problem := s.tracking.options(args); problem != "" {
		return keyspace.Error(problem)
	}
	m.trackers = remove(m.trackers, x)
	if s.tracking.on {
		m.trackers = append(m.trackers, x)
		m.planExpiry()
	}
	return keyspace.OK
}

// cache implements CLIENT CACHING, which is about the next command or transaction.
func (s *session) cache(_ *Stream, _ *Master, args []string) keyspace.Reply {
	t, word := &s.tracking, strings.ToLower(args[0])
	switch {
	case !t.on || !t.optIn && !t.optOut:
		return keyspace.Error("ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled")
	case word == "yes" && !t.optIn:
		return keyspace.Error("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.")
	case word == "no" && !t.optOut:
		return keyspace.Error("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.")
	case word != "yes" && word != "no":
		return keyspace.Error("ERR syntax error")
	}
	t.caching = true
	return keyspace.OK
}

// run executes a command of the connection, and remembers the keys that it reads.
func (s *session) run(m *Master, c *command, args []string) keyspace.Reply {
	if c.own == nil && !c.Writes && s.tracking.remembers() {
		m.store.Read = s.tracking.remember
		defer func() { m.store.Read = nil }()
	}
	return c.do(m, args)
}

// scriptReads remembers what a script that reads names as its keys, as Redis does, whichever keys it
// reads.
func (m *Master) scriptReads() {
	if m.serving != nil && m.serving.tracking.remembers() {
		for _, key := range m.script.keys {
			m.serving.tracking.remember(key)
		}
	}
}

// invalidate notes for each tracking connection that a key has changed. Redis has one message for
// FLUSHALL; here it names the keys that existed.
func (m *Master) invalidate(key string) {
	for _, x := range m.trackers {
		x.session.tracking.note(key, m.serving == &x.session)
	}
}

// sendInvalidations tells the tracking connections what has changed. Version 2 of the protocol has
// no such messages.
func (m *Master) sendInvalidations(wait time.Duration) {
	for _, x := range slices.Clone(m.trackers) {
		s := &x.session
		if len(s.tracking.changed) == 0 {
			continue
		}
		messages := s.tracking.messages()
		if s.tracking.changed = nil; s.version != 3 {
			continue
		}
		for _, keys := range messages {
			s.write(keyspace.Reply{Kind: keyspace.ReplyPush, Items: []keyspace.Reply{keyspace.Bulk("invalidate"), keyspace.Bulks(keys)}})
		}
		x.reply(m, wait)
	}
	m.planExpiry()
}

// planExpiry plans the next time at which Redis itself deletes expired keys, if somebody is told of
// that. It looks for them ten times a second.
func (m *Master) planExpiry() {
	next := int64(keyspace.Never)
	if len(m.trackers) > 0 {
		next = m.store.NextExpiry()
	}
	if next == m.expires {
		return
	}
	m.expires = next
	m.world.Cancel(&m.expiry)
	if next > math.MaxInt64/1_000_000-1 {
		return
	}
	if at := m.wall.When((next + 1) * 1_000_000); at < math.MaxInt64 {
		m.world.At(max(at, m.world.Now())+int64(m.world.UpTo(sweepEvery, world.WhatSweep)), &m.expiry)
	}
}

// expiry is called when expired keys are deleted.
type expiry Master

func (e *expiry) Fire() {
	m := (*Master)(e)
	m.expires = 0
	if m.state != cluster.Up || m.busy > m.world.Now() {
		return // it plans again once it continues
	}
	m.begun = false
	m.store.Sweep(m.now())
	m.settle()
}
