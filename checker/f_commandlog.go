package checker

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"lockpick/history"
)

// snapshotBegan and snapshotEnded bound when a snapshot of a master's keys was taken: after the request was
// sent, and before the reply arrived.
func snapshotBegan(op *history.Op) time.Duration { return op.Time - op.Value.Delay - op.Value.Took }

func snapshotEnded(op *history.Op) time.Duration { return op.Time - op.Value.Delay }

// party is a client and a token that it uses: a weak lock may give one token to two clients.
type party struct{ client, token string }

// commandLog holds all commands of one party to one master about one key, in the order of the answers.
type commandLog struct {
	number               int32 // counts the command logs in the order of their first votes
	master, key          string
	who                  party
	sets, extends, frees votes
}

// place identifies a key on a master.
type place struct{ master, key string }

// route identifies a client and a key on a master.
type route struct {
	place
	client string
}

type logID struct {
	place
	who party
}

// tokenKey identifies a token under a key on a master.
type tokenKey struct {
	place
	token string
}

// packedLog is a command log as positions of its votes in commandLogs.votes.
type packedLog struct {
	route, token              int32
	sets, extends, frees, end int32 // where each command's votes begin; where the last ones end
	next                      int32 // the next command log with the same token, -1 if there is none
}

// commandLogs holds all command logs of a history, in the order of their first votes, and indexes
// of them.
type commandLogs struct {
	h       *history.Packed
	packed  [][]packedLog // chunks of logChunk; all but the last are full
	count   int32         // number of command logs
	votes   []int32       // the ids of the votes, by command log and command, in order
	routes  []route
	routeOf map[route]int32
	byToken []int32          // the first command log with each token, -1 if there is none
	far     map[uint64]int32 // the command logs beyond the first near ones of a token's list
	byPlace map[place][]int32
	places  []place
	yes     map[place]votes // the SETs that the master granted, in order
	stores  map[place]votes // the SETs and extensions that the master granted, in order
	shows   map[tokenKey][]*history.Op
	crashes map[string]moments       // by client
	taken   map[string][]*history.Op // snapshots by master; also the keys that it stored after a restart
	longest map[string]time.Duration // by master: the longest time from the beginning of a snapshot to its line
	names   map[place]string         // the Redis key, where it differs from the lock's name
}

// logChunk is the number of command logs that are allocated at once.
const logChunk = 1 << 14

func (t *commandLogs) at(n int32) *packedLog { return &t.packed[n/logChunk][n%logChunk] }

// near is the number of command logs of one token that find compares one by one. Most tokens have
// one command log for each master; a lock that uses one token for everything has many, which far
// indexes.
const near = 16

func farKey(route, token int32) uint64 { return uint64(uint32(route))<<32 | uint64(uint32(token)) }

// find returns the number of the command log of a token on a route, or -1.
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

// begin adds a command log of a token on a route and returns its number.
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

// byID returns the command log of a party at a place, or nil.
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

// all yields all command logs. It reuses one variable: a caller must not keep the pointer.
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

// on yields the command logs at a place. It reuses one variable: a caller must not keep the pointer.
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

// sharing reports whether another client uses a command log's token at the same place.
func (t *commandLogs) sharing(x *commandLog) bool {
	mine := t.at(x.number)
	for n := t.byToken[mine.token]; n >= 0; n = t.at(n).next {
		if other := t.at(n).route; other != mine.route && t.routes[other].place == t.routes[mine.route].place {
			return true
		}
	}
	return false
}

// first returns the first command log with a token under a key, or nil.
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

// stored returns the Redis key of a lock's key on a master, learned from the commands about it.
func (t *commandLogs) stored(p place) string {
	if name := t.names[p]; name != "" {
		return name
	}
	return p.key
}

// snapshots returns the snapshots that list a party's token on a master, in order.
func (t *commandLogs) snapshots(x *commandLog) []*history.Op {
	p := place{x.master, x.key}
	return t.shows[tokenKey{place{x.master, t.stored(p)}, x.who.token}]
}

