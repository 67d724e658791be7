package shadow

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"lockpick/cluster"
)

// place names a key of a master with several databases.
type place struct {
	db  int
	key string
}

// name returns the key as changes write it: keys of other databases than 0 have a prefix.
func (p place) name() string {
	if p.db == 0 {
		return p.key
	}
	return fmt.Sprintf("db%d:%s", p.db, p.key)
}

// entry is what a key stores.
type entry struct {
	kind     string // string, hash, list, set, zset, stream; empty: not known
	text     string // of a string
	deadline int64  // ms of the master's clock; 0: none
	doubt    string // why the fields above are not certain; empty: they are
}

// keys is a copy of the keys of a master. It follows commands and their events.
type keys struct {
	all    map[place]entry
	blind  string              // why the copy does not know which keys exist; empty: it does
	unsure func(reason string) // called when a snapshot should settle a doubt
	over   map[place]bool      // keys that had expired while the account had a gap: their event may still come
}

// event is a keyspace event: something happened to a key.
type event struct {
	place
	what string // new, set, expire, del, …
}

// took is the kind of the changes that the master makes by itself.
var took = map[string]cluster.ChangeKind{"expired": cluster.Expired, "evicted": cluster.Evicted}

// take removes a key that the master has expired or evicted. It returns false if that is known already.
func (k *keys) take(e event) (cluster.Change, bool) {
	old, had := k.all[e.place]
	if !had && k.over[e.place] {
		delete(k.over, e.place)
		return cluster.Change{}, false
	}
	delete(k.all, e.place)
	c := cluster.Change{Key: e.name(), Kind: took[e.what], Type: old.kind, Before: old.text, Doubtful: old.doubt}
	if !had || k.blind != "" {
		c.Doubtful = k.miss(e.what, "did not exist")
	}
	return c, true
}

// miss returns the doubt about a key that was not what an event says.
func (k *keys) miss(what, was string) string {
	if k.blind != "" {
		return k.blind
	}
	why := fmt.Sprintf("the event %q contradicts the account, in which the key %s", what, was)
	k.unsure(why)
	return why
}

// follow applies a command, which was executed at a time of the master's clock (ms), with its events
// in their order. It returns the changes.
func (k *keys) follow(db int, args []string, now int64, events []event) []cluster.Change {
	name := strings.ToLower(args[0])
	if len(events) == 0 {
		k.missing(db, name, args)
		return nil
	}
	c := command{name: name, args: args, db: db, now: now, before: map[place]entry{}, keys: k, events: events}
	var order []place
	for _, e := range events {
		if !slices.Contains(order, e.place) {
			order = append(order, e.place)
		}
	}
	for _, p := range order {
		if old, had := k.all[p]; had {
			c.before[p] = old
		}
	}
	if src := (place{db, c.arg(1)}); c.moves() {
		if old, had := k.all[src]; had {
			c.before[src] = old
		}
	}
	var changes []cluster.Change
	for _, p := range order {
		changes = append(changes, k.change(&c, p, events))
	}
	return changes
}

// change applies the events of one key.
func (k *keys) change(c *command, p place, events []event) cluster.Change {
	old, had := c.before[p]
	next, is := old, had
	deadlineOnly, unseen := true, k.blind
	for _, e := range events {
		if e.place != p {
			continue
		}
		switch e.what {
		case "new":
			if is && !c.replaces() {
				unseen = k.miss(e.what, "existed")
			}
			next, is = entry{}, true
			delete(k.over, p)
		case "del", "rename_from", "move_from":
			if !is && unseen == "" {
				unseen = k.miss(e.what, "did not exist")
			}
			next, is = entry{}, false
		default:
			if !is && unseen == "" {
				unseen = k.miss(e.what, "did not exist")
				next.doubt = unseen
			}
			is = true
			c.apply(&next, p, e.what)
		}
		deadlineOnly = deadlineOnly && (e.what == "expire" || e.what == "persist")
	}
	// SET of the same value with a deadline, as some locks extend.
	deadlineOnly = deadlineOnly || old.kind == "string" && next.kind == "string" && old.text == next.text && (old.deadline != 0 || next.deadline != 0)
	change := cluster.Change{Key: p.name(), Type: next.kind, Value: next.text, Before: old.text}
	created := !had
	if unseen != "" {
		created = slices.Contains(events, event{p, "new"})
	}
	switch {
	case !is:
		change.Kind, change.Type = cluster.Deleted, old.kind
		delete(k.all, p)
	case created:
		change.Kind = cluster.Created
	case deadlineOnly:
		change.Kind = cluster.TTLSet
	default:
		change.Kind = cluster.Changed
	}
	for _, why := range []string{old.doubt, unseen, next.doubt} {
		if change.Doubtful == "" {
			change.Doubtful = why
		}
	}
	if is {
		if next.doubt != "" && next.doubt != old.doubt && k.blind == "" {
			k.unsure(next.doubt)
		}
		change.Left = left(next.deadline, c.now)
		k.all[p] = next
	}
	return change
}

// left returns the time to a deadline; 0: there is none.
func left(deadline, now int64) time.Duration {
	const most = int64(math.MaxInt64 / time.Millisecond)
	switch ms := deadline - now; {
	case deadline == 0:
		return 0
	case ms == 0:
		return 1
	case ms > most:
		return math.MaxInt64
	default:
		return time.Duration(ms) * time.Millisecond
	}
}

// missing doubts the account if a command that always has events had none.
func (k *keys) missing(db int, name string, args []string) {
	if name == "set" && len(args) == 3 && k.blind == "" && !reserved(args[1]) {
		why := "a SET had no event"
		p := place{db, args[1]}
		e := k.all[p]
		e.doubt = why
		k.all[p] = e
		k.unsure(why)
	}
}

// flush removes all keys of a database, or of all with -1, in sorted order.
func (k *keys) flush(db int) []cluster.Change {
	var gone []place
	for p := range k.all {
		if db < 0 || p.db == db {
			gone = append(gone, p)
		}
	}
	var changes []cluster.Change
	slices.SortFunc(gone, comparePlaces)
	for _, p := range gone {
		old := k.all[p]
		delete(k.all, p)
		changes = append(changes, cluster.Change{Key: p.name(), Kind: cluster.Deleted, Type: old.kind, Before: old.text, Doubtful: old.doubt})
	}
	return changes
}

// reserved reports whether a key is the harness's own, and left out of the account.
func reserved(key string) bool {
	return strings.HasPrefix(key, cluster.FillerPrefix) || strings.HasPrefix(key, probePrefix)
}

// upset doubts all keys until a snapshot, because a command has changed some without events.
func (k *keys) upset(why string) {
	k.blind = why
	k.unsure(why)
}

func comparePlaces(a, b place) int {
	if a.db != b.db {
		return a.db - b.db
	}
	return strings.Compare(a.key, b.key)
}
