package facts

import (
	"cmp"
	"iter"
	"slices"
	"sort"
	"time"

	"lockpick/history"
)

// Party is a client and a token that it uses: a weak lock may give one token to two clients.
type Party struct{ Client, Token string }

// CommandLog holds all commands of one party to one master about one key, in the order of the answers.
type CommandLog struct {
	number                     int32 // counts the command logs in the order of their first votes
	Master, Key                string
	Party                      Party
	Sets, Extensions, Releases Votes
}

// Place identifies a key on a master.
type Place struct{ Master, Key string }

// route identifies a client and a key on a master.
type route struct {
	Place
	client string
}

// LogID identifies a command log.
type LogID struct {
	Place
	Party Party
}

// tokenKey identifies a token under a key on a master.
type tokenKey struct {
	Place
	token string
}

// packedLog is a command log as the position of its votes in CommandLogs.votes, which end where the next command log's begin.
type packedLog struct {
	route, token int32
	votes        int32
	next         int32 // the next command log with the same token, -1 if there is none
}

// CommandLogs holds all command logs of a history, in the order of their first votes, and indexes
// of them.
type CommandLogs struct {
	h         *history.Packed
	packed    [][]packedLog // chunks of logChunk; all but the last are full
	count     int32         // number of command logs
	votes     []int32       // the ids of the votes, by command log and command, in order
	parts     []int8        // by the number of a vote's kind: see part
	routes    []route
	routeOf   map[route]int32
	byToken   []int32          // the first command log with each token, -1 if there is none
	far       map[uint64]int32 // the command logs beyond the first near ones of a token's list
	byPlace   map[Place][]int32
	Places    []Place
	Granted   map[Place]Votes // the SETs that the master granted, in order
	stores    map[Place]Votes // the SETs and extensions that the master granted, in order
	shows     map[tokenKey][]*history.Snapshot
	crashes   map[string]moments             // by client
	Snapshots map[string][]*history.Snapshot // snapshots by master; also the keys that it stored after a restart
	longest   map[string]time.Duration       // by master: the longest time from the beginning of a snapshot to its line
	names     map[Place]string               // the Redis key, where it differs from the lock's name
}

// logChunk is the number of command logs that are allocated at once.
const logChunk = 1 << 14

func (t *CommandLogs) at(n int32) *packedLog { return &t.packed[n/logChunk][n%logChunk] }

// near is the number of command logs of one token that find compares one by one. Most tokens have
// one command log for each master; a lock that uses one token for everything has many, which far
// indexes.
const near = 16

func farKey(route, token int32) uint64 { return uint64(uint32(route))<<32 | uint64(uint32(token)) }

