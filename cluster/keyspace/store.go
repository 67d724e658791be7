package keyspace

import (
	"slices"

	"lockpick/cluster"
)

// Store holds the keys of a server. Every change to them goes through Put and Drop.
//
// Locks have few keys. A linear search among them is faster than a map, and most commands are
// about the same key as the one before.
type Store struct {
	Epoch   int64                                                           // Unix time in ms of time 0 of the server's clock
	Intn    func(n int) int                                                 // a random number below n, for RANDOMKEY and the like
	Watch   func(kind cluster.ChangeKind, key string, before, after *Value) // is told of every change; nil: no observer
	Read    func(key string)                                                // is told of every key that a command looks for; nil: no observer
	Weighed bool                                                            // Bytes is maintained
	Bytes   int64                                                           // approximate size of all keys

	changed func(key string, v Value, gone bool) // called with every change
	pairs   []pair                               // in no particular order
	latest  int                                  // index in pairs of the key that was read last
	places  map[string]int                       // indexes in pairs; nil: there are few keys
	swept   int                                  // number of keys after the last sweep
}

type pair struct {
	key string
	Value
}

// few is the number of keys up to which there is no map.
const few = 8

// NewStore returns a store without keys. It calls changed with every change.
func NewStore(changed func(key string, v Value, gone bool)) Store {
	return Store{changed: changed}
}

// find returns the position of a key in pairs, or -1.
func (s *Store) find(key string) int {
	if i := s.latest; i < len(s.pairs) && s.pairs[i].key == key {
		return i
	}
	if s.places != nil {
		if i, ok := s.places[key]; ok {
			s.latest = i
			return i
		}
		return -1
	}
	for i := range s.pairs {
		if s.pairs[i].key == key {
			s.latest = i
			return i
		}
	}
	return -1
}

// Put stores a value.
func (s *Store) Put(key string, v Value) {
	i := s.find(key)
	if i < 0 {
		s.insert(key, v)
		return
	}
	if s.Weighed {
		s.weigh(i, -1)
		s.Bytes += v.Size(key)
	}
	if s.Watch != nil {
		old := s.pairs[i].Value
		s.Watch(changeOf(&old, &v), key, &old, &v)
	}
	s.pairs[i].Value = v
	s.changed(key, v, false)
}

// insert adds a key that Get has just not found.
func (s *Store) insert(key string, v Value) {
	if s.Weighed {
		s.Bytes += v.Size(key)
	}
	s.add(key, v)
	if s.Watch != nil {
		s.Watch(cluster.Created, key, nil, &v)
	}
	s.changed(key, v, false)
}

// add does the same as insert, without calling changed.
func (s *Store) add(key string, v Value) {
	s.latest = len(s.pairs)
	s.pairs = append(s.pairs, pair{key, v})
	switch {
	case s.places != nil:
		s.places[key] = s.latest
	case len(s.pairs) > few:
		s.places = make(map[string]int, 2*few)
		for i := range s.pairs {
			s.places[s.pairs[i].key] = i
		}
	}
}

// Drop removes a key.
func (s *Store) Drop(key string, why cluster.ChangeKind) {
	if i := s.find(key); i >= 0 {
		s.remove(i, why)
	} else {
		s.changed(key, Value{}, true)
	}
}

// remove does the same as drop for the key at a position.
func (s *Store) remove(i int, why cluster.ChangeKind) {
	key := s.pairs[i].key
	if s.Watch != nil {
		old := s.pairs[i].Value
		s.Watch(why, key, &old, nil)
	}
	if s.Weighed {
		s.weigh(i, -1)
	}
	n := len(s.pairs) - 1
	last := &s.pairs[n]
	if s.places != nil {
		s.places[last.key] = i
		delete(s.places, key)
	}
	if i != n {
		s.pairs[i] = *last
	}
	*last = pair{}
	s.pairs = s.pairs[:n]
	s.changed(key, Value{}, true)
}

// weigh adds the size of a pair to bytes, or subtracts it.
func (s *Store) weigh(i int, sign int64) {
	if i >= 0 {
		s.Bytes += sign * s.pairs[i].Size(s.pairs[i].key)
	}
}

// Load replaces all keys, without calling changed.
func (s *Store) Load(keys map[string]Value) {
	clear(s.pairs)
	s.pairs, s.places, s.latest = s.pairs[:0], nil, 0
	s.swept, s.Bytes = len(keys), 0
	for key, v := range keys {
		s.add(key, v)
		if s.Weighed {
			s.weigh(s.latest, 1)
		}
	}
}

// All returns a copy of the keys and their values.
func (s *Store) All() map[string]Value {
	keys := make(map[string]Value, len(s.pairs))
	for i := range s.pairs {
		keys[s.pairs[i].key] = s.pairs[i].Value
	}
	return keys
}

// Get finds a key that has not expired.
func (s *Store) Get(key string, now int64) (Value, bool) {
	if i := s.live(key, now); i >= 0 {
		return s.pairs[i].Value, true
	}
	return Value{}, false
}

// live returns the position of a key that has not expired, or -1. Redis keeps a key during its
// last millisecond: the key is gone when the clock shows more than the time of its expiry.
func (s *Store) live(key string, now int64) int {
	if s.Read != nil {
		s.Read(key)
	}
	i := s.find(key)
	if i >= 0 && now > s.pairs[i].Expires {
		s.remove(i, cluster.Expired)
		return -1
	}
	return i
}

// Sweep deletes the keys that have expired before a time, as Redis does by itself ten times a
// second. It handles the keys in sorted order, so that the log is always the same.
func (s *Store) Sweep(before int64) {
	var gone []string
	for i := range s.pairs {
		if s.pairs[i].Expires < before {
			gone = append(gone, s.pairs[i].key)
		}
	}
	slices.Sort(gone)
	for _, key := range gone {
		s.Drop(key, cluster.Expired)
	}
	s.swept = len(s.pairs)
}

// NextExpiry returns the time at which the next key expires, or Never.
func (s *Store) NextExpiry() int64 {
	next := int64(Never)
	for i := range s.pairs {
		next = min(next, s.pairs[i].Expires)
	}
	return next
}

// Names returns the keys, sorted.
func (s *Store) Names() []string {
	names := make([]string, len(s.pairs))
	for i := range s.pairs {
		names[i] = s.pairs[i].key
	}
	slices.Sort(names)
	return names
}

// Len returns the number of keys, with those that have expired and were not found so yet.
func (s *Store) Len() int { return len(s.pairs) }

// Swollen reports whether there are so many more keys than after the last sweep that another one
// is worth its time.
func (s *Store) Swollen() bool { return len(s.pairs) > 64 && len(s.pairs) > 2*s.swept }

// delete removes a key for a command, if it exists.
func (s *Store) delete(key string) {
	if i := s.find(key); i >= 0 {
		s.remove(i, cluster.Deleted)
	}
}

// changeOf returns the kind of a change that replaces a value.
func changeOf(before, after *Value) cluster.ChangeKind {
	if after.Same(before) && (before.Expires != Never || after.Expires != Never) {
		return cluster.TTLSet
	}
	return cluster.Changed
}
