package history

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
)

// Snapshot is a line that lists the keys that a master stored: a look, or a master's state when it was up again.
type Snapshot struct {
	Master     string
	Index      int           // of the line
	Time       time.Duration // of the line
	Took       time.Duration // from the request to the reply
	Delay      time.Duration // from the reply to the line
	op         *Op           // the line; nil: the fields below hold the rest of it
	state      string
	offset     time.Duration
	hasOffset  bool
	hasExpires bool
	keys       []storedKey // in the order of their names
}

// storedKey is a key that a master stored.
type storedKey struct {
	key, token string
	expiry     time.Duration
	mortal     bool // it has an expiry
}

// SnapshotOf returns the snapshot in a line. It returns false if the line lists no keys.
func SnapshotOf(op *Op) (Snapshot, bool) {
	v := op.Value
	if op.F != FSnapshot && op.F != FState || v == nil || v.Keys == nil {
		return Snapshot{}, false
	}
	return Snapshot{Master: op.Process, Index: op.Index, Time: op.Time, Took: v.Took, Delay: v.Delay, op: op}, true
}

// Began and Ended bound when the keys were read: after the request was sent, and before the reply arrived.
func (s *Snapshot) Began() time.Duration { return s.Time - s.Delay - s.Took }
func (s *Snapshot) Ended() time.Duration { return s.Time - s.Delay }

// Token returns what the master stored under a key; empty: nothing.
func (s *Snapshot) Token(key string) string { return s.find(key).token }

// Expiry returns when a key expires, on the master's own clock. It returns false if the key has no expiry.
func (s *Snapshot) Expiry(key string) (time.Duration, bool) {
	k := s.find(key)
	return k.expiry, k.mortal
}

// find returns what is known of a key.
func (s *Snapshot) find(key string) (k storedKey) {
	if s.op != nil {
		k.token = s.op.Value.Keys[key]
		k.expiry, k.mortal = s.op.Value.Expires[key]
	} else if i, found := slices.BinarySearchFunc(s.keys, key, func(k storedKey, key string) int { return strings.Compare(k.key, key) }); found {
		k = s.keys[i]
	}
	return k
}

// HasExpiries reports whether the line says when keys expire.
func (s *Snapshot) HasExpiries() bool {
	if s.op != nil {
		return s.op.Value.Expires != nil
	}
	return s.hasExpires
}

// Tokens yields the keys with what they stored, in the order of the keys.
func (s *Snapshot) Tokens() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if s.op == nil {
			for _, k := range s.keys {
				if !yield(k.key, k.token) {
					return
				}
			}
			return
		}
		for _, key := range slices.Sorted(maps.Keys(s.op.Value.Keys)) {
			if !yield(key, s.op.Value.Keys[key]) {
				return
			}
		}
	}
}

// pack returns the snapshot without its line. It returns false if the line has fields that a Snapshot lacks.
func (s Snapshot) pack() (Snapshot, bool) {
	op, v := s.op, s.op.Value
	if op.F != FSnapshot || op.Type != Info || op.Key != "" || op.Error != "" || v.Token != "" || v.ValidUntil != 0 || v.Fence != 0 ||
		v.Fixed || v.AtLeast || v.Mode != "" || v.Permits != 0 || v.Value != 0 || v.Fenced || !v.plain() {
		return s, false
	}
	for key := range v.Expires {
		if _, stored := v.Keys[key]; !stored {
			return s, false
		}
	}
	s.op, s.state, s.hasExpires = nil, v.State, v.Expires != nil
	if v.Offset != nil {
		s.offset, s.hasOffset = *v.Offset, true
	}
	s.keys = make([]storedKey, 0, len(v.Keys))
	for key, token := range v.Keys {
		expiry, mortal := v.Expires[key]
		s.keys = append(s.keys, storedKey{key, token, expiry, mortal})
	}
	slices.SortFunc(s.keys, func(a, b storedKey) int { return strings.Compare(a.key, b.key) })
	return s, true
}

// unpack writes the line of a packed snapshot into op and v, which is zero or was unpacked before.
func (s *Snapshot) unpack(op *Op, v *Value) {
	*op = Op{Index: s.Index, Time: s.Time, Process: s.Master, Type: Info, F: FSnapshot, Value: v}
	keys, expires := v.Keys, v.Expires
	*v = Value{Took: s.Took, Delay: s.Delay, State: s.state, Keys: keys}
	if clear(keys); keys == nil {
		v.Keys = make(map[string]string, len(s.keys))
	}
	if s.hasOffset {
		v.Offset = &s.offset
	}
	if clear(expires); s.hasExpires && expires == nil {
		expires = make(map[string]time.Duration, len(s.keys))
	}
	if s.hasExpires {
		v.Expires = expires
	}
	for _, k := range s.keys {
		v.Keys[k.key] = k.token
		if k.mortal {
			v.Expires[k.key] = k.expiry
		}
	}
}

// Looks yields the snapshots of the history's looks, in order. They stay as they are.
func (p *Packed) Looks() iter.Seq[*Snapshot] {
	if p.lines.len() > 0 {
		return func(yield func(*Snapshot) bool) {
			for i := range p.looks.len() {
				if !yield(p.looks.at(i)) {
					return
				}
			}
		}
	}
	return func(yield func(*Snapshot) bool) {
		for i := range p.Ops {
			if p.Ops[i].F != FSnapshot {
				continue
			}
			if s, is := SnapshotOf(&p.Ops[i]); is && !yield(&s) {
				return
			}
		}
	}
}
