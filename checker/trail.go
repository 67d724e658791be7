package checker

import (
	"cmp"
	"slices"
	"time"

	"lockpick/history"
)

// lookFrom and lookTo bound when a snapshot of a master's keys was taken: after it was asked
// for, and before the answer was there.
func lookFrom(op *history.Op) time.Duration { return op.Time - op.Value.Delay - op.Value.Took }
func lookTo(op *history.Op) time.Duration   { return op.Time - op.Value.Delay }

// party is who acts under a token: a weak lock may give one token to two clients.
type party struct{ client, token string }

// trail is all that one party asked one master about one key, in the order of the answers.
type trail struct {
	master, key          string
	who                  party
	sets, extends, frees []history.Vote
}

// place is a key on a master.
type place struct{ master, key string }

type trailID struct {
	place
	who party
}

// trailKey is a token under a key on a master.
type trailKey struct {
	place
	token string
}

// trails are the trails of a history: all of them, in the order in which they begin, and
// by what they are about.
type trails struct {
	all     []*trail
	byID    map[trailID]*trail
	byPlace map[place][]*trail
	places  []place
	yes     map[place][]history.Vote // SETs to which a master said yes, in order
	shows   map[trailKey][]*history.Op
	crashes map[string][]time.Duration // by client
	stalls  []history.Span
	looks   map[string][]*history.Op // by master; also what it stored after a restart
	names   map[place]string         // of the key on the master, where it is not the lock's name
}

// stored is the name of a lock's key on a master, learned from the commands about it.
func (t *trails) stored(p place) string {
	if name := t.names[p]; name != "" {
		return name
	}
	return p.key
}

// snapshots are those that show a party's token on a master, in order.
func (t *trails) snapshots(x *trail) []*history.Op {
	p := place{x.master, x.key}
	return t.shows[trailKey{place{x.master, t.stored(p)}, x.who.token}]
}

// sent is when a command was sent, at the latest.
func sent(v history.Vote) time.Duration { return v.At - v.Took }

// trails builds them at their first use.
func (r *run) trails() *trails {
	if r.trailed != nil {
		return r.trailed
	}
	t := &trails{byID: map[trailID]*trail{}, byPlace: map[place][]*trail{}, yes: map[place][]history.Vote{}, shows: map[trailKey][]*history.Op{}, crashes: map[string][]time.Duration{}, looks: map[string][]*history.Op{}, names: map[place]string{}}
	for _, v := range r.lookup().votes {
		id := trailID{place{v.Master, v.Key}, party{v.Client, v.Token}}
		if v.Stored != v.Key {
			t.names[id.place] = v.Stored
		}
		x := t.byID[id]
		if x == nil {
			x = &trail{master: v.Master, key: v.Key, who: id.who}
			t.byID[id] = x
			t.all = append(t.all, x)
			if t.byPlace[id.place] == nil {
				t.places = append(t.places, id.place)
			}
			t.byPlace[id.place] = append(t.byPlace[id.place], x)
		}
		switch v.Command {
		case history.CommandSet:
			x.sets = append(x.sets, v)
			if v.Yes {
				t.yes[id.place] = append(t.yes[id.place], v)
			}
		case history.CommandExtend:
			x.extends = append(x.extends, v)
		case history.CommandRelease:
			x.frees = append(x.frees, v)
		}
	}
	down := map[string]time.Duration{} // masters, since when
	for i := range r.h.Ops {
		op := &r.h.Ops[i]
		switch {
		case op.F == history.FState && op.Value != nil:
			if op.Value.State == "down" {
				down[op.Process] = op.Time
			} else if since, was := down[op.Process]; was && op.Value.Keys != nil {
				// What it stored when it had come back, at some time since it was down.
				look := *op
				value := *op.Value
				value.Took = op.Time - since
				look.Value = &value
				t.looks[op.Process] = append(t.looks[op.Process], &look)
			}
			if op.Value.State != "down" {
				delete(down, op.Process)
			}
		case op.F == history.FCrash:
			t.crashes[op.Process] = append(t.crashes[op.Process], op.Time)
		case op.F == history.FStall && op.Value != nil:
			t.stalls = append(t.stalls, history.Span{From: op.Time - op.Value.Took, To: op.Time})
		case op.F == history.FLook && op.Value != nil && op.Value.Keys != nil:
			t.looks[op.Process] = append(t.looks[op.Process], op)
			for key, token := range op.Value.Keys {
				id := trailKey{place{op.Process, key}, token}
				t.shows[id] = append(t.shows[id], op)
			}
		}
	}
	r.trailed = t
	return t
}

