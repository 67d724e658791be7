package watch

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockpick/cluster/keyspace"
	"lockpick/cluster/lua"
	"lockpick/cluster/resp"
)

// shape is what a script does for a lock.
type shape struct {
	action   action
	token    int // number of the argument that is the token, from 1; 0: none is
	lease    int // number of the argument that is the TTL; 0: none is
	unit     resp.Unit
	fixed    time.Duration // the TTL that no argument names; 0: none
	compares bool          // it acts only on a key that stores an argument
	lifeless bool          // the key that it creates has no TTL
	inverted bool          // its reply is nil if it acted, and only then, as Redisson's
	fails    bool          // it ends with an error, whatever the key stores; the action is release then
}

// ttl returns the TTL that a call of the script sets.
func (s *shape) ttl(argv []string, now time.Time) time.Duration {
	if s.lease == 0 || s.lease > len(argv) {
		return s.fixed
	}
	return resp.Lifetime(argv[s.lease-1], s.unit, now)
}

// yes reports whether a reply says that the script acted.
func (s *shape) yes(r *resp.Reply) bool {
	if s.inverted {
		return r.Null
	}
	return resp.Succeeded(r)
}

// trial finds out what a script does by running it on keys in memory: a call of a client, on keys that are made up.
type trial struct {
	script     *lua.Script
	keys, argv []string
	now        int64 // ms since 1970
	unknown    bool  // the script called a command that is not known here
}

// Somebody else's token, and the types of the values that a lock's key may have.
const foreign = "the token of somebody else"

var kinds = []string{keyspace.String, keyspace.Hash, keyspace.Set, keyspace.SortedSet}

// Limits of a trial: the arguments that may be the token, and the commands of one run.
const (
	maxTokenArgs = 16
	maxCalls     = 1000
)

// tried returns what a script does, from one call of it. The action is none if the script does nothing to a key of
// the kinds that locks have.
func tried(script *lua.Script, keys, argv []string, now time.Time) shape {
	t := trial{script: script, keys: keys, argv: argv, now: now.UnixMilli()}
	key := keys[0]
	store, reply := t.run(nil, argv)
	if v, ok := store[key]; ok {
		return t.acquires(v, reply)
	}
	failed, reads := reply.Kind == keyspace.ReplyError, false
	for _, kind := range kinds {
		other := t.keyState(kind, foreign)
		untouched, no := t.run(other, argv)
		failed = failed && no.Kind == keyspace.ReplyError
		if s := t.acts(other, untouched); s.action != none {
			return s // on anybody's
		}
		for i, arg := range argv[:min(len(argv), maxTokenArgs)] {
			own := t.keyState(kind, arg)
			after, yes := t.run(own, argv)
			failed = failed && yes.Kind == keyspace.ReplyError
			reads = reads || yes.Kind != keyspace.ReplyError && no.Kind != keyspace.ReplyError && !reflect.DeepEqual(yes, no)
			if s := t.acts(own, after); s.action != none {
				s.token, s.compares = i+1, true
				s.inverted = yes.Kind == keyspace.ReplyNil && no.Kind != keyspace.ReplyNil
				return s
			}
		}
	}
	switch {
	case failed && !t.unknown:
		return shape{action: release, fails: true}
	case reads: // it tells who has the key
		return shape{action: read}
	}
	return shape{}
}

// acquires describes a script that has created the key.
func (t *trial) acquires(v keyspace.Value, granted keyspace.Reply) shape {
	s := shape{action: acquire, lifeless: v.Expires == keyspace.Never}
	s.lease, s.unit, s.fixed = t.leaseOf(v)
	s.token = 1 + slices.IndexFunc(t.argv, func(arg string) bool { return names(v, arg) })
	if s.token > 0 { // how it refuses
		other := slices.Clone(t.argv)
		other[s.token-1] = foreign
		held, _ := t.run(nil, other)
		_, refused := t.run(held, t.argv)
		s.inverted = granted.Kind == keyspace.ReplyNil && refused.Kind != keyspace.ReplyNil
	}
	return s
}

// acts describes what a script has done to the lock's key.
func (t *trial) acts(before, after map[string]keyspace.Value) shape {
	was := before[t.keys[0]]
	is, there := after[t.keys[0]]
	switch {
	case !there:
		return shape{action: release}
	case is.Expires != was.Expires:
		s := shape{action: extend}
		s.lease, s.unit, s.fixed = t.leaseOf(is)
		return s
	}
	return shape{}
}

// keyState returns the keys of a lock that somebody has.
func (t *trial) keyState(kind, token string) map[string]keyspace.Value {
	v := keyspace.Value{Text: token, Expires: t.now + 7*time.Hour.Milliseconds() + 1}
	switch kind {
	case keyspace.Hash:
		v.Text, v.Parts = "", &keyspace.Parts{Type: kind, Fields: map[string]string{token: "1"}}
	case keyspace.Set:
		v.Text, v.Parts = "", &keyspace.Parts{Type: kind, Scores: map[string]float64{token: 0}}
	case keyspace.SortedSet:
		v.Text, v.Parts = "", &keyspace.Parts{Type: kind, Scores: map[string]float64{token: float64(v.Expires)}}
	}
	return map[string]keyspace.Value{t.keys[0]: v}
}

// names reports whether a value has a token in it.
func names(v keyspace.Value, token string) bool {
	if v.Parts == nil {
		return v.Text == token
	}
	_, field := v.Parts.Fields[token]
	_, member := v.Parts.Scores[token]
	return field || member || slices.Contains(v.Parts.Elements, token) || slices.Contains(slices.Collect(maps.Values(v.Parts.Fields)), token)
}

// leaseOf finds the argument that is the TTL of a value, or returns the TTL.
func (t *trial) leaseOf(v keyspace.Value) (number int, unit resp.Unit, fixed time.Duration) {
	if v.Expires == keyspace.Never {
		return 0, 0, 0
	}
	now, left := time.UnixMilli(t.now), time.Duration(v.Expires-t.now)*time.Millisecond
	for i, arg := range t.argv {
		for u := resp.Milliseconds; u <= resp.AtSeconds; u++ {
			if resp.Lifetime(arg, u, now) == left {
				return i + 1, u, 0
			}
		}
	}
	return 0, 0, left
}

// run executes the script on keys and returns what they are afterwards.
func (t *trial) run(keys map[string]keyspace.Value, argv []string) (map[string]keyspace.Value, keyspace.Reply) {
	s := server{store: keyspace.NewStore(func(string, keyspace.Value, bool) {}), now: t.now}
	s.store.Intn = func(int) int { return 0 }
	s.store.Load(keys)
	r := t.script.Run(&s, t.keys, argv)
	t.unknown = t.unknown || s.unknown
	return s.store.All(), r
}

// server executes the commands of a script on keys in memory.
type server struct {
	store keyspace.Store
	now   int64
	calls int

	unknown bool // a command is not known
}

func (s *server) Call(name string, args []string) keyspace.Reply {
	if s.calls++; s.calls > maxCalls {
		panic("it calls too many commands")
	}
	name = strings.ToLower(name)
	for _, table := range keyspace.Tables {
		if c := table.Commands[name]; c != nil && c.Accepts(len(args)) {
			return c.Do(keyspace.At(&s.store, s.now), args)
		}
	}
	switch name {
	case "publish":
		return keyspace.Int(0)
	case "time":
		return keyspace.Bulks([]string{strconv.FormatInt(s.now/1000, 10), strconv.FormatInt(s.now%1000*int64(time.Millisecond/time.Microsecond), 10)})
	}
	s.unknown = true
	return keyspace.Error("ERR it is not known what this command does")
}
