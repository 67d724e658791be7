package world

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type nothing struct{}

func (nothing) Fire() {}

// TestQueueIsInOrder: whatever is scheduled, put off and taken back, what happens is
// what a sorted list says.
func TestQueueIsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type plan struct{ at, order int64 }
		var q queue
		events := make([]Event, 40)
		planned := map[int]plan{} // what a list would have
		now, order := int64(0), int64(0)
		happened := func(e *Event) {
			i := slices.IndexFunc(events, func(x Event) bool { return x.who == e.who })
			if planned[i].at != now {
				t.Fatalf("event %d, planned for %d, happens at %d", i, planned[i].at, now)
			}
			delete(planned, i)
		}
		for i := range events {
			events[i].who, events[i].Do = i+1, nothing{}
		}
		schedule := func(i int, in int64) {
			order++
			planned[i] = plan{now + in, order}
			q.schedule(now, planned[i].at, &events[i])
		}
		in := func(t *rapid.T, least int64) int64 { // at the same time as others, in a bucket with others, alone, far away
			unit := rapid.SampledFrom([]int64{1, 1 << 12, 1 << bucketBits, buckets << bucketBits}).Draw(t, "unit")
			return rapid.Int64Range(least, 30).Draw(t, "in") * unit
		}
		for i := range events { // enough for a heap of three levels
			schedule(i, in(t, 1)+rapid.Int64Range(0, 1).Draw(t, "far")*buckets<<bucketBits)
		}
		t.Repeat(map[string]func(*rapid.T){
			"schedule": func(t *rapid.T) {
				schedule(rapid.IntRange(0, len(events)-1).Draw(t, "event"), in(t, 0))
			},
			"cancel": func(t *rapid.T) {
				i := rapid.IntRange(0, len(events)-1).Draw(t, "event")
				_, was := planned[i]
				if q.cancel(&events[i]) != was {
					t.Fatalf("event %d: planned %v, and cancel says otherwise", i, was)
				}
				delete(planned, i)
			},
			"advance": func(t *rapid.T) {
				q.prune()
				if len(q.due) == 0 {
					at, one, ok := q.advance(now)
					if ok != (len(planned) > 0) {
						t.Fatalf("%d are planned, and ok is %v", len(planned), ok)
					}
					if !ok {
						return
					}
					now = at
					if one != nil {
						happened(one)
						return
					}
				}
				var want []int // in order of the tickets
				for i, p := range planned {
					if p.at == now {
						want = append(want, i+1)
					}
				}
				slices.SortFunc(want, func(a, b int) int { return cmp.Compare(planned[a-1].order, planned[b-1].order) })
				var due []int
				for _, x := range q.due {
					due = append(due, x.event.who)
				}
				if !slices.Equal(due, want) {
					t.Fatalf("at %d %v are due, not %v", now, due, want)
				}
				happened(q.take(rapid.IntRange(0, len(q.due)-1).Draw(t, "which")))
			},
			"": func(t *rapid.T) {
				for i, p := range planned {
					if p.at < now {
						t.Fatalf("event %d was forgotten: it was planned for %d, and it is %d", i, p.at, now)
					}
				}
				for i := range events {
					e := &events[i]
					if s := e.inHeap; s != 0 && q.far.events[s-1] != e {
						t.Fatalf("event %d is not where it is said to be in the heap", i)
					}
					if e.next != nil && (e.inHeap != 0 || e.next.prev != e || e.prev.next != e) {
						t.Fatalf("event %d is not where its neighbours say", i)
					}
				}
				seen := 0
				q.each(func(e *Event, at int64) {
					if p, ok := planned[e.who-1]; !ok || p.at != at {
						t.Fatalf("event %d is there for %d, and planned for %v", e.who, at, p)
					}
					seen++
				})
				for _, x := range q.due {
					if !x.stale() {
						seen++
					}
				}
				if seen != len(planned) {
					t.Fatalf("%d are planned, and %d are there", len(planned), seen)
				}
			},
		})
	})
}