// missed is a look within a time that shows that a master did not store a token, or nil.
func (t *trails) missed(p place, token string, from, to time.Duration) *history.Op {
	looks := t.looks[p.master]
	i, _ := slices.BinarySearchFunc(looks, from, func(op *history.Op, at time.Duration) int { return cmp.Compare(op.Time, at) })
	for _, look := range looks[i:] {
		if lookFrom(look) >= to {
			break
		}
		if lookFrom(look) > from && lookTo(look) < to && look.Value.Keys[t.stored(p)] != token {
			return look
		}
	}
	return nil
}

// answered says whether a master answered every one of some commands: one that it did not
// answer may be carried out at any later time.
func answered(votes []history.Vote) bool {
	return !slices.ContainsFunc(votes, func(v history.Vote) bool { return v.Unknown })
}

// latest is when the last of some votes came in.
func latest(votes []history.Vote) (last time.Duration) {
	for _, v := range votes {
		last = max(last, v.At)
	}
	return last
}

// said says whether any of some votes is a yes.
func said(votes []history.Vote) bool {
	return slices.ContainsFunc(votes, func(v history.Vote) bool { return v.Yes })
}

// overlaps says whether two stretches of time touch.
func overlaps(from, to, from2, to2 time.Duration) bool { return from <= to2 && from2 <= to }

// restartedIn says whether a master's process may have ended within a time: what it
// stores then may be older than what it said.
func (r *run) restartedIn(master string, from, to time.Duration) bool {
	for _, f := range r.faults {
		if f.Installed && ends(f.Name) && slices.Contains(f.Masters, master) && overlaps(f.Began, f.To, from, to) {
			return true
		}
	}
	return slices.ContainsFunc(r.lookup().states[master], func(s state) bool { return s.is == "down" && s.at >= from && s.at <= to })
}

// endedAfter says whether a master that answered at a time may have ended after it, up to
// another: a fault that was in force by then, or after whose beginning the master was seen
// down by then, has struck before.
func (r *run) endedAfter(master string, from, to time.Duration) bool {
	downIn := func(from, to time.Duration) bool {
		return slices.ContainsFunc(r.lookup().states[master], func(s state) bool { return s.is == "down" && s.at >= from && s.at <= to })
	}
	for _, f := range r.faults {
		if f.Installed && ends(f.Name) && slices.Contains(f.Masters, master) && f.From > from && f.Began <= to && !downIn(f.Began, from) {
			return true
		}
	}
	return downIn(from+1, to)
}

// bentIn says whether a master's clock or memory was tampered with within a time.
func (r *run) bentIn(master string, from, to time.Duration) bool {
	return slices.ContainsFunc(r.faults, func(f *history.Fault) bool {
		return f.Installed && (f.Name == "clock" || f.Name == "memory") && slices.Contains(f.Masters, master) && overlaps(f.Began, f.To, from, to)
	})
}

// stalledIn says whether the harness stood still within a time, so that what it recorded
// then may be late.
func (r *run) stalledIn(from, to time.Duration) bool {
	return slices.ContainsFunc(r.trails().stalls, func(s history.Span) bool { return overlaps(s.From, s.To, from, to) })
}

// goneIn says whether a client ended within a time: what it had asked for and not heard of
// was never recorded.
func (r *run) goneIn(client string, from, to time.Duration) bool {
	return slices.ContainsFunc(r.trails().crashes[client], func(at time.Duration) bool { return at >= from && at <= to })
}

// stoppedIn says whether a client stood still within a time.
func (r *run) stoppedIn(client string, from, to time.Duration) bool {
	return slices.ContainsFunc(r.pauses[client], func(p pause) bool { return overlaps(p.from, p.to, from, to) })
}
