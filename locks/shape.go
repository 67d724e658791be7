package locks

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"lockpick/watch"
)

// entry is a key that a server stores.
type entry struct {
	key     string
	kind    string // that TYPE returns
	text    string // of a string
	long    bool   // the string is longer than maxValue
	members []member
	more    int // members that were not read
	left    time.Duration
	endless bool
	idle    time.Duration // at least so long no command has touched it; 0: not known
}

// member is a field of a hash, or a member of a list, a set or a sorted set.
type member struct {
	name  string
	value string // of a field
	score float64
}

// named matches keys whose name says that they are locks, and queue those whose name says that clients wait in them.
// Letters before or after the word would make it another one: clock, block, unlocked. counter matches the names of
// counters for fencing tokens.
var (
	named   = regexp.MustCompile(`(?i:(^|[^a-z])(red|spin|rw)?(lock|locks|mutex|semaphore|lease|leader)([^a-z]|$))|[a-z](Lock|Mutex|Semaphore|Lease|Leader)([^a-z]|$)`)
	queue   = regexp.MustCompile(`(?i)queue|wait|timeout|pending`)
	counter = regexp.MustCompile(`(?i)fenc|counter`)
)

// redisson matches the fields of a hash by which Redisson names the owner: the connection manager and the thread, and
// for the lock of a writer the word write.
var redisson = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:[0-9]+(:write)?$`)

// modeField is the field in which Redisson's read-write lock stores whether readers or a writer hold it.
const modeField = "mode"

// owner is a holder that a server stores.
type owner struct {
	name, mode string
	count      int64
	stored     *time.Time
	problem    string // why it does not tell one client from another; empty: it does
}

// shape says why a key is a lock. A key without owners is none.
type shape struct {
	why     string
	certain bool
	owners  []owner
}

// shapeOf returns what makes a key a lock. wanted says that the user named the key; now is the time of the server.
func shapeOf(e *entry, wanted bool, now time.Time) shape {
	why := "its name"
	said := named.MatchString(e.key) && !counter.MatchString(e.key)
	if wanted {
		said, why = true, "it matches the pattern"
	}
	switch e.kind {
	case "string":
		return stringShape(e, said, why, now)
	case "hash":
		return hashShape(e, said, why)
	case "zset":
		return scoredShape(e, said, why, now)
	case "set":
		if said {
			return shape{why, true, ownersOf(e.members, now)}
		}
	}
	return shape{}
}

func stringShape(e *entry, said bool, why string, now time.Time) shape {
	weak := watch.Weakness(e.text)
	o := owner{name: e.text}
	switch {
	case e.long:
		return shape{} // no token is that long
	case weak != "":
		o.problem = "no owner: the value is " + weak
		o.stored = timeIn(e.text, now)
	}
	switch {
	case said:
		return shape{why, true, []owner{o}}
	case weak == "" && !e.endless && compact(e.text):
		return shape{"a random value with a TTL", false, []owner{o}}
	}
	return shape{}
}

func hashShape(e *entry, said bool, why string) shape {
	var owners []owner
	mode, theirs, tokens := "", true, true
	for _, m := range e.members {
		if m.name == modeField {
			mode = m.value
			continue
		}
		count, err := strconv.ParseInt(m.value, 10, 64)
		tokens = tokens && err == nil && count > 0 && watch.Weakness(m.name) == "" && compact(m.name)
		theirs = theirs && redisson.MatchString(m.name)
		owners = append(owners, owner{name: m.name, count: count})
	}
	for i := range owners {
		owners[i].mode = mode
	}
	switch {
	case len(owners) == 0:
		return shape{}
	case theirs && tokens:
		return shape{"a hash of Redisson's form", true, owners}
	case said:
		return shape{why, true, owners}
	case tokens && !e.endless:
		return shape{"a hash of tokens and counts with a TTL", false, owners}
	}
	return shape{}
}

func scoredShape(e *entry, said bool, why string, now time.Time) shape {
	owners := ownersOf(e.members, now)
	if said {
		return shape{why, true, owners}
	}
	for i, m := range e.members {
		if owners[i].stored == nil || watch.Weakness(m.name) != "" || !compact(m.name) {
			return shape{}
		}
	}
	return shape{"a sorted set of tokens and times, as semaphores have", false, owners}
}

func ownersOf(members []member, now time.Time) []owner {
	var owners []owner
	for _, m := range members {
		o := owner{name: m.name, stored: timeOf(m.score, now)}
		if weak := watch.Weakness(m.name); weak != "" {
			o.problem = "no owner: a member is " + weak
		}
		owners = append(owners, o)
	}
	return owners
}

// compact reports whether a text is one word of at most 200 bytes, and not a document.
func compact(text string) bool {
	return len(text) <= 200 && (!utf8.ValidString(text) || !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`{}[]"<>=;,/`, r)
	}))
}

// timeIn returns the time that a number means; nil: the text is not a number that means one.
func timeIn(text string, now time.Time) *time.Time {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil
	}
	return timeOf(n, now)
}

// near is how far from now a number has to be to be taken for a time.
const near = 48 * time.Hour

// timeOf returns the time that a number means, as seconds, milliseconds, microseconds or nanoseconds since 1970; nil:
// it means no time near now.
func timeOf(n float64, now time.Time) *time.Time {
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond, time.Nanosecond} {
		if ns := n * float64(unit); ns > 0 && ns < 9e18 {
			if t := time.Unix(0, int64(ns)).UTC(); t.Sub(now).Abs() < near {
				return &t
			}
		}
	}
	return nil
}

// inBraces matches the part of a key that decides its slot in a cluster.
var inBraces = regexp.MustCompile(`\{([^}]+)\}`)

// separators stand between the name of a lock and the rest of the key of its queue.
const separators = ":_-./"

// lockOfQueue returns the key of the lock whose clients wait in a list or sorted set, by its name; empty: there is none.
func lockOfQueue(key string, isLock func(string) bool) string {
	if m := inBraces.FindStringSubmatch(key); m != nil && isLock(m[1]) {
		return m[1]
	}
	for i, r := range key {
		if !strings.ContainsRune(separators, r) {
			continue
		}
		for _, part := range []string{key[:i], key[i+1:]} {
			if part != "" && isLock(part) {
				return part
			}
		}
	}
	return ""
}

// channelsOf returns the channels to which the waiters of a lock subscribe: Redisson's, Lockpick's and those of
// keyspace events.
func channelsOf(key string, db int) []string {
	return []string{"redisson_lock__channel:{" + key + "}", "redisson_rwlock:{" + key + "}", key + ":released", "__keyspace@" + strconv.Itoa(db) + "__:" + key}
}
