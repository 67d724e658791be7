package checker

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"lockpick/history"
)

// lookFrom and lookTo bound when a snapshot of a master's keys was taken: after it was asked
// for, and before the answer was there.
func lookFrom(op *history.Op) time.Duration { return op.Time - op.Value.Delay - op.Value.Took }
func lookTo(op *history.Op) time.Duration   { return op.Time - op.Value.Delay }

// party is a client that uses a token: a weak lock may give one token to two clients.
type party struct{ client, token string }

// commandLog is all commands of one party to one master about one key, in the order of the answers.
type commandLog struct {
	number               int32 // in the order in which they begin
	master, key          string
	who                  party
	sets, extends, frees votes
}

// place is a key on a master.
type place struct{ master, key string }

// route is a client and a key on a master.
type route struct {
	place
	client string
}

type logID struct {
	place
	who party
}

// trailKey is a token under a key on a master.
type trailKey struct {
	place
	token string
}

// packedLog is a command log as positions of its votes in command logs.votes.
type packedLog struct {
	route, token              int32
	sets, extends, frees, end int32 // where they begin; and where the last ones end
	next                      int32 // commandLog with that token, -1 if there is none
}

// commandLogs are all command logs of a history, in the order in which they begin, with indexes of them.
type commandLogs struct {
	h       *history.Packed
	packed  [][]packedLog // all but the last are full
	count   int32         // of the command logs
	votes   []int32       // the numbers of the votes, by command log and command, in order
	routes  []route
	routeOf map[route]int32
	byToken []int32          // the first command log with each token, -1 if there is none
	far     map[uint64]int32 // those that are far down in byToken's lists
	byPlace map[place][]int32
	places  []place
	yes     map[place]votes // SETs to which a master said yes, in order
	stores  map[place]votes // the same, and extensions
	shows   map[trailKey][]*history.Op
	crashes map[string]moments       // by client
	looks   map[string][]*history.Op // by master; also what it stored after a restart
	longest map[string]time.Duration // by master: from when a look began to its line, at most
	names   map[place]string         // of the key on the master, where it is not the lock's name
}

// logChunk is how many command logs are allocated at once.
const logChunk = 1 << 14

func (t *commandLogs) at(n int32) *packedLog { return &t.packed[n/logChunk][n%logChunk] }

// near is how many command logs of one token are searched one by one. Most tokens have one command log for
// each master; a lock that uses one token for everything has many, which are looked up in a map.
const near = 16

func farKey(route, token int32) uint64 { return uint64(uint32(route))<<32 | uint64(uint32(token)) }

// find is the command log of a token on a route, or -1.
func (t *commandLogs) find(route, token int32) int32 {
	n := t.byToken[token]
	for steps := 0; n >= 0; n = t.at(n).next {
		if t.at(n).route == route {
			return n
		}
		if steps++; steps == near {
			if n, known := t.far[farKey(route, token)]; known {
				return n
			}
			return -1
		}
	}
	return -1
}

// begin is a new command log of a token on a route.
func (t *commandLogs) begin(route, token int32) int32 {
	n := t.count
	t.count++
	if n%logChunk == 0 {
		t.packed = append(t.packed, make([]packedLog, 0, min(logChunk, t.h.Len())))
	}
	last := &t.packed[len(t.packed)-1]
	*last = append(*last, packedLog{route: route, token: token, next: -1})
	link, steps := &t.byToken[token], 0
	for ; *link >= 0 && steps < near; steps++ {
		link = &t.at(*link).next
	}
	if steps == near {
		t.at(n).next = *link
		t.far[farKey(route, token)] = n
	}
	*link = n
	return n
}

// commandLog unpacks a command log.
func (t *commandLogs) commandLog(n int32) commandLog {
	x := t.at(n)
	on := &t.routes[x.route]
	at := func(from, to int32) votes { return votes{t.h, t.votes[from:to:to]} }
	return commandLog{number: n, master: on.master, key: on.key, who: party{on.client, t.h.Tokens()[x.token]},
		sets: at(x.sets, x.extends), extends: at(x.extends, x.frees), frees: at(x.frees, x.end)}
}

