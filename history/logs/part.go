package logs

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"

	"lockpick/history"
)

// Part is a history of some of a log's holds. Its holds do not overlap the holds of another part,
// except for the holds that it repeats.
type Part struct {
	*history.History
	Repeated int     // number of holds that are also in an earlier part: at most two
	holds    []int32 // by operation: the number of its hold, -1 if none
	repeated []int32 // the numbers of the Repeated holds
}

// IsRepeated reports whether an operation is of a hold that is also in an earlier part.
func (p *Part) IsRepeated(op int) bool { return slices.Contains(p.repeated, p.holds[op]) }

// Hold returns the number of an operation's hold in the log; -1: none.
func (p *Part) Hold(op int) int { return int(p.holds[op]) }

// Parts yields histories of about size holds each, which together contain every certain hold. It
// cuts where a lock is free. If a lock is never free within four times as many holds, Parts cuts
// there and repeats the hold and the critical section that last longest in the next part. Any goroutine may make a part
// by the function that stands for it.
func (l *Log) Parts(size int) iter.Seq[func() *Part] {
	return func(yield func(func() *Part) bool) {
		var holds []int32
		repeated := 0
		var longest, latest last // of the holds, and of the critical sections
		freeAt := int64(math.MinInt64)
		for i := range l.holds.n {
			h := l.holds.at(i)
			next := i > 0 && h.key != l.holds.at(i-1).key
			if next {
				longest, latest, freeAt = last{}, last{}, math.MinInt64
			}
			// A part that repeats holds has one key, so that they begin before all others.
			if cut := h.at >= freeAt; cut && len(holds) >= size || len(holds) >= 4*size || next && repeated > 0 {
				if !yield(l.laterPart(holds, repeated)) {
					return
				}
				holds = nil
				if !cut {
					holds = slices.Compact(append(longest.hold, latest.hold...))
				}
				repeated = len(holds)
			}
			freeAt = max(freeAt, l.exact(h).to)
			if h.flags&hasEnd != 0 {
				freeAt = max(freeAt, h.end)
			}
			f, why := l.certain(h)
			if why != sure {
				continue
			}
			holds = append(holds, int32(i))
			longest.take(i, f.to)
			latest.take(i, f.left())
		}
		if len(holds) > repeated {
			yield(l.laterPart(holds, repeated))
		}
	}
}

// laterPart returns a function that makes a part.
func (l *Log) laterPart(holds []int32, repeated int) func() *Part {
	return func() *Part { return l.part(holds, repeated, false) }
}

// last is the hold that ends last of those taken.
type last struct {
	hold []int32 // empty: none was taken
	to   int64
}

func (x *last) take(i int, to int64) {
	if len(x.hold) == 0 || to > x.to {
		x.hold, x.to = []int32{int32(i)}, to
	}
}

// All returns the history of all certain holds.
func (l *Log) All() *Part {
	holds := make([]int32, 0, l.Judged)
	for i := range l.holds.n {
		if _, why := l.certain(l.holds.at(i)); why == sure {
			holds = append(holds, int32(i))
		}
	}
	return l.part(holds, 0, true)
}

// Excerpt returns the history of some holds and, for each, of up to near holds before and after it
// on the same lock.
func (l *Log) Excerpt(about []int, near int) *Part {
	in := map[int32]bool{}
	for _, i := range about {
		key := l.holds.at(i).key
		for j := max(0, i-near); j <= min(l.holds.n-1, i+near); j++ {
			if l.holds.at(j).key != key {
				continue
			}
			if _, why := l.certain(l.holds.at(j)); why == sure {
				in[int32(j)] = true
			}
		}
	}
	holds := make([]int32, 0, len(in))
	for i := range in {
		holds = append(holds, i)
	}
	slices.Sort(holds)
	return l.part(holds, 0, true)
}

// Header returns the header of the log's histories.
func (l *Log) Header() history.Header {
	return history.Header{
		Format: history.FormatVersion, Name: "logs", Started: time.Unix(0, l.base).UTC(), Driver: history.Imported,
		Clients: min(l.Clients, history.MaxClients), Keys: min(l.Keys, history.MaxKeys), TTL: l.ttl, Nemesis: "none",
	}
}

// moment is when an operation of a part happens, and the order of operations of one time: that in which they are made.
type moment struct {
	at time.Duration
	op int32
}