// part returns the part of a command log that a command belongs to: 0 for the SETs, 1 for the
// extensions, 2 for the releases, -1 for any other command.
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
	logOf := make([]int32, h.Len())
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
		logOf[id] = n
		x := t.at(n)
		switch k.part { // these fields hold counts until the loop below turns them into positions
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
	for n := range t.count { // turn the counts into end positions; storing the votes backwards lowers these to the beginnings
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
		x := t.at(logOf[id])
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

// commandLogs returns the command logs.
func (r *run) commandLogs() *commandLogs { return r.logs.get(r.findCommandLogs) }

func (r *run) findCommandLogs() *commandLogs {
	t := &commandLogs{h: r.h, routeOf: map[route]int32{}, far: map[uint64]int32{}, byPlace: map[place][]int32{}, yes: map[place]votes{}, stores: map[place]votes{},
		shows: map[tokenKey][]*history.Op{}, crashes: map[string]moments{}, taken: map[string][]*history.Op{}, longest: map[string]time.Duration{}, names: map[place]string{}}
	t.byToken = make([]int32, len(r.h.Tokens()))
	for i := range t.byToken {
		t.byToken[i] = -1
	}
	t.group()
	down := map[string]time.Duration{} // by master: when it went down
	for i := range r.h.Ops {
		op := &r.h.Ops[i]
		switch {
		case op.F == history.FState && op.Value != nil:
			if op.Value.State == "down" {
				down[op.Process] = op.Time
			} else if since, was := down[op.Process]; was && op.Value.Keys != nil {
				// The keys that it stored when it was up again: read at some time since it went down.
				snapshot := *op
				value := *op.Value
				value.Took = op.Time - since
				snapshot.Value = &value
				t.addSnapshot(op.Process, &snapshot)
			}
			if op.Value.State != "down" {
				delete(down, op.Process)
			}
		case op.F == history.FCrash:
			t.crashes[op.Process] = append(t.crashes[op.Process], op.Time)
		case op.F == history.FSnapshot && op.Value != nil && op.Value.Keys != nil:
			t.addSnapshot(op.Process, op)
			for key, token := range op.Value.Keys {
				id := tokenKey{place{op.Process, key}, token}
				t.shows[id] = append(t.shows[id], op)
			}
		}
	}
	return t
}

// addSnapshot adds a snapshot of a master, in the order of the lines.
func (t *commandLogs) addSnapshot(master string, op *history.Op) {
	t.taken[master] = append(t.taken[master], op)
	t.longest[master] = max(t.longest[master], op.Time-snapshotBegan(op))
}

// snapshotsWithin yields the snapshots of a master that began between two times, in the order of their
// lines. A later line may have begun earlier: a snapshot after an outage begins with the outage.
func (t *commandLogs) snapshotsWithin(master string, from, to time.Duration) iter.Seq[*history.Op] {
	return func(yield func(*history.Op) bool) {
		taken := t.taken[master]
		i, _ := slices.BinarySearchFunc(taken, from, func(op *history.Op, at time.Duration) int { return cmp.Compare(op.Time, at) })
		for _, snapshot := range taken[i:] {
			if snapshot.Time-t.longest[master] >= to {
				return
			}
			if began := snapshotBegan(snapshot); began > from && began < to && !yield(snapshot) {
				return
			}
		}
	}
}

// missed returns a snapshot between two times that does not list a token on a master, or nil.
func (t *commandLogs) missed(p place, token string, from, to time.Duration) *history.Op {
	for snapshot := range t.snapshotsWithin(p.master, from, to) {
		if snapshotEnded(snapshot) < to && snapshot.Value.Keys[t.stored(p)] != token {
			return snapshot
		}
	}
	return nil
}

// holderAt returns the command log whose key a master stored at a time, by its votes, or nil. It is
// the last command log with a yes to a SET or an extension, unless the master has since said yes to
// a release of that key or the key's TTL was over.
func (r *run) holderAt(p place, when time.Duration) *commandLog {
	t := r.commandLogs()
	var last *commandLog
	since := time.Duration(-1)
	stores := t.stores[p]
	for i := stores.since(when+1) - 1; i >= 0; i-- {
		v := stores.at(i)
		if v.At < since || when >= v.At+r.longestLife() {
			break
		}
		if when >= v.At+r.lifetime(v) {
			continue
		}
		if x := t.byID(logID{p, party{v.Client, v.Token}}); last == nil || x.number < last.number { // of answers at one time, the log that began last
			last, since = x, v.At
		}
	}
	if last == nil {
		return nil
	}
	for v := range last.frees.all() {
		if v.Yes && v.At >= since && v.At <= when {
			return nil
		}
	}
	return last
}