// byID is the command log of a party at a place, or nil.
func (t *commandLogs) byID(id logID) *commandLog {
	token := t.h.FindToken(id.who.token)
	on, known := t.routeOf[route{id.place, id.who.client}]
	if token < 0 || !known {
		return nil
	}
	if n := t.find(on, token); n >= 0 {
		x := t.commandLog(n)
		return &x
	}
	return nil
}

// all yields all command logs, each in the place of the one before.
func (t *commandLogs) all() iter.Seq[*commandLog] {
	return func(yield func(*commandLog) bool) {
		var x commandLog
		for n := range t.count {
			if x = t.commandLog(n); !yield(&x) {
				return
			}
		}
	}
}

// on yields the command logs at a place, each in the place of the one before.
func (t *commandLogs) on(p place) iter.Seq[*commandLog] {
	return func(yield func(*commandLog) bool) {
		var x commandLog
		for _, n := range t.byPlace[p] {
			if x = t.commandLog(n); !yield(&x) {
				return
			}
		}
	}
}

// sharing reports whether several clients act under a command log's token at its place.
func (t *commandLogs) sharing(x *commandLog) bool {
	mine := t.at(x.number)
	for n := t.byToken[mine.token]; n >= 0; n = t.at(n).next {
		if other := t.at(n).route; other != mine.route && t.routes[other].place == t.routes[mine.route].place {
			return true
		}
	}
	return false
}

// first is the first command log with a token under a key, or nil.
func (t *commandLogs) first(key, token string) *commandLog {
	first := int32(-1)
	if number := t.h.FindToken(token); number >= 0 {
		for n := t.byToken[number]; n >= 0; n = t.at(n).next {
			if t.routes[t.at(n).route].key == key && (first < 0 || n < first) {
				first = n
			}
		}
	}
	if first < 0 {
		return nil
	}
	x := t.commandLog(first)
	return &x
}

// stored is the name of a lock's key on a master, learned from the commands about it.
func (t *commandLogs) stored(p place) string {
	if name := t.names[p]; name != "" {
		return name
	}
	return p.key
}

// snapshots are those that show a party's token on a master, in order.
func (t *commandLogs) snapshots(x *commandLog) []*history.Op {
	p := place{x.master, x.key}
	return t.shows[trailKey{place{x.master, t.stored(p)}, x.who.token}]
}

// sent is the latest time at which a command can have been sent.
func sent(v history.Vote) time.Duration { return v.At - v.Took }

// part is where a vote stands in its command log: among the SETs, the extensions, the releases, or
// nowhere.
func part(command string) int {
	switch command {
	case history.CommandSet:
		return 0
	case history.CommandExtend:
		return 1
	case history.CommandRelease:
		return 2
	}
	return -1
}

