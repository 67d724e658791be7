package world

import "math/bits"

// wheel holds the events of the next moments, by their time: each bucket has those of some
// microseconds, in order. At most one turn of the wheel is in use at a time, so the lower bits
// of a time determine its bucket.
//
// With the heap alone BenchmarkAttempts makes 30 % fewer attempts per second of processor time
// (118,000 against 169,000), and BenchmarkCampaign simulates 12 % less.
type wheel struct {
	buckets [buckets]*Event // the first event of a ring
	full    [buckets / 64]uint64
}

const (
	// A bucket covers 33 µs, in which a world with a few clients has one or two events. All
	// buckets cover 67 ms, within which most timeouts for a master end.
	bucketBits = 15 // of ns
	buckets    = 2048
)

// crowded is the number of events that add may pass. Beyond that the heap is faster: the
// replies to everything that a paused master had not read arrive within a few buckets.
const crowded = 64

// add puts an event into its bucket, or returns false if it would have to pass too many
// events. Most events come after all those in the bucket.
func (w *wheel) add(at int64, e *Event) bool {
	i := at >> bucketBits & (buckets - 1)
	first := w.buckets[i]
	if first == nil {
		e.at, e.prev, e.next = at, e, e
		w.buckets[i] = e
		w.full[i/64] |= 1 << (i % 64)
		return true
	}
	before := first.prev
	for passed := 0; before.at > at; passed++ {
		if passed == crowded {
			return false
		}
		if before == first { // before all others
			w.buckets[i] = e
			before = before.prev
			break
		}
		before = before.prev
	}
	e.at, e.prev, e.next = at, before, before.next
	e.prev.next, e.next.prev = e, e
	return true
}

func (w *wheel) remove(e *Event) {
	i := e.at >> bucketBits & (buckets - 1)
	switch {
	case e.next == e:
		w.buckets[i] = nil
		w.full[i/64] &^= 1 << (i % 64)
	default:
		if w.buckets[i] == e {
			w.buckets[i] = e.next
		}
		e.prev.next, e.next.prev = e.next, e.prev
	}
	e.prev, e.next = nil, nil
}

// first returns the first event, or nil. No event is earlier than now.
func (w *wheel) first(now int64) *Event {
	from := uint(now>>bucketBits) & (buckets - 1)
	word, rest := from/64, from%64
	if set := w.full[word] >> rest; set != 0 {
		return w.buckets[(from+uint(bits.TrailingZeros64(set)))&(buckets-1)]
	}
	for range len(w.full) { // the last word is the first one again, with the bits before now's
		word = (word + 1) % uint(len(w.full))
		if set := w.full[word]; set != 0 {
			return w.buckets[word*64+uint(bits.TrailingZeros64(set))]
		}
	}
	return nil
}

// each calls f with all events, in no particular order.
func (w *wheel) each(f func(e *Event, at int64)) {
	for i, set := range w.full {
		for ; set != 0; set &= set - 1 {
			first := w.buckets[i*64+bits.TrailingZeros64(set)]
			for e := first; ; {
				f(e, e.at)
				if e = e.next; e == first {
					break
				}
			}
		}
	}
}