// find returns the number of the command log of a token on a route, or -1.
func (t *CommandLogs) find(route, token int32) int32 {
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
func (t *CommandLogs) begin(route, token int32) int32 {
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
func (t *CommandLogs) commandLog(n int32) CommandLog {
	x := t.at(n)
	on := &t.routes[x.route]
	end := len(t.votes)
	if n+1 < t.count {
		end = int(t.at(n + 1).votes)
	}
	votes := t.votes[x.votes:end:end]
	after := func(part int8) int {
		return sort.Search(len(votes), func(i int) bool { return t.partOf(votes[i]) > part })
	}
	extends, frees := after(0), after(1)
	at := func(from, to int) Votes { return Votes{t.h, votes[from:to:to]} }
	return CommandLog{number: n, Master: on.Master, Key: on.Key, Party: Party{on.client, t.h.Tokens()[x.token]},
		Sets: at(0, extends), Extensions: at(extends, frees), Releases: at(frees, len(votes))}
}

// partOf returns the part of its command log that a vote belongs to.
func (t *CommandLogs) partOf(id int32) int8 { return t.parts[t.h.KindNumber(id)] }

// ByID returns the command log of a party at a place, or nil.
func (t *CommandLogs) ByID(id LogID) *CommandLog {
	token := t.h.FindToken(id.Party.Token)
	on, known := t.routeOf[route{id.Place, id.Party.Client}]
	if token < 0 || !known {
		return nil
	}
	if n := t.find(on, token); n >= 0 {
		x := t.commandLog(n)
		return &x
	}
	return nil
}

// All yields all command logs. It reuses one variable: a caller must not keep the pointer.
func (t *CommandLogs) All() iter.Seq[*CommandLog] {
	return func(yield func(*CommandLog) bool) {
		var x CommandLog
		for n := range t.count {
			if x = t.commandLog(n); !yield(&x) {
				return
			}
		}
	}
}

// On yields the command logs at a place. It reuses one variable: a caller must not keep the pointer.
func (t *CommandLogs) On(p Place) iter.Seq[*CommandLog] {
	return func(yield func(*CommandLog) bool) {
		var x CommandLog
		for _, n := range t.byPlace[p] {
			if x = t.commandLog(n); !yield(&x) {
				return
			}
		}
	}
}

// SharesToken reports whether another client uses a command log's token at the same place.
func (t *CommandLogs) SharesToken(x *CommandLog) bool {
	mine := t.at(x.number)
	for n := t.byToken[mine.token]; n >= 0; n = t.at(n).next {
		if other := t.at(n).route; other != mine.route && t.routes[other].Place == t.routes[mine.route].Place {
			return true
		}
	}
	return false
}

// First returns the first command log with a token under a key, or nil.
func (t *CommandLogs) First(key, token string) *CommandLog {
	first := int32(-1)
	if number := t.h.FindToken(token); number >= 0 {
		for n := t.byToken[number]; n >= 0; n = t.at(n).next {
			if t.routes[t.at(n).route].Key == key && (first < 0 || n < first) {
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
func (t *CommandLogs) stored(p Place) string {
	if name := t.names[p]; name != "" {
		return name
	}
	return p.Key
}

// SnapshotsListing returns the snapshots that list a party's token on a master, in order.
func (t *CommandLogs) SnapshotsListing(x *CommandLog) []*history.Snapshot {
	p := Place{x.Master, x.Key}
	return t.shows[tokenKey{Place{x.Master, t.stored(p)}, x.Party.Token}]
}

// part returns the part of a command log that a command belongs to: 0 for the SETs, 1 for the
// extensions, 2 for the releases, -1 for any other command.
func part(command string) int8 {
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
func (t *CommandLogs) group() {
	h := t.h
	type kind struct {
		route int32
		place int
		yes   bool
	}
	kinds := make([]kind, len(h.Kinds()))
	t.parts = make([]int8, len(kinds))
	type stored struct{ yes, stores []int32 }
	var placed []stored
	placeOf := map[Place]int{}
	for i := range h.Kinds() {
		k := &h.Kinds()[i]
		at := route{Place{k.Master, k.Key}, k.Client}
		number, known := t.routeOf[at]
		if !known {
			number = int32(len(t.routes))
			t.routes = append(t.routes, at)
			t.routeOf[at] = number
		}
		where, known := placeOf[at.Place]
		if !known {
			where = len(placed)
			placed = append(placed, stored{})
			placeOf[at.Place] = where
		}
		kinds[i], t.parts[i] = kind{number, where, k.Yes}, part(k.Command)
		if k.Stored != k.Key {
			t.names[at.Place] = k.Stored
		}
	}
	logOf := make([]int32, h.Len())
	for i := range h.Len() {
		id := h.InOrder(i)
		k, token := &kinds[h.KindNumber(id)], h.TokenNumber(id)
		n := t.find(k.route, token)
		if n < 0 {
			n = t.begin(k.route, token)
			at := t.routes[k.route].Place
			if t.byPlace[at] == nil {
				t.Places = append(t.Places, at)
			}
			t.byPlace[at] = append(t.byPlace[at], n)
		}
		logOf[id] = n
		part := t.partOf(id)
		if part >= 0 {
			t.at(n).votes++ // counts them until the loop below turns it into a position
		}
		if k.yes && (part == 0 || part == 1) {
			p := &placed[k.place]
			p.stores = append(p.stores, id)
			if part == 0 {
				p.yes = append(p.yes, id)
			}
		}
	}
	for at, i := range placeOf {
		t.Granted[at], t.stores[at] = Votes{h, placed[i].yes}, Votes{h, placed[i].stores}
	}
	sum := int32(0)
	for n := range t.count { // turn the counts into end positions; storing the votes backwards lowers these to the beginnings
		x := t.at(n)
		sum += x.votes
		x.votes = sum
	}
	t.votes = make([]int32, sum)
	for part := int8(2); part >= 0; part-- {
		for i := h.Len() - 1; i >= 0; i-- {
			if id := h.InOrder(i); t.partOf(id) == part {
				x := t.at(logOf[id])
				x.votes--
				t.votes[x.votes] = id
			}
		}
	}
}

// CommandLogs returns the command logs.
func (r *Run) CommandLogs() *CommandLogs { return r.logs.get(r.findCommandLogs) }

func (r *Run) findCommandLogs() *CommandLogs {
	t := &CommandLogs{h: r.History, routeOf: map[route]int32{}, far: map[uint64]int32{}, byPlace: map[Place][]int32{}, Granted: map[Place]Votes{}, stores: map[Place]Votes{},
		shows: map[tokenKey][]*history.Snapshot{}, crashes: map[string]moments{}, Snapshots: map[string][]*history.Snapshot{}, longest: map[string]time.Duration{}, names: map[Place]string{}}
	t.byToken = make([]int32, len(r.History.Tokens()))
	for i := range t.byToken {
		t.byToken[i] = -1
	}
	t.group()
	down := map[string]time.Duration{} // by master: when it went down
	for i := range r.History.Ops {
		op := &r.History.Ops[i]
		switch {
		case op.F == history.FState && op.Value != nil:
			if op.Value.State == "down" {
				down[op.Process] = op.Time
			} else if since, was := down[op.Process]; was && op.Value.Keys != nil {
				// The keys that it stored when it was up again: read at some time since it went down.
				s, _ := history.SnapshotOf(op)
				s.Took = op.Time - since
				t.addSnapshot(&s)
			}
			if op.Value.State != "down" {
				delete(down, op.Process)
			}
		case op.F == history.FCrash:
			t.crashes[op.Process] = append(t.crashes[op.Process], op.Time)
		}
	}
	restarted := len(t.Snapshots) > 0
	for s := range r.History.Looks() {
		t.addSnapshot(s)
		for key, token := range s.Tokens() {
			id := tokenKey{Place{s.Master, key}, token}
			t.shows[id] = append(t.shows[id], s)
		}
	}
	if restarted {
		for _, taken := range t.Snapshots {
			slices.SortFunc(taken, func(a, b *history.Snapshot) int { return cmp.Compare(a.Index, b.Index) })
		}
	}
	return t
}

// addSnapshot adds a snapshot.
func (t *CommandLogs) addSnapshot(s *history.Snapshot) {
	t.Snapshots[s.Master] = append(t.Snapshots[s.Master], s)
	t.longest[s.Master] = max(t.longest[s.Master], s.Time-s.Began())
}

// snapshotsWithin yields the snapshots of a master that began between two times, in the order of their
// lines. A later line may have begun earlier: a snapshot after an outage begins with the outage.
func (t *CommandLogs) snapshotsWithin(master string, from, to time.Duration) iter.Seq[*history.Snapshot] {
	return func(yield func(*history.Snapshot) bool) {
		taken := t.Snapshots[master]
		i, _ := slices.BinarySearchFunc(taken, from, func(s *history.Snapshot, at time.Duration) int { return cmp.Compare(s.Time, at) })
		for _, snapshot := range taken[i:] {
			if snapshot.Time-t.longest[master] >= to {
				return
			}
			if began := snapshot.Began(); began > from && began < to && !yield(snapshot) {
				return
			}
		}
	}
}

// SnapshotWithout returns a snapshot between two times that does not list a token on a master, or nil.
func (t *CommandLogs) SnapshotWithout(p Place, token string, from, to time.Duration) *history.Snapshot {
	for snapshot := range t.snapshotsWithin(p.Master, from, to) {
		if snapshot.Ended() < to && snapshot.Token(t.stored(p)) != token {
			return snapshot
		}
	}
	return nil
}

// HolderAt returns the command log whose key a master stored at a time, by its votes, or nil. It is
// the last command log with a yes to a SET or an extension, unless the master has since said yes to
// a release of that key or the key's TTL was over.
func (r *Run) HolderAt(p Place, when time.Duration) *CommandLog {
	t := r.CommandLogs()
	var last *CommandLog
	since := time.Duration(-1)
	stores := t.stores[p]
	for i := stores.CountBefore(when+1) - 1; i >= 0; i-- {
		v := stores.At(i)
		if v.At < since || when >= v.At+r.longestLife() {
			break
		}
		if when >= v.At+r.Lifetime(v) {
			continue
		}
		if x := t.ByID(LogID{p, Party{v.Client, v.Token}}); last == nil || x.number < last.number { // of answers at one time, the log that began last
			last, since = x, v.At
		}
	}
	if last == nil {
		return nil
	}
	for v := range last.Releases.All() {
		if v.Yes && v.At >= since && v.At <= when {
			return nil
		}
	}
	return last
}

// SnapshotAfter returns when the first snapshot of a master between two times was taken.
func (t *CommandLogs) SnapshotAfter(master string, from, to time.Duration) (time.Duration, bool) {
	for snapshot := range t.snapshotsWithin(master, from, to) {
		return snapshot.Ended(), true
	}
	return 0, false
}
