package sim

import (
	"maps"
	"math"
	"slices"
)

// value is what a master stores under a key. It is never changed in place.
type value struct {
	text    string
	hash    map[string]string // nil: it is a string
	expires int64             // ms on the master's wall clock; never: not at all
}

const never = math.MaxInt64

// size is how many bytes the value and its key have on a disk, about.
func (v *value) size(key string) int64 {
	n := int64(len(key)+len(v.text)) + 40
	for field, x := range v.hash {
		n += int64(len(field) + len(x) + 10)
	}
	return n
}

// store is the keys of a master. Every change to them goes through put and drop.
type store struct {
	keys    map[string]value
	changed func(key string, v value, gone bool) // told of every change
	swept   int                                  // keys after the last sweep
	weighed bool                                 // bytes is kept
	bytes   int64                                // of all keys, about
}

func newStore(changed func(key string, v value, gone bool)) store {
	return store{keys: map[string]value{}, changed: changed}
}

func (s *store) put(key string, v value) {
	if s.weighed {
		s.weigh(key, -1)
		s.bytes += v.size(key)
	}
	s.keys[key] = v
	s.changed(key, v, false)
}

func (s *store) drop(key string) {
	if s.weighed {
		s.weigh(key, -1)
	}
	delete(s.keys, key)
	s.changed(key, value{}, true)
}

// weigh adds what a key weighs to bytes, or takes it away.
func (s *store) weigh(key string, sign int64) {
	if v, ok := s.keys[key]; ok {
		s.bytes += sign * v.size(key)
	}
}

// load replaces all keys, past whoever is told of changes.
func (s *store) load(keys map[string]value) {
	s.keys, s.swept, s.bytes = keys, len(keys), 0
	if s.weighed {
		for key := range keys {
			s.weigh(key, 1)
		}
	}
}

// get finds a key that has not expired. Redis holds a key for the whole of its last
// millisecond: it is gone when the clock shows more than the time of its expiry.
func (s *store) get(key string, now int64) (value, bool) {
	v, ok := s.keys[key]
	if ok && now > v.expires {
		s.drop(key)
		return value{}, false
	}
	return v, ok
}

// sweep deletes what has expired before a time, as Redis does by itself ten times a
// second. In order of the keys, so that what is logged of it is the same each time.
func (s *store) sweep(before int64) {
	var gone []string
	for key, v := range s.keys {
		if v.expires < before {
			gone = append(gone, key)
		}
	}
	slices.Sort(gone)
	for _, key := range gone {
		s.drop(key)
	}
	s.swept = len(s.keys)
}

// names are the keys, in order.
func (s *store) names() []string { return slices.Sorted(maps.Keys(s.keys)) }