// part makes the history of some holds. If named is set, each operation's Evidence names the line
// that it comes from.
func (l *Log) part(holds []int32, repeated int, named bool) *Part {
	type begun struct {
		hold int32
		form form
	}
	all := make([]begun, len(holds))
	for n, i := range holds {
		all[n].hold = i
		all[n].form, _ = l.certain(l.holds.at(int(i)))
	}
	slices.SortFunc(all, func(a, b begun) int {
		return cmp.Or(cmp.Compare(a.form.from(), b.form.from()), cmp.Compare(a.hold, b.hold))
	})
	ops := make([]history.Op, 0, 5*len(holds)+1)
	values := make([]history.Value, 0, 4*len(holds))
	holdOf := make([]int32, 0, 5*len(holds)+1) // by operation
	returned := map[string]int64{}             // by process: when its previous acquire returned
	for n := range all {
		i, f := all[n].hold, &all[n].form
		h := l.holds.at(int(i))
		process, key, token := l.process(h), l.im.keys.list[h.key], l.token(h)
		add := func(at int64, typ history.Type, what string, until int64, line place, logged int64) {
			op := history.Op{Time: time.Duration(at - l.base), Process: process, Type: typ, F: what, Key: key}
			ops, holdOf = append(ops, op), append(holdOf, i)
			if typ == history.Invoke && what == history.FAcquire {
				return
			}
			values = append(values, history.Value{Token: token})
			v := &values[len(values)-1]
			ops[len(ops)-1].Value = v
			if named {
				v.Evidence = l.evidence(line, logged)
			}
			if until != 0 {
				v.ValidUntil = time.Duration(min(until, f.to) - l.base)
				if until != math.MaxInt64 {
					v.ValidUntil = time.Duration(until - l.base)
				}
			}
		}
		add(min(max(h.requested(), returned[process], l.base), f.from()), history.Invoke, history.FAcquire, 0, h.place(), h.at)
		returned[process] = f.from()
		add(f.from(), history.OK, history.FAcquire, f.grants[0].until, h.place(), h.at)
		add(f.from(), history.OK, history.FEnter, 0, h.place(), h.at) // the release, or the last extension, ends the section
		for _, g := range f.grants[1:] {
			if g.at < f.end {
				x := g.extension
				add(g.at, history.OK, history.FExtend, g.until, place{int(x.file), int(x.line)}, x.at)
			}
		}
		if f.end != math.MaxInt64 {
			add(max(f.end, f.from()), history.Invoke, history.FRelease, 0, h.endPlace(), h.end)
			add(max(f.end, f.from()), history.OK, history.FRelease, 0, h.endPlace(), h.end)
		}
	}
	order := make([]moment, len(ops)) // sorting operations would move their texts
	for n := range ops {
		order[n] = moment{ops[n].Time, int32(n)}
	}
	slices.SortFunc(order, func(a, b moment) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.op, b.op)) })
	p := &Part{History: &history.History{Header: l.Header(), Ops: make([]history.Op, 0, len(ops)+1), Ended: true}, Repeated: repeated, repeated: holds[:repeated:repeated], holds: make([]int32, 0, len(ops)+1)}
	end := time.Duration(0)
	for n, m := range order {
		op := ops[m.op]
		op.Index = n
		p.Ops = append(p.Ops, op)
		p.holds = append(p.holds, holdOf[m.op])
		end = op.Time
	}
	p.Ops = append(p.Ops, history.Op{Index: len(order), Time: end, Process: history.Harness, Type: history.Info, F: history.FEnd})
	p.holds = append(p.holds, -1)
	return p
}

// process returns the name of a hold's client.
func (l *Log) process(h *event) string {
	w := &l.im.who[h.who]
	name := w.client
	if name == "" {
		name = l.token(h)
	}
	if w.host != "" && w.host != name {
		name = w.host + "/" + name
	}
	if name == history.Nemesis || name == history.Resource || name == history.Harness {
		name = "client " + name
	}
	return name
}

// token returns the token of a hold, or, if it has none, the line that it comes from.
func (l *Log) token(h *event) string {
	if h.text == 0 {
		return l.im.name(h.place())
	}
	return l.im.texts.at(h.text - 1)
}

// evidence returns the line of an operation in the log, and its logged time.
func (l *Log) evidence(at place, ns int64) string {
	return l.im.name(at) + ", " + wall(ns)
}

// wall formats a time of the log.
func wall(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.999999999Z") }
