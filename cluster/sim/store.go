package sim

import (
	"math"
	"slices"

	"lockpick/cluster"
)

// value is the value of a key. It is never changed in place.
type value struct {
	text    string
	hash    map[string]string // nil: it is a string
	expires int64             // ms on the master's wall clock; never: it does not expire
}

const never = math.MaxInt64

// size returns approximately how many bytes the value and its key have on a disk.
func (v *value) size(key string) int64 {
	n := int64(len(key)+len(v.text)) + 40
	for field, x := range v.hash {
		n += int64(len(field) + len(x) + 10)
	}
	return n
}

// store holds the keys of a master. Every change to them goes through put and drop.
//
// Locks have few keys. A linear search among them is faster than a map, and most commands are
// about the same key as the one before.
type store struct {
	pairs   []pair                                                          // in no particular order
	latest  int                                                             // index in pairs of the key that was read last
	places  map[string]int                                                  // indexes in pairs; nil: there are few keys
	changed func(key string, v value, gone bool)                            // called with every change
	swept   int                                                             // number of keys after the last sweep
	watch   func(kind cluster.ChangeKind, key string, before, after *value) // nil: no observer
	weighed bool                                                            // bytes is maintained
	bytes   int64                                                           // approximate size of all keys
}

type pair struct {
	key string
	value
}

// few is the number of keys up to which there is no map.
const few = 8

func newStore(changed func(key string, v value, gone bool)) store {
	return store{changed: changed}
}

// find returns the position of a key in pairs, or -1.
func (s *store) find(key string) int {
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

func (s *store) put(key string, v value) {
	i := s.find(key)
	if i < 0 {
		s.insert(key, v)
		return
	}
	if s.weighed {
		s.weigh(i, -1)
		s.bytes += v.size(key)
	}
	if s.watch != nil {
		old := s.pairs[i].value
		s.watch(changeOf(&old, &v), key, &old, &v)
	}
	s.pairs[i].value = v
	s.changed(key, v, false)
}

// insert adds a key that get has just not found.
func (s *store) insert(key string, v value) {
	if s.weighed {
		s.bytes += v.size(key)
	}
	s.add(key, v)
	if s.watch != nil {
		s.watch(cluster.Created, key, nil, &v)
	}
	s.changed(key, v, false)
}

// add does the same as insert, without calling changed.
func (s *store) add(key string, v value) {
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

func (s *store) drop(key string, why cluster.ChangeKind) {
	if i := s.find(key); i >= 0 {
		s.remove(i, why)
	} else {
		s.changed(key, value{}, true)
	}
}

// remove does the same as drop for the key at a position.
func (s *store) remove(i int, why cluster.ChangeKind) {
	key := s.pairs[i].key
	if s.watch != nil {
		old := s.pairs[i].value
		s.watch(why, key, &old, nil)
	}
	if s.weighed {
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
	s.changed(key, value{}, true)
}

// weigh adds the size of a pair to bytes, or subtracts it.
func (s *store) weigh(i int, sign int64) {
	if i >= 0 {
		s.bytes += sign * s.pairs[i].size(s.pairs[i].key)
	}
}

// load replaces all keys, without calling changed.
func (s *store) load(keys map[string]value) {
	clear(s.pairs)
	s.pairs, s.places, s.latest = s.pairs[:0], nil, 0
	s.swept, s.bytes = len(keys), 0
	for key, v := range keys {
		s.add(key, v)
		if s.weighed {
			s.weigh(s.latest, 1)
		}
	}
}

// all returns a copy of the keys and their values.
func (s *store) all() map[string]value {
	keys := make(map[string]value, len(s.pairs))
	for i := range s.pairs {
		keys[s.pairs[i].key] = s.pairs[i].value
	}
	return keys
}

// get finds a key that has not expired.
func (s *store) get(key string, now int64) (value, bool) {
	if i := s.live(key, now); i >= 0 {
		return s.pairs[i].value, true
	}
	return value{}, false
}

// live returns the position of a key that has not expired, or -1. Redis keeps a key during its
// last millisecond: the key is gone when the clock shows more than the time of its expiry.
func (s *store) live(key string, now int64) int {
	i := s.find(key)
	if i >= 0 && now > s.pairs[i].expires {
		s.remove(i, cluster.Expired)
		return -1
	}
	return i
}

// sweep deletes the keys that have expired before a time, as Redis does by itself ten times a
// second. It handles the keys in sorted order, so that the log is always the same.
func (s *store) sweep(before int64) {
	var gone []string
	for i := range s.pairs {
		if s.pairs[i].expires < before {
			gone = append(gone, s.pairs[i].key)
		}
	}
	slices.Sort(gone)
	for _, key := range gone {
		s.drop(key, cluster.Expired)
	}
	s.swept = len(s.pairs)
}

// names returns the keys, sorted.
func (s *store) names() []string {
	names := make([]string, len(s.pairs))
	for i := range s.pairs {
		names[i] = s.pairs[i].key
	}
	slices.Sort(names)
	return names
}