// group builds the command logs from the votes.
func (t *commandLogs) group() {
	h := t.h
	type kind struct {
		route int32
		part  int
		place int
		yes   bool
	}
	kinds := make([]kind, len(h.Kinds()))
	type stored struct{ yes, stores []int32 }
	var placed []stored
	placeOf := map[place]int{}
	for i := range h.Kinds() {
		k := &h.Kinds()[i]
		at := route{place{k.Master, k.Key}, k.Client}
		number, known := t.routeOf[at]
		if !known {
			number = int32(len(t.routes))
			t.routes = append(t.routes, at)
			t.routeOf[at] = number
		}
		where, known := placeOf[at.place]
		if !known {
			where = len(placed)
			placed = append(placed, stored{})
			placeOf[at.place] = where
		}
		kinds[i] = kind{number, part(k.Command), where, k.Yes}
		if k.Stored != k.Key {
			t.names[at.place] = k.Stored
		}
	}
	trailOf := make([]int32, h.Len())
	for i := range h.Len() {
		id := h.InOrder(i)
		k, token := &kinds[h.KindNumber(id)], h.TokenNumber(id)
		n := t.find(k.route, token)
		if n < 0 {
			n = t.begin(k.route, token)
			at := t.routes[k.route].place
			if t.byPlace[at] == nil {
				t.places = append(t.places, at)
			}
			t.byPlace[at] = append(t.byPlace[at], n)
		}
		trailOf[id] = n
		x := t.at(n)
		switch k.part { // counts, for now
		case 0:
			x.sets++
		case 1:
			x.extends++
		case 2:
			x.frees++
		}
		if k.yes && (k.part == 0 || k.part == 1) {
			p := &placed[k.place]
			p.stores = append(p.stores, id)
			if k.part == 0 {
				p.yes = append(p.yes, id)
			}
		}
	}
	for at, i := range placeOf {
		t.yes[at], t.stores[at] = votes{h, placed[i].yes}, votes{h, placed[i].stores}
	}
	sum := int32(0)
	for n := range t.count { // counts become ends, which the votes move down to the beginnings
		x := t.at(n)
		x.sets += sum
		x.extends += x.sets
		x.frees += x.extends
		sum = x.frees
		x.end = sum
	}
	t.votes = make([]int32, sum)
	for i := h.Len() - 1; i >= 0; i-- {
		id := h.InOrder(i)
		x := t.at(trailOf[id])
		var to *int32
		switch kinds[h.KindNumber(id)].part {
		case 0:
			to = &x.sets
		case 1:
			to = &x.extends
		case 2:
			to = &x.frees
		default:
			continue
		}
		*to--
		t.votes[*to] = id
	}
}

// commandLogs returns the command logs, which it builds at the first call.
func (r *run) commandLogs() *commandLogs {
	if r.logs != nil {
		return r.logs
	}
	t := &commandLogs{h: r.h, routeOf: map[route]int32{}, far: map[uint64]int32{}, byPlace: map[place][]int32{}, yes: map[place]votes{}, stores: map[place]votes{},
		shows: map[trailKey][]*history.Op{}, crashes: map[string]moments{}, looks: map[string][]*history.Op{}, longest: map[string]time.Duration{}, names: map[place]string{}}
	t.byToken = make([]int32, len(r.h.Tokens()))
	for i := range t.byToken {
		t.byToken[i] = -1
	}
	t.group()
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
				t.look(op.Process, &look)
			}
			if op.Value.State != "down" {
				delete(down, op.Process)
			}
		case op.F == history.FCrash:
			t.crashes[op.Process] = append(t.crashes[op.Process], op.Time)
		case op.F == history.FLook && op.Value != nil && op.Value.Keys != nil:
			t.look(op.Process, op)
			for key, token := range op.Value.Keys {
				id := trailKey{place{op.Process, key}, token}
				t.shows[id] = append(t.shows[id], op)
			}
		}
	}
	r.logs = t
	return t
}

// look adds a look at a master, in the order of their lines.
func (t *commandLogs) look(master string, op *history.Op) {
	t.looks[master] = append(t.looks[master], op)
	t.longest[master] = max(t.longest[master], op.Time-lookFrom(op))
}

// looksWithin are the looks at a master that began within a time, in the order of their lines. One
// that ended later may have begun earlier: what a master stored after an outage is seen since then.
func (t *commandLogs) looksWithin(master string, from, to time.Duration) iter.Seq[*history.Op] {
	return func(yield func(*history.Op) bool) {
		looks := t.looks[master]
		i, _ := slices.BinarySearchFunc(looks, from, func(op *history.Op, at time.Duration) int { return cmp.Compare(op.Time, at) })
		for _, look := range looks[i:] {
			if look.Time-t.longest[master] >= to {
				return
			}
			if began := lookFrom(look); began > from && began < to && !yield(look) {
				return
			}
		}
	}
}

// missed is a look within a time that shows that a master did not store a token, or nil.
func (t *commandLogs) missed(p place, token string, from, to time.Duration) *history.Op {
	for look := range t.looksWithin(p.master, from, to) {
		if lookTo(look) < to && look.Value.Keys[t.stored(p)] != token {
			return look
		}
	}
	return nil
}
